//! Only approved hooks run: not before approval, not after a change, and never from a viewer.

use pretty_assertions::assert_eq;

use crewdeck::process::sandbox::{Availability, probe};

use super::{answers, notices, project, received, results, run, run_with, unapproved};
use crate::common::supervised::{check_available, program};

const RULES: &str = r#"
  - when: begin
    calls: [{ tool: bash, input: { command: "echo 1" } }]
  - say: done
    times: 0
"#;

fn all_events() -> Vec<(&'static str, &'static str, String)> {
    [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "Notification",
        "SessionEnd",
    ]
    .map(|event| (event, "", answers(0, "")))
    .into()
}

#[test]
fn unapproved_hooks_do_not_run() {
    let project = unapproved(&all_events(), RULES);
    for more in [&[][..], &["--resume"]] {
        let ran = run_with(&project, more);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        assert!(
            ran.err()
                .contains("this project has 7 hooks, which wait for your approval"),
            "{}",
            ran.err()
        );
        // No further notice for each hook.
        assert_eq!(notices(&super::lines(&ran.out()), "not approved"), [""; 0]);
        assert!(!project.file("events.jsonl").exists());
    }
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    run(&project, &["--resume"]);
    assert_eq!(received(&project, "SessionStart").len(), 1);
}

#[test]
fn own_hooks_of_the_user_need_no_approval() {
    let project = unapproved(&all_events(), RULES);
    let settings = std::fs::read_to_string(project.file(".claude/settings.json")).unwrap();
    project.write(".config/crewdeck/hooks.json", &settings);
    std::fs::remove_file(project.file(".claude/settings.json")).unwrap();
    run(&project, &[]);
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionEnd",
    ] {
        assert_eq!(received(&project, event).len(), 1, "{event}");
    }
}

#[test]
fn agent_that_edits_a_hook_is_blocked_by_it() {
    let rules = r#"
  - when: begin
    calls:
      - { tool: bash, input: { command: "echo 1" } }
      - { tool: bash, input: { command: "echo 'touch \"$CLAUDE_PROJECT_DIR/evil\"' >> tools/guard.txt" } }
      - { tool: bash, input: { command: "touch forbidden" } }
      - { tool: bash, input: { command: "touch forbidden" } }
      - { tool: bash, input: { command: "touch forbidden" } }
      - { tool: bash, input: { command: "touch forbidden" } }
  - say: done
    times: 0
"#;
    // No script by its place or mode, so agents can write it.
    let command = answers(0, "").replace(".claude/hook.sh", "tools/guard.txt");
    let command = format!("sh {command}");
    let hooks = [
        ("PreToolUse", "Bash", command.clone()),
        ("PostToolUse", "Bash", command),
    ];
    let project = unapproved(&hooks, rules);
    let script = std::fs::read_to_string(project.file(".claude/hook.sh")).unwrap();
    project.write("tools/guard.txt", &script);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let events = run(&project, &["--tool", "auto"]);
    let denied = results(&events, "bash").split_off(2);
    assert_eq!(denied.len(), 4);
    for text in denied {
        let why = "has changed since its approval, so it does not run. To review and approve it: crewdeck trust";
        assert!(
            text.starts_with("PreToolUse:Bash hook error: [") && text.contains(why),
            "{text}"
        );
    }
    assert!(!project.file("forbidden").exists());
    assert_eq!(
        received(&project, "PreToolUse").len(),
        2,
        "{:?}",
        results(&events, "bash")
    );
    let told = notices(
        &events,
        "has changed since its approval, so it does not run",
    );
    // One for each of the two hooks.
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(!project.file("evil").exists());
}

#[test]
fn agent_that_edits_a_stop_hook_is_held_by_it() {
    let rules = r#"
  - when: begin
    calls: [{ tool: bash, input: { command: "echo 'exit 0' > tools/guard.txt" } }]
  - when: 'has changed since its approval'
    say: I was held.
    times: 0
  - say: done
    times: 0
"#;
    let command = answers(0, "").replace(".claude/hook.sh", "tools/guard.txt");
    let project = unapproved(&[("Stop", "", format!("sh {command}"))], rules);
    let script = std::fs::read_to_string(project.file(".claude/hook.sh")).unwrap();
    project.write("tools/guard.txt", &script);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let held = |events: &[serde_json::Value]| {
        let texts = events.iter().filter(|e| e["type"] == "text_delta");
        let said: String = texts.filter_map(|e| e["text"].as_str()).collect();
        said.contains("I was held.")
    };
    assert!(held(&run(&project, &["--tool", "auto"])));
    // Later sessions are held too, until the user decides.
    assert!(held(&run(&project, &["--tool", "auto"])));
    assert_eq!(received(&project, "Stop").len(), 0);
}

#[test]
fn agents_cannot_write_approved_hooks() {
    let rules = r#"
  - when: begin
    calls:
      - { tool: write_file, input: { path: .claude/hook.sh, content: "exit 0" } }
      - { tool: read_file, input: { path: .claude/settings.json } }
      - { tool: edit_file, input: { path: .claude/settings.json, old_text: PreToolUse, new_text: Stop } }
      - { tool: bash, input: { command: "echo 'exit 0' > .claude/hook.sh" } }
      - { tool: bash, input: { command: "mv .claude gone; mkdir .claude; rm -f .claude/hook.sh; ln .claude/hook.sh linked; echo '{}' > .claude/settings.json" } }
      - { tool: bash, input: { command: "touch .claude/other b.txt" } }
  - say: done
    times: 0
"#;
    let hook = ("PreToolUse", "Bash", answers(0, ""));
    let project = project(&[hook], rules);
    let before = |file: &str| std::fs::read_to_string(project.file(file)).unwrap();
    let (script, settings) = (before(".claude/hook.sh"), before(".claude/settings.json"));
    let events = run(&project, &["--tool", "auto"]);
    for tool in ["write_file", "edit_file"] {
        let refused = &results(&events, tool)[0];
        assert!(
            refused.contains("for hooks or MCP servers, so only the user can change it"),
            "{refused}"
        );
    }
    let gap = match probe(Some(&program())).view {
        Availability::Yes => None,
        Availability::No { why } => Some(why),
    };
    if !check_available(gap) {
        return;
    }
    assert_eq!(before(".claude/hook.sh"), script);
    assert_eq!(before(".claude/settings.json"), settings);
    assert!(!project.file("gone").exists() && !project.file("linked").exists());
    assert!(project.file(".claude/other").exists() && project.file("b.txt").exists());
    assert_eq!(received(&project, "PreToolUse").len(), 3);
}

#[test]
fn edited_hook_blocks_in_later_sessions_until_the_user_decides() {
    let calling = |command: &str| {
        format!(
            "\n  - when: begin\n    calls: [{{ tool: bash, input: {{ command: \"{command}\" }} }}]\n  - say: done\n    times: 0\n"
        )
    };
    // No script by its place or mode, so agents can write it.
    let guard = "sh \"$CLAUDE_PROJECT_DIR\"/tools/guard.txt".to_string();
    let hooks = [("PreToolUse", "Bash", guard)];
    let project = unapproved(&hooks, &calling("echo exit 0 > tools/guard.txt"));
    let script = "if grep -q forbidden; then echo no way >&2; exit 2; fi\n";
    project.write("tools/guard.txt", script);
    let trust = |args: &[&str]| {
        let ran = project.run(&[&["trust", "--yes"], args].concat());
        assert_eq!(ran.code(), 0, "{}", ran.err());
        ran.out()
    };
    // Returns what the hook answers to a forbidden command in a new session, and what `run` prints at its start.
    let attempt = |more: &[&str]| {
        project.write(
            "rules.yaml",
            &format!("rules:\n{}", calling("touch forbidden")),
        );
        let ran = run_with(&project, &[&["--tool", "auto"], more].concat());
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let result = results(&super::lines(&ran.out()), "bash").remove(0);
        (result, ran.err())
    };
    trust(&[]);
    run(&project, &["--tool", "auto"]);
    let edited = std::fs::read_to_string(project.file("tools/guard.txt")).unwrap();
    assert_eq!(edited, "exit 0\n");
    for more in [&[][..], &["--resume"]] {
        let (result, err) = attempt(more);
        assert!(
            result.starts_with("PreToolUse:Bash hook error: [")
                && result.contains("has changed since its approval, so it does not run"),
            "{more:?}: {result}"
        );
        let told = "1 changed or removed hook blocks what it guarded";
        assert!(err.contains(told), "{err}");
    }
    project.write("tools/guard.txt", script);
    assert!(attempt(&[]).0.contains("no way"), "restored");

    // A declaration that is gone counts as a change.
    let settings = std::fs::read_to_string(project.file(".claude/settings.json")).unwrap();
    project.write(
        ".claude/settings.json",
        &settings.replace("\"Bash\"", "\"Nothing\""),
    );
    let (result, _) = attempt(&[]);
    assert!(
        result.contains("was approved, but its file does not declare it any more"),
        "{result}"
    );
    assert!(!project.file("forbidden").exists());
    let shown = trust(&[]);
    let lines = [
        "Hook PreToolUse (Bash) of .claude/settings.json (not decided):",
        "was approved, but its file does not declare it any more",
    ];
    assert!(lines.iter().all(|line| shown.contains(line)), "{shown}");
    let (_, err) = attempt(&[]);
    assert!(project.file("forbidden").exists(), "{err}");
    std::fs::remove_file(project.file("forbidden")).unwrap();

    // The earlier approval of exactly this content still counts, and protects again.
    project.write(".claude/settings.json", &settings);
    assert!(attempt(&[]).0.contains("no way"), "declared again");
    project.write("tools/guard.txt", "exit 0\n");
    trust(&["--ignore"]);
    let (_, err) = attempt(&[]);
    assert!(project.file("forbidden").exists(), "ignored: {err}");
}
