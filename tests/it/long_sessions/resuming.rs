//! Sessions that are resumed after a normal end, a kill or an interrupt.

use std::process::Command;

use super::{
    events_of_type, kill, lead_conversation, parse_events, result_texts, run, start_until_marker,
    terminate,
};
use crate::common::project::Project;
use crewdeck::domain::chat::Message;

#[test]
fn resumed_session_has_its_conversation_todos_and_usage() {
    let project = Project::new();
    let script = r#"
rules:
  - when: my name is (\w+)
    calls: [{ tool: todo, input: { items: [{ id: "1", text: greet, status: pending }] } }]
    usage: { input: 100, output: 10 }
  - when: greet
    say: Hello {{1}}
    usage: { input: 100, output: 10 }
  - when: what now
    say: I greet you.
    usage: { input: 100, output: 10 }
"#;
    let none = run(&project, script, &["what now", "--resume"]);
    assert_eq!(none.code(), 1);
    assert!(none.err().contains("no session here yet"), "{}", none.err());
    assert_eq!(run(&project, script, &["my name is Ada"]).code(), 0);
    let ran = run(&project, script, &["what now", "--resume", "--json"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let conversation = lead_conversation(&project);
    let texts: Vec<String> = conversation.messages.iter().map(Message::text).collect();
    assert_eq!(texts[0], "my name is Ada");
    assert_eq!(texts[texts.len() - 2..], ["what now", "I greet you."]);
    assert_eq!(conversation.spent.input, 300, "usage covers both runs");
    let events = parse_events(&ran);
    assert_eq!(
        events_of_type(&events, "todo_changed")[0]["list"][0]["text"],
        "greet"
    );
    // Without a prompt there must be an interrupted turn to resume.
    let idle = run(&project, script, &["--resume"]);
    assert_eq!(idle.code(), 1);
    assert!(
        idle.err().contains("has no unfinished turn"),
        "{}",
        idle.err()
    );
    let unknown = run(&project, script, &["what now", "--resume", "0000beef"]);
    assert!(
        unknown.err().contains("there is no session 0000beef here"),
        "{}",
        unknown.err()
    );
}

#[test]
fn session_killed_during_a_tool_call_is_resumed() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "echo first > a; touch started; sleep 600" } }, { tool: background_run, input: { command: "sleep 600" } }]
  - when: (?s)crewdeck ended before this call did.*stopped in the middle of this turn
    calls: [{ tool: bash, input: { command: "cat a" } }]
  - when: ^first
    say: It had been written.
"#;
    let mut child = start_until_marker(&project, script);
    kill(&mut child);
    // A power failure can also leave the last line incomplete.
    let dir = project.file(".transcripts");
    let path = std::fs::read_dir(dir)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"role\":\"user\",\"blo");
    std::fs::write(&path, text).unwrap();

    let ran = run(&project, script, &["--resume"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(ran.out().trim(), "It had been written.");
    let err = ran.err();
    assert!(
        err.contains("The lead continues its unfinished turn"),
        "{err}"
    );
    assert!(
        err.contains("One line of the conversation could not be read"),
        "{err}"
    );
    let results = result_texts(&lead_conversation(&project).messages);
    assert!(
        results[0].contains("crewdeck ended before this call did"),
        "{results:?}"
    );
    assert_eq!(results.last().unwrap().trim(), "first");
}

#[test]
fn turn_interrupted_by_the_user_is_not_resumed() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "touch started; sleep 600" } }]
  - when: .
    say: on I go
"#;
    let mut child = start_until_marker(&project, script);
    terminate(&mut child);
    let ran = run(&project, script, &["--resume"]);
    assert_eq!(ran.code(), 1);
    assert!(
        ran.err().contains("has no unfinished turn"),
        "{}",
        ran.err()
    );
}

#[test]
fn run_does_not_report_decisions_of_an_earlier_run() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "rm -rf /nowhere/at/all" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let rejection = "permission of lead rejected by policy";
    let first = run(&project, script, &["go"]).err();
    assert!(first.contains(rejection), "{first}");
    let second = run(&project, script, &["and now"]).err();
    assert!(!second.contains(rejection), "{second}");
}

/// The interrupt, SIGINT, arrives while the second of two concurrent calls hangs.
#[test]
fn interrupt_keeps_the_result_of_a_finished_concurrent_call() {
    let project = Project::new();
    let script = r#"
rules:
  - agent: lead
    when: ^go$
    calls: [{ tool: task, input: { prompt: quick } }, { tool: task, input: { prompt: slow, kind: general } }]
  - when: quick
    say: Found it.
  - when: slow
    calls: [{ tool: bash, input: { command: "while ! grep -q turn.:.ended .transcripts/*-lead.1.jsonl; do sleep 0.05; done; touch started; sleep 600" } }]
"#;
    let mut child = start_until_marker(&project, script);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap();
    let results = result_texts(&lead_conversation(&project).messages);
    assert_eq!(results[0], "Found it.");
    assert!(results[1].starts_with("Interrupted"), "{results:?}");
}
