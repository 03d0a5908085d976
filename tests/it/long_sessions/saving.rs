//! Saving of conversations, also while the files cannot be written.

use super::{lead_conversation, project_without_sandbox, result_texts, run, script_command};
use crate::common::project::{Project, RunResult};
use crewdeck::domain::chat::Message;

#[test]
fn unsaved_conversation_is_saved_later_and_mail_waits() {
    let project = project_without_sandbox();
    // A folder replaces the log, so that it cannot be written.
    let script = r#"
rules:
  - when: ^go$
    calls:
      - tool: bash
        input:
          command: |
            f=$(ls .transcripts/*-lead.jsonl); mv $f moved; mkdir $f
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
    let mail_then = std::fs::read_to_string(project.file("then.json")).unwrap();
    assert!(
        mail_then.contains("rhubarb"),
        "the message is not acknowledged yet"
    );
    let messages = lead_conversation(&project).messages;
    let texts: Vec<String> = messages.iter().map(Message::text).collect();
    let all = texts.join("\n");
    assert_eq!(all.matches("rhubarb").count(), 1, "{all}");
    assert!(all.starts_with("go") && all.ends_with("fine"), "{all}");
    assert_eq!(
        project.json(&["mail", "list", "lead"]),
        serde_json::json!([])
    );
}

#[test]
fn failing_progress_output_does_not_end_the_run() {
    let project = Project::new();
    let script = "rules: [{ when: ., say: I see. }]";
    let mut command = script_command(&project, script, &["go"]);
    command.stderr(std::fs::File::create("/dev/full").unwrap());
    let ran = RunResult(command.output().unwrap());
    assert_eq!((ran.code(), ran.out().as_str()), (0, "I see.\n"));
}

#[test]
fn deleted_log_is_written_again() {
    for removal in [
        "rm -rf .transcripts",
        "rm .transcripts/*",
        // At first no log can be written.
        "rm -rf .transcripts; touch .transcripts",
    ] {
        let project = project_without_sandbox();
        let script = r#"
rules:
  - when: ^my name is Ada
    calls: [{ tool: bash, input: { command: "GONE" } }]
  - when: no output
    calls: [{ tool: bash, input: { command: "[ -d .transcripts ] || rm -f .transcripts; echo two" } }]
  - when: two
    say: Hello Ada
"#;
        let script = script.replace("GONE", removal);
        let ran = run(&project, &script, &["my name is Ada", "--tool", "auto"]);
        assert_eq!(ran.code(), 0, "{}", ran.err());
        let conversation = lead_conversation(&project);
        let texts: Vec<String> = conversation.messages.iter().map(Message::text).collect();
        assert_eq!(texts[0], "my name is Ada", "{removal}");
        let results = result_texts(&conversation.messages);
        assert_eq!(
            results,
            ["(no output)", "two"],
            "a policy decision adds no user comment"
        );
        assert_eq!(
            (texts.len(), texts[5].as_str()),
            (6, "Hello Ada"),
            "{removal}"
        );
    }
}

#[test]
fn message_not_yet_in_a_log_is_not_acknowledged() {
    let project = project_without_sandbox();
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
    let unread = project.json(&["mail", "list", "lead"]);
    assert_eq!(unread[0]["content"], "hello");
}
