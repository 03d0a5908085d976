//! Commands that run beside the conversation, and what is told of their end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::{ask_to_end, events, lead, of, result_texts, run, scripted, started};
use crate::common::project::Project;
use crewdeck::domain::chat::Message;
use serde_json::Value;

#[test]
fn a_background_command_runs_beside_and_its_end_wakes_the_lead() {
    let project = Project::new();
    let script = r#"
rules:
  - when: Run the server tests
    calls:
      - { tool: background_run, input: { command: "until [ -e checked ]; do sleep 0.05; done; echo done" } }
      - { tool: write_file, input: { path: beside.txt, content: made while it ran } }
      - { tool: check_background }
  - when: running
    say: It runs; I rest.
  - when: background-results
    say: The command is done.
"#;
    let prompt = "Run the server tests in the background, then create a file while they run";
    let mut child = scripted(&project, script, &[prompt, "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events: Vec<Value> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        // The command ends when the lead rests, and not before.
        if event["type"] == "turn_ended" {
            project.write("checked", "");
        }
        events.push(event);
    }
    assert!(child.wait().unwrap().success());
    let jobs = of(&events, "job_changed");
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[1]["job"]["ended"][1]["how"], "exited");
    assert_eq!(of(&events, "turn_started").len(), 2, "woken once");
    assert!(project.file("beside.txt").exists());
    let words: Vec<String> = lead(&project).messages.iter().map(Message::words).collect();
    let told = words
        .iter()
        .find(|w| w.contains("<background-results>"))
        .unwrap();
    assert!(
        told.contains("completed (exit code 0): until [ -e checked ]") && told.contains("\ndone"),
        "{told}"
    );
}

#[test]
fn a_failing_command_tells_its_code_and_one_that_is_stopped_who_stopped_it() {
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
    let conversation = lead(&project);
    let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
    let words = words.join("\n");
    for part in [
        "failed (exit code 3): echo broken; exit 3\nbroken",
        "killed by lead: sleep 600",
        "timeout (1 s): sleep 600",
    ] {
        assert!(words.contains(part), "{part} in {words}");
    }
    let results = result_texts(&conversation.messages).join("\n");
    assert!(
        results.contains("Unknown task nope: yours are "),
        "{results}"
    );
    assert_eq!(conversation.lost_jobs, vec![]);
}

#[test]
fn a_character_that_a_job_writes_in_two_parts_stays_whole() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "printf '\\344\\270'; sleep 0.3; printf '\\255 \\344'" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let ran = run(&project, script, &["go", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let events = events(&ran);
    let ended = of(&events, "job_changed").pop().unwrap();
    assert_eq!(ended["job"]["tail"], "中 \u{fffd}");
}

#[test]
fn a_job_that_ended_with_crewdeck_is_told_once_also_after_a_compaction() {
    let project = Project::new();
    let script = r#"
rules:
  - when: Write down where this work stands
    say: The server was started.
  - when: ^go$
    calls: [{ tool: background_run, input: { command: "sleep 600" } }, { tool: bash, input: { command: seq 1000 } }, { tool: compact }]
  - when: The server was started
    calls: [{ tool: bash, input: { command: "touch started" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let mut child = started(&project, script);
    ask_to_end(&mut child);
    let open: Vec<String> = lead(&project).lost_jobs.into_iter().map(|j| j.1).collect();
    assert_eq!(open, ["sleep 600"]);
    for words in ["what now", "and now"] {
        let ran = run(&project, script, &[words, "--resume"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let all = lead(&project);
        let words: Vec<String> = all.messages.iter().map(Message::words).collect();
        let told = words.join("\n").matches("no longer run, and").count();
        assert_eq!((told, all.lost_jobs), (1, vec![]), "{words:?}");
    }
}

#[test]
fn a_server_that_was_started_with_an_ampersand_is_told_to_be_gone() {
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
    let words: Vec<String> = lead(&project).messages.iter().map(Message::words).collect();
    let told = words.join("\n");
    assert!(
        told.contains("serving\n\n[The command exited but left a program running. crewdeck killed that program.]"),
        "{told}"
    );
}
