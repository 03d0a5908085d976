//! Sessions that are gone on with after an end, a kill or an interrupt.

use std::process::Command;

use super::{ask_to_end, events, kill, lead, of, result_texts, run, started};
use crate::common::project::Project;
use crewdeck::domain::chat::Message;

#[test]
fn a_session_is_gone_on_with_and_knows_what_was_said() {
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
    let conversation = lead(&project);
    let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
    assert_eq!(words[0], "my name is Ada");
    assert_eq!(words[words.len() - 2..], ["what now", "I greet you."]);
    assert_eq!(conversation.spent.input, 300, "the tokens of both runs");
    let events = events(&ran);
    assert_eq!(of(&events, "todo_changed")[0]["list"][0]["text"], "greet");
    // With nothing under way there is nothing to go on with.
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
fn killed_in_the_middle_of_a_tool_call_it_comes_back_and_goes_on() {
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
    let mut child = started(&project, script);
    kill(&mut child);
    // A power cut may also tear the last line.
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
    let results = result_texts(&lead(&project).messages);
    assert!(
        results[0].contains("crewdeck ended before this call did"),
        "{results:?}"
    );
    assert_eq!(results.last().unwrap().trim(), "first");
}

#[test]
fn what_a_person_interrupted_is_not_gone_on_with() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "touch started; sleep 600" } }]
  - when: .
    say: on I go
"#;
    let mut child = started(&project, script);
    ask_to_end(&mut child);
    let ran = run(&project, script, &["--resume"]);
    assert_eq!(ran.code(), 1);
    assert!(
        ran.err().contains("has no unfinished turn"),
        "{}",
        ran.err()
    );
}

#[test]
fn a_run_does_not_tell_the_decisions_of_the_one_before() {
    let project = Project::new();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "rm -rf /nowhere/at/all" } }]
  - when: .
    times: 0
    say: I see.
"#;
    let told = "permission of lead rejected by policy";
    let first = run(&project, script, &["go"]).err();
    assert!(first.contains(told), "{first}");
    let second = run(&project, script, &["and now"]).err();
    assert!(!second.contains(told), "{second}");
}

/// SIGINT comes while the second of two calls that run side by side hangs.
#[test]
fn what_is_done_stays_done_when_its_neighbour_is_interrupted() {
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
    let mut child = started(&project, script);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    child.wait().unwrap();
    let results = result_texts(&lead(&project).messages);
    assert_eq!(results[0], "Found it.");
    assert!(results[1].starts_with("Interrupted"), "{results:?}");
}
