//! What is on disk, and what waits while it can not be written.

use super::{lead, result_texts, run, scripted, unconfined};
use crate::common::project::{Project, Ran};
use crewdeck::domain::chat::Message;

#[test]
fn what_could_not_be_saved_is_saved_later_and_its_letters_wait_till_then() {
    let project = unconfined();
    // A folder in the place of the log: nothing can be written there.
    let script = r#"
rules:
  - when: ^go$
    calls:
      - tool: bash
        input:
          command: |
            f=$(ls .transcripts/*-lead.jsonl); mv $f aside; mkdir $f
            echo '{"type":"message","from":"bob","content":"the word is rhubarb","timestamp":1}' >> .team/inbox/lead.jsonl
  - when: rhubarb
    calls: [{ tool: bash, input: { command: "CREWDECK mail list lead --json > then.json; rmdir .transcripts/*-lead.jsonl" } }]
  - when: .
    say: fine
"#;
    let script = script.replace("CREWDECK", env!("CARGO_BIN_EXE_crewdeck"));
    let ran = run(&project, &script, &["go", "--tool", "auto"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert!(ran.err().contains("cannot be saved"), "{}", ran.err());
    let then = std::fs::read_to_string(project.file("then.json")).unwrap();
    assert!(then.contains("rhubarb"), "it is not acknowledged yet");
    let messages = lead(&project).messages;
    let words: Vec<String> = messages.iter().map(Message::words).collect();
    let all = words.join("\n");
    assert_eq!(all.matches("rhubarb").count(), 1, "{all}");
    assert!(all.starts_with("go") && all.ends_with("fine"), "{all}");
    assert_eq!(
        project.json(&["mail", "list", "lead"]),
        serde_json::json!([])
    );
}

#[test]
fn progress_that_can_not_be_written_ends_nothing() {
    let project = Project::new();
    let script = "rules: [{ when: ., say: I see. }]";
    let mut command = scripted(&project, script, &["go"]);
    command.stderr(std::fs::File::create("/dev/full").unwrap());
    let ran = Ran(command.output().unwrap());
    assert_eq!((ran.code(), ran.out().as_str()), (0, "I see.\n"));
}

#[test]
fn a_log_that_was_taken_away_is_written_anew() {
    for gone in [
        "rm -rf .transcripts",
        "rm .transcripts/*",
        // No log can be written at first.
        "rm -rf .transcripts; touch .transcripts",
    ] {
        let project = unconfined();
        let script = r#"
rules:
  - when: ^my name is Ada
    calls: [{ tool: bash, input: { command: "GONE" } }]
  - when: no output
    calls: [{ tool: bash, input: { command: "[ -d .transcripts ] || rm -f .transcripts; echo two" } }]
  - when: two
    say: Hello Ada
"#;
        let script = script.replace("GONE", gone);
        let ran = run(&project, &script, &["my name is Ada", "--tool", "auto"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let conversation = lead(&project);
        let words: Vec<String> = conversation.messages.iter().map(Message::words).collect();
        assert_eq!(words[0], "my name is Ada", "{gone}");
        let results = result_texts(&conversation.messages);
        assert_eq!(
            results,
            ["(no output)", "two"],
            "a standing rule is no person"
        );
        assert_eq!((words.len(), words[5].as_str()), (6, "Hello Ada"), "{gone}");
    }
}

#[test]
fn a_letter_that_no_log_holds_is_not_acknowledged() {
    let project = unconfined();
    let script = r#"
rules:
  - when: ^go$
    calls: [{ tool: bash, input: { command: "EXE mail send lead hello; rm -rf .transcripts; touch .transcripts" } }]
  - when: hello
    say: I have read it.
"#;
    let script = script.replace("EXE", env!("CARGO_BIN_EXE_crewdeck"));
    let ran = run(&project, &script, &["go", "--tool", "auto"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    assert_eq!(ran.out(), "I have read it.\n");
    std::fs::remove_file(project.file(".transcripts")).unwrap();
    let waits = project.json(&["mail", "list", "lead"]);
    assert_eq!(waits[0]["content"], "hello");
}
