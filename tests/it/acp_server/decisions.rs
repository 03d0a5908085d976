//! Requests that the user decides in the editor, and cancelled prompts.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::editor::Editor;
use crate::common::project::Project;
use crate::common::pty::Screen;

/// The lead deletes a folder twice with the same command.
const DELETES: &str = r"
  - when: ^go$
    calls: [{ tool: bash, input: { command: 'rm -rf gone; echo first' } }]
  - when: ^first$
    calls: [{ tool: bash, input: { command: 'rm -rf gone; echo first' } }]
  - times: 0
    say: Finished.
";

#[test]
fn permission_is_shown_in_the_card_of_its_call() {
    let project = Project::new();
    project.write("gone/file", "");
    let mut editor = Editor::open(&project, DELETES, &[]);
    let prompt = editor.prompt("go");
    let call = editor.update("tool_call", "rm -rf gone");
    let question = editor.question();
    let shown = &question["params"]["toolCall"];
    assert_eq!(shown["toolCallId"], call["toolCallId"]);
    assert!(
        shown["content"].to_string().contains("rm -rf gone"),
        "{shown}"
    );
    editor.choose(&question, "reject");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let end = editor.update("tool_call_update", "failed");
    assert_eq!(end["toolCallId"], call["toolCallId"]);
    assert!(project.file("gone/file").exists());
}

#[test]
fn permission_for_the_session_is_asked_once() {
    let project = Project::new();
    project.write("gone/file", "");
    let mut editor = Editor::open(&project, DELETES, &[]);
    let prompt = editor.prompt("go");
    let question = editor.question();
    editor.choose(&question, "scope-0");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(!project.file("gone").exists());
    let asked = editor
        .received
        .iter()
        .filter(|m| m["method"] == "session/request_permission");
    assert_eq!(asked.count(), 1);
}

#[test]
fn decision_in_a_dashboard_beside_it_withdraws_the_question() {
    let project = Project::new();
    project.write("gone/file", "");
    let mut editor = Editor::open(&project, DELETES, &[]);
    let prompt = editor.prompt("go");
    let question = editor.question();
    let provider = format!("script:{}", project.file("script.yaml").display());
    let mut viewer = Screen::start(project.path(), 160, 45, &["--provider", &provider]);
    viewer.wait_for(&format!(
        "viewer · crew runs in process {}",
        editor.process.id()
    ));
    viewer.wait_for("asks for permission");
    viewer.send_and_wait_for("\x1bw", "╭ 6 Needs you");
    viewer.send("a");
    let cancel = editor.wait("the withdrawal", |m| m["method"] == "$/cancel_request");
    assert_eq!(cancel["params"]["requestId"], question["id"]);
    // The editor's answer comes too late and changes nothing.
    editor.choose(&question, "reject");
    let second = editor.question();
    editor.choose(&second, "allow");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(!project.file("gone").exists());
    viewer.wait_for("Finished.");
    editor.update("agent_message_chunk", "Finished.");
    // What the user writes in the dashboard is shown in the editor.
    viewer.send("\x1b1i");
    viewer.send("hello from the dashboard\r");
    editor.update("agent_message_chunk", "Message from user: hello from");
    editor.update("agent_message_chunk", "Finished.");
    assert_eq!(editor.close().code(), Some(0));
}

#[test]
fn cancel_ends_a_prompt_whatever_it_waits_for() {
    let project = Project::new();
    let rules = r"
  - when: ^hello$
    say: Hi.
  - when: ^permission$
    times: 0
    calls: [{ tool: bash, input: { command: 'rm -rf gone' } }]
  - when: ^slow$
    delay_ms: 1000000
    say: Late.
  - when: ^wait$
    calls: [{ tool: bash, input: { command: 'sleep 1000' } }]
";
    let mut editor = Editor::open(&project, rules, &[]);
    // There is nothing to cancel.
    editor.cancel();
    for (text, kind) in [("wait", "tool_call"), ("slow", "")] {
        let prompt = editor.prompt(text);
        if !kind.is_empty() {
            editor.update(kind, "sleep 1000");
        }
        editor.cancel();
        editor.cancel();
        assert_eq!(editor.stop_reason(prompt), "cancelled", "{text}");
    }
    let prompt = editor.prompt("permission");
    let question = editor.question();
    editor.cancel();
    let outcome = json!({ "outcome": { "outcome": "cancelled" } });
    editor.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": outcome }));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    // A cancelled request ends its prompt too.
    let prompt = editor.prompt("permission");
    editor.notify("$/cancel_request", &json!({ "requestId": prompt }));
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    assert_eq!(editor.ask("hello"), "end_turn");
    assert!(editor.said().ends_with("Hi."), "{}", editor.said());
}

#[test]
fn question_is_answered_with_a_choice_or_with_the_next_message() {
    let project = Project::new();
    let rules = r"
  - when: ^go$
    calls: [{ tool: ask_user, input: { question: 'Which color?', choices: [red, green] } }]
  - when: green
    calls: [{ tool: ask_user, input: { question: 'And why?' } }]
  - when: it is calm
    say: I see.
  - when: ^next$
    say: Next.
";
    let mut editor = Editor::open(&project, rules, &[]);
    let prompt = editor.prompt("go");
    let question = editor.question();
    assert_eq!(question["params"]["options"][1]["name"], "green");
    editor.choose(&question, "choice-1");
    let question = editor.question();
    assert_eq!(question["params"]["toolCall"]["title"], "And why?");
    // The prompt ends, so that the user can write; the next message is the answer.
    editor.choose(&question, "write");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(editor.ask("it is calm"), "end_turn");
    assert!(editor.said().ends_with("I see."), "{}", editor.said());
    assert_eq!(editor.ask("next"), "end_turn");
    assert!(editor.said().ends_with("Next."), "{}", editor.said());
}

#[test]
fn plan_of_a_teammate_is_approved_in_the_editor() {
    let project = Project::new();
    let rules = r"
  - when: ^go$
    calls: [{ tool: spawn_teammate, input: { name: bob, role: planner, prompt: plan it, plan: required } }]
  - agent: bob
    when: plan it
    calls: [{ tool: plan_approval, input: { plan: First this then that } }]
  - agent: bob
    times: 0
    say: Fine.
  - agent: lead
    times: 0
    say: Bob plans.
";
    let mut editor = Editor::open(&project, rules, &[]);
    assert_eq!(editor.ask("go"), "end_turn");
    let question = editor.question();
    let card = &question["params"]["toolCall"];
    assert!(
        card["title"]
            .as_str()
            .unwrap()
            .starts_with("The plan of bob"),
        "{card}"
    );
    assert!(
        card["content"].to_string().contains("First this then that"),
        "{card}"
    );
    editor.choose(&question, "allow");
    let end = editor.update("tool_call_update", "approved by user");
    assert_eq!(end["toolCallId"], card["toolCallId"]);
}
