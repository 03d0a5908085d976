//! The practice prompts of the learn-claude-code lessons on messages, shutdown and autonomy.

use super::{notices, run};
use crate::common::project::Project;
use serde_json::Value;

#[test]
fn s09_alice_sends_bob_a_message() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: Spawn alice
    calls:
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: Wait for alice } }
      - { tool: spawn_teammate, input: { name: alice, role: coder, prompt: Greet bob } }
  - agent: lead
    when: .
    times: 0
    say: They talk.
  - agent: alice
    when: Greet bob
    calls: [{ tool: send_message, input: { to: bob, content: the parser is ready for tests } }]
  - agent: bob
    when: the parser is ready
    say: I test the parser.
  - when: .
    times: 0
    say: fine
";
    let prompt = "Spawn alice (coder) and bob (tester). Have alice send bob a message.";
    let (ran, events) = run(&project, script, &[prompt]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let steps: Vec<&Value> = events
        .iter()
        .filter(|e| e["type"] == "letter_moved" && e["letter"]["to"] == "bob")
        .map(|e| &e["step"])
        .collect();
    assert!(
        steps.iter().any(|s| *s == "delivered") && steps.iter().any(|s| *s == "acted_on"),
        "{steps:?}"
    );
    let has_answered = events
        .iter()
        .any(|e| e["type"] == "said" && e["text"] == "I test the parser.");
    assert!(has_answered);
}

#[test]
fn s10_alice_is_spawned_and_asked_to_shut_down() {
    let project = Project::new();
    let script = r"
rules:
  - agent: lead
    when: Spawn alice
    calls: [{ tool: spawn_teammate, input: { name: alice, role: coder, prompt: Say hello } }, { tool: shutdown_request, input: { teammate: alice, reason: the work is done } }]
  - agent: lead
    when: shutdown_response
    say: Alice is gone.
  - when: .
    times: 0
    say: fine
";
    let args = [
        "Spawn alice as a coder. Then request her shutdown.",
        "--shutdown",
        "auto",
    ];
    let (ran, events) = run(&project, script, &args);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let members = project.json(&["team", "list"]);
    assert_eq!(members[0]["status"], "shutdown");
    assert!(
        notices(&events)
            .iter()
            .any(|t| t == "alice has shut down as requested.")
    );
    let has_answered = events
        .iter()
        .any(|e| e["type"] == "said" && e["text"] == "Alice is gone.");
    assert!(
        has_answered,
        "the lead gets the shutdown response as a message"
    );
}

#[test]
fn s11_two_teammates_claim_tasks_without_extra_model_calls() {
    let project = Project::new();
    let work = |name: &str| {
        // No task is done before both teammates have started.
        let both_at_work = format!(
            "echo {name} >> begun; until grep -q alice begun && grep -q bob begun; do sleep 0.02; done"
        );
        format!(
            r"
  - agent: {name}
    when: 'auto-claimed>Task #(\d+)'
    times: 0
    calls: [{{ tool: bash, input: {{ command: '{both_at_work}; echo {name} >> done' }} }}, {{ tool: task_update, input: {{ task_id: '{{{{1}}}}', status: completed }} }}]
"
        )
    };
    let script = format!(
        r"
rules:
  - agent: lead
    when: Create 3 tasks
    calls:
      - {{ tool: task_create, input: {{ subject: one }} }}
      - {{ tool: task_create, input: {{ subject: two }} }}
      - {{ tool: task_create, input: {{ subject: three }} }}
      - {{ tool: spawn_teammate, input: {{ name: alice, role: coder, prompt: Work }} }}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: coder, prompt: Work }} }}
{}{}
  - when: .
    times: 0
    say: fine
",
        work("alice"),
        work("bob")
    );
    let prompt = "Create 3 tasks on the board, then spawn alice and bob. Watch them auto-claim.";
    let (ran, events) = run(&project, &script, &[prompt]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let tasks = project.json(&["task", "list"]);
    let tasks = tasks.as_array().unwrap();
    assert!(
        tasks.iter().all(|t| t["status"] == "completed"),
        "{}",
        ran.out()
    );
    let mut owners: Vec<&str> = tasks.iter().map(|t| t["owner"].as_str().unwrap()).collect();
    owners.sort_unstable();
    owners.dedup();
    assert_eq!(owners, ["alice", "bob"]);
    // Model calls: the lead answers the prompt and the completion of all tasks; each teammate answers its first prompt
    // and makes two calls per task. Claims, idling and completions need no call.
    let calls = |who: &str| {
        let mine = |e: &&Value| e["type"] == "usage_changed" && e["agent"] == who;
        events.iter().filter(mine).count()
    };
    assert_eq!(calls("lead"), 3);
    assert_eq!(calls("alice") + calls("bob"), 2 + 3 * 2);
}
