//! Broken input, and the ends of the agent.

use std::process::Command;

use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::editor::Editor;
use crate::common::process_tree::signal;
use crate::common::project::Project;
use crate::common::wait::wait_until;

/// Returns whether a process with `words` in its command line runs.
fn runs(words: &str) -> bool {
    let found = Command::new("pgrep")
        .args(["--full", words])
        .output()
        .unwrap();
    found.status.success()
}

/// Starts an agent whose lead runs a command with `seconds` in its command line.
fn sleeping(project: &Project, seconds: &str) -> (Editor, u64) {
    let rules = format!(
        "  - when: ^go$\n    calls: [{{ tool: bash, input: {{ command: 'sleep {seconds}' }} }}]\n"
    );
    let mut editor = Editor::open(project, &rules, &[]);
    let prompt = editor.prompt("go");
    wait_until("the command does not start", || {
        runs(&format!("sleep {seconds}"))
    });
    (editor, prompt)
}

#[test]
fn broken_messages_are_answered_and_skipped() {
    let project = Project::new();
    let mut editor = Editor::open(&project, "  - say: hi\n    times: 0\n", &[]);
    let errors = [
        ("garbage\n", -32700),
        ("{\"jsonrpc\":\"2.0\",\"id\":7\n", -32700),
        ("[]\n", -32600),
        ("{}\n", -32600),
    ];
    for (line, code) in errors {
        editor.write(line.as_bytes());
        let answer = editor.wait(line, |m| m.get("error").is_some());
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&Value::Null, &json!(code)),
            "{line}"
        );
    }
    // Blank lines, answers to no question, and unknown notifications get no answer.
    editor.write(b"\n  \n");
    editor.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
    editor.send(&json!({ "jsonrpc": "2.0", "id": 99, "error": 5 }));
    editor.notify("x/y", &json!({}));
    let before = editor.received.len();
    for (method, params, why) in [
        ("x/y", json!({}), "-32601"),
        ("session/new", json!({ "cwd": 5 }), "-32602"),
        (
            "session/prompt",
            json!({ "sessionId": "unknown", "prompt": [] }),
            "-32002",
        ),
        (
            "session/prompt",
            json!({ "sessionId": "unknown" }),
            "-32602",
        ),
        (
            "session/set_mode",
            json!({ "sessionId": "unknown", "modeId": "ask" }),
            "-32002",
        ),
        (
            "session/prompt",
            json!({ "sessionId": editor.session, "prompt": [{ "type": "audio", "data": "", "mimeType": "audio/wav" }] }),
            "audio",
        ),
    ] {
        let error = editor.refused(method, &params);
        assert!(error.contains(why), "{method}: {error}");
    }
    let answers = editor.received[before..]
        .iter()
        .filter(|m| m.get("id").is_some());
    assert_eq!(answers.count(), 6);
    assert_eq!(editor.ask("hello"), "end_turn");
}

#[test]
fn huge_line_is_skipped_and_a_half_line_ends_nothing() {
    let project = Project::new();
    let mut editor = Editor::open(&project, "  - say: hi\n    times: 0\n", &[]);
    let part = vec![b'x'; 1024 * 1024];
    for _ in 0..49 {
        editor.write(&part);
    }
    editor.write(b"\n");
    let answer = editor.wait("the error", |m| m.get("error").is_some());
    assert!(answer.to_string().contains("longer than 48 MB"), "{answer}");
    assert_eq!(editor.ask("hello"), "end_turn");
    editor.write(b"{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"session/list\",\"params\":{}}");
    assert_eq!(editor.close().code(), Some(0));
    assert!(!editor.received.iter().any(|m| m["id"] == 50));
}

#[test]
fn end_of_the_connection_ends_the_crew_and_its_commands() {
    let project = Project::new();
    let (mut editor, _) = sleeping(&project, "1001.1");
    assert_eq!(editor.close().code(), Some(0));
    wait_until("the command outlives its crew", || !runs("sleep 1001.1"));
    // The crew lock is free.
    let mut editor = Editor::open(&project, "  - say: hi\n", &[]);
    assert_eq!(editor.ask("hello"), "end_turn");
}

#[test]
fn sigterm_answers_the_prompt_and_ends_the_crew() {
    let project = Project::new();
    let (mut editor, prompt) = sleeping(&project, "1002.2");
    signal(i32::try_from(editor.process.id()).unwrap(), Signal::TERM);
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    assert_eq!(editor.wait_for_exit().code(), Some(130));
    wait_until("the command outlives its crew", || !runs("sleep 1002.2"));
}

#[test]
fn no_command_outlives_a_killed_agent() {
    let project = Project::new();
    let (mut editor, _) = sleeping(&project, "1003.3");
    editor.process.kill().unwrap();
    wait_until("the command outlives its crew", || !runs("sleep 1003.3"));
}

#[test]
fn crew_that_runs_elsewhere_is_an_error() {
    let project = Project::new();
    let mut first = Editor::open(&project, "  - say: hi\n", &[]);
    let mut second = Editor::start(&project, "  - say: hi\n", &[]);
    let why = second.refused(
        "session/new",
        &json!({ "cwd": project.path(), "mcpServers": [] }),
    );
    assert!(why.contains("a crew already runs in"), "{why}");
    assert_eq!(first.close().code(), Some(0));
    second.new_session(&project);
    assert_eq!(second.ask("hello"), "end_turn");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let project = Project::new();
    for (args, why) in [
        (
            ["acp", "--resume"].as_slice(),
            "the editor chooses the session",
        ),
        (&["acp", "--demo"], "acp cannot run the demo"),
        (
            &["acp", "--dir", "missing"],
            "is not an accessible directory",
        ),
    ] {
        let refusal = project.expect_refusal(args);
        assert!(refusal.contains(why), "{refusal}");
    }
}
