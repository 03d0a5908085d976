//! Hooks that hang, fork, flood or fail in a real turn: each is cut and told once, and the turn goes on.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{answers, answers_of, notices, project, results, run};
use crate::common::supervised::Sleep;

/// Calls `bash` three times.
const CALLS: &str = r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: "echo 1" } }
      - { tool: bash, input: { command: "echo 2" } }
      - { tool: bash, input: { command: "echo 3" } }
  - say: done
    times: 0
"#;

fn with_timeout(command: &str, seconds: f64) -> crate::common::project::Project {
    let project = super::unapproved(&[], CALLS);
    let hook = json!({"type": "command", "command": command, "timeout": seconds});
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    project.write(".claude/settings.json", &hooks.to_string());
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    project
}

#[test]
fn failing_hooks_are_cut_and_told_once() {
    let sleep = Sleep::new();
    let forks = format!("({} &) ; exit 0", sleep.command());
    for (command, timeout, told) in [
        (
            "sleep 100".to_string(),
            0.3,
            "ran longer than 0.3 s and was killed",
        ),
        (forks, 60.0, "left a program running, which was killed"),
        (
            "yes".into(),
            60.0,
            "printed more than 16 MiB and was killed",
        ),
        (
            "echo broken >&2; exit 1".into(),
            60.0,
            "exited with code 1: broken",
        ),
        ("echo \"{not json\"".into(), 60.0, "returned invalid JSON"),
    ] {
        let project = with_timeout(&command, timeout);
        let events = run(&project, &[]);
        assert_eq!(
            notices(&events, told).len(),
            1,
            "{command}: {:?}",
            notices(&events, "Hook")
        );
        assert_eq!(results(&events, "bash"), ["1", "2", "3"], "{command}");
        assert_eq!(answers_of(&events, "lead"), ["done"]);
    }
    sleep.wait_for_none();
}

#[test]
fn changing_problems_of_one_hook_are_no_flood() {
    let project = with_timeout("date +%N >&2; exit 1", 60.0);
    let rules: String = std::fs::read_to_string(project.file("rules.yaml")).unwrap();
    let more = "      - { tool: bash, input: { command: \"echo 4\" } }\n      - { tool: bash, input: { command: \"echo 5\" } }\n  - say";
    project.write("rules.yaml", &rules.replacen("  - say", more, 1));
    let events = run(&project, &[]);
    assert_eq!(results(&events, "bash").len(), 5);
    assert_eq!(notices(&events, "exited with code 1").len(), 3);
}

#[test]
fn hanging_session_end_does_not_hold_the_exit() {
    let sleep = Sleep::new();
    let project = project(&[("SessionEnd", "", sleep.command())], CALLS);
    let ran = super::run_with(&project, &[]);
    sleep.wait_for_none();
    assert_eq!(ran.code(), 0);
    let told = "warning: The SessionEnd hooks ran longer than 5 s and were killed.";
    assert_eq!(ran.err().matches(told).count(), 1, "{}", ran.err());
}

#[test]
fn killed_crew_leaves_no_hook() {
    let sleep = Sleep::new();
    let project = project(&[("PreToolUse", "Bash", sleep.command())], CALLS);
    let mut child = project
        .command(&["run", "begin", "--provider", "script:rules.yaml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    sleep.wait_for_one();
    child.kill().unwrap();
    child.wait().unwrap();
    sleep.wait_for_none();
    let inputs = project.file(".local/state/crewdeck/hooks");
    assert_eq!(std::fs::read_dir(inputs).unwrap().count(), 0);
}

#[test]
fn failing_async_hook_is_reported_once() {
    // The third command ends when the hook has run for all three and a problem was reported.
    let wait = |file| format!("while [ ! -e {file} ]; do sleep 0.01; done; ");
    let third = format!("{}{}echo 3", wait("ran-3"), wait("reported"));
    let project = super::unapproved(&[], &CALLS.replace("echo 3", &third));
    let command = "cd \"$CLAUDE_PROJECT_DIR\"; if ! mkdir ran-1 2>/dev/null && ! mkdir ran-2 2>/dev/null; then mkdir ran-3; fi; \
                   echo broken >&2; exit 1";
    let hook = json!({"type": "command", "command": command, "async": true});
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    project.write(".claude/settings.json", &hooks.to_string());
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let mut child = project
        .command(&["run", "begin", "--provider", "script:rules.yaml", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut text = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap() + "\n";
        if line.contains("exited with code 1: broken") {
            project.write("reported", "");
        }
        text += &line;
    }
    child.wait().unwrap();
    let events = super::lines(&text);
    assert_eq!(notices(&events, "exited with code 1: broken").len(), 1);
}

#[test]
fn async_hook_is_not_waited_for() {
    let project = super::unapproved(&[], CALLS);
    let hook = json!({"type": "command", "command": answers(2, "too late"), "async": true});
    let hooks = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}});
    project.write(".claude/settings.json", &hooks.to_string());
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    assert_eq!(results(&run(&project, &[]), "bash"), ["1", "2", "3"]);
}
