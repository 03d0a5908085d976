//! Background commands and the results that are reported when they end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::{
    events_of_type, lead_conversation, result_texts, run, script_command, start_until_marker,
    terminate,
};
use crate::common::project::Project;
use crewdeck::domain::chat::Message;
use serde_json::Value;

/// Runs crewdeck, calls `observe` with each event as soon as it is printed, and returns all events.
fn run_with_events(
    project: &Project,
    script: &str,
    prompt: &str,
    observe: impl Fn(&Value),
) -> Vec<Value> {
    let mut child = script_command(project, script, &[prompt, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events: Vec<Value> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        observe(&event);
        events.push(event);
    }
    assert!(child.wait().unwrap().success());
    events
}

#[test]
fn background_command_wakes_the_lead_when_it_exits() {
    let project = Project::new();
    let script = r#"
rules:
  - when: Run the server tests
    calls:
      - { tool: background_run, input: { command: "until [ -e checked ]; do sleep 0.05; done; echo done" } }
      - { tool: write_file, input: { path: beside.txt, content: made while it ran } }
      - { tool: check_background }
  - when: running
    say: It runs; I wait.
  - when: background-results
    say: The command is done.
"#;
    let prompt = "Run the server tests in the background, then create a file while they run";
    let events = run_with_events(&project, script, prompt, |event| {
        // The command ends only after the lead has ended its turn.
        if event["type"] == "turn_ended" {
            project.write("checked", "");
        }
    });
    let jobs = events_of_type(&events, "job_changed");
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[1]["job"]["ended"][1]["how"], "exited");
    assert_eq!(
        events_of_type(&events, "turn_started").len(),
        2,
        "woken once"
    );
    assert!(project.file("beside.txt").exists());
    let texts: Vec<String> = lead_conversation(&project)
        .messages
        .iter()
        .map(Message::text)
        .collect();
    let results = texts
        .iter()
        .find(|w| w.contains("<background-results>"))
        .unwrap();
    assert!(
        results.contains("completed (exit code 0): until [ -e checked ]")
            && results.contains("\ndone"),
        "{results}"
    );
}

#[test]
fn background_results_name_exit_code_stopper_or_timeout() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls:
      - { tool: background_run, input: { command: "echo broken; exit 3" } }
      - { tool: background_run, input: { command: "sleep 600" } }
      - { tool: background_run, input: { command: "sleep 600", timeout_s: 1 } }
  - when: (?s)^Background task (\w+) started.*?Background task (\w+) started
    calls: [{ tool: stop_background, input: { task_id: "{{2}}" } }, { tool: stop_background, input: { task_id: nope } }]
  - when: .
    times: 0
    say: I see.
"#;
    let ran = run(&project, script, &["go"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let conversation = lead_conversation(&project);
    let texts: Vec<String> = conversation.messages.iter().map(Message::text).collect();
    let texts = texts.join("\n");
    for part in [
        "failed (exit code 3): echo broken; exit 3\nbroken",
        "killed by lead: sleep 600",
        "timeout (1 s): sleep 600",
    ] {
        assert!(texts.contains(part), "{part} in {texts}");
    }
    let results = result_texts(&conversation.messages).join("\n");
    assert!(
        results.contains("Unknown task nope: your background tasks are "),
        "{results}"
    );
    assert_eq!(conversation.unreported_jobs, vec![]);
}

#[test]
fn character_split_over_two_writes_stays_whole() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "printf '1\\344\\270'; until [ -e first-read ]; do sleep 0.02; done; printf '\\255 \\344'" } }]
  - when: .
    times: 0
    say: I see.
"#;
    // The first character is output at once; it shows that the first write was read.
    let events = run_with_events(&project, script, "go", |event| {
        if event["type"] == "job_output" {
            project.write("first-read", "");
        }
    });
    let ended = events_of_type(&events, "job_changed").pop().unwrap();
    assert_eq!(ended["job"]["tail"], "1中 \u{fffd}");
}

#[test]
fn job_lost_with_crewdeck_is_reported_once_after_compaction() {
    let project = Project::new();
    let script = r#"
rules:
  - when: Write down the state of this work
    say: The server was started.
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "sleep 600" } }, { tool: bash, input: { command: seq 1000 } }, { tool: compact }]
  - when: The server was started
    calls: [{ tool: bash, input: { command: "touch started" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let mut child = start_until_marker(&project, script);
    terminate(&mut child);
    let open: Vec<String> = lead_conversation(&project)
        .unreported_jobs
        .into_iter()
        .map(|j| j.1)
        .collect();
    assert_eq!(open, ["sleep 600"]);
    for prompt in ["what now", "and now"] {
        let ran = run(&project, script, &[prompt, "--resume"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let conversation = lead_conversation(&project);
        let texts: Vec<String> = conversation.messages.iter().map(Message::text).collect();
        let reports = texts.join("\n").matches("no longer run, and").count();
        assert_eq!(
            (reports, conversation.unreported_jobs),
            (1, vec![]),
            "{texts:?}"
        );
    }
}

#[test]
fn program_left_running_with_ampersand_is_reported_killed() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "sleep 600 & echo serving" } }]
  - when: .
    times: 0
    say: I see.
"#;
    assert_eq!(run(&project, script, &["go"]).code(), 0);
    let texts: Vec<String> = lead_conversation(&project)
        .messages
        .iter()
        .map(Message::text)
        .collect();
    let text = texts.join("\n");
    assert!(
        text.contains("serving\n\n[The command exited but left a program running. crewdeck killed that program.]"),
        "{text}"
    );
}
