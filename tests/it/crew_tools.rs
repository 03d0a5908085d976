//! The tools that change the crew's state: tasks, messages, the todo list, and questions to the user.

use crewdeck::domain::chat::Outcome;
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::store::Mailbox;
use serde_json::{Value, json};

use crate::common::tool_fixture::ToolFixture;

#[test]
fn task_tools_accept_every_form_of_task_id() {
    let fixture = ToolFixture::new();
    let id = |text: String| {
        serde_json::from_str::<Value>(&text).unwrap()["id"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(
        id(fixture.ok("task_create", json!({"subject": "Parse"}))),
        1
    );
    for (n, by) in [
        (2, json!([1])),
        (3, json!("1")),
        (4, json!(["#1"])),
        (5, json!(1)),
    ] {
        let text = fixture.ok(
            "task_create",
            json!({"subject": format!("After {n}"), "blocked_by": by}),
        );
        let task: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (task["id"].as_u64(), &task["blockedBy"]),
            (Some(n), &json!([1])),
            "{task}"
        );
    }
    let text = fixture.expect_error(
        "task_create",
        json!({"subject": "More", "blocked_by": ["Parse"]}),
    );
    assert!(
        text.contains("'Parse' is the subject of a task: use its number 1"),
        "{text}"
    );
    assert!(
        fixture
            .expect_error(
                "task_create",
                json!({"subject": "More", "blocked_by": [77]})
            )
            .contains("77")
    );
    fixture.expect_error("task_create", json!({"subject": "  "}));
    assert!(
        fixture
            .expect_error("claim_task", json!({"task_id": 2}))
            .contains('1')
    );
    assert!(
        fixture
            .ok("claim_task", json!({}))
            .starts_with("Claimed task #1 for alice\nParse")
    );
    fixture.expect_error("claim_task", json!({"task_id": "#3"}));
    let foreign = fixture.call_as(
        "bob",
        "task_update",
        json!({"task_id": 1, "status": "completed"}),
    );
    assert!(
        foreign.outcome == Outcome::Error && foreign.text.contains("alice"),
        "{foreign:?}"
    );
    fixture.expect_error("task_update", json!({"task_id": 1}));
    fixture.expect_error("task_update", json!({"task_id": 1, "addBlockedBy": [2]}));
    fixture.ok(
        "task_update",
        json!({"task_id": "#1", "status": "completed"}),
    );
    let task: Value =
        serde_json::from_str(&fixture.ok("task_get", json!({"task_id": "2"}))).unwrap();
    assert_eq!(task["blockedBy"], json!([]));
    assert!(
        fixture
            .ok("claim_task", json!({"task_id": "2"}))
            .contains("Claimed task #2")
    );
    assert!(fixture.ok("task_list", json!({})).contains("After 5"));
    assert!(
        fixture
            .expect_error("task_get", json!({"task_id": 99}))
            .contains("99")
    );
}

#[test]
fn send_message_ignores_forged_sender_and_type() {
    let fixture = ToolFixture::new();
    let input =
        json!({"to": "@bob", "content": "hello", "from": "lead", "type": "shutdown_request"});
    assert_eq!(fixture.ok("send_message", input), "Sent message to bob");
    let inbox = Mailbox::open(&fixture.root())
        .peek(&Name::party("bob").unwrap())
        .unwrap();
    let message = serde_json::to_value(&inbox.messages[0]).unwrap();
    assert_eq!(
        (&message["from"], &message["type"], &message["content"]),
        (&json!("alice"), &json!("message"), &json!("hello"))
    );
    let urgent = json!({"to": "bob", "content": "stop", "urgent": true});
    assert_eq!(
        fixture.ok("send_message", urgent),
        "Sent urgent message to bob"
    );
    let text = fixture.expect_error("send_message", json!({"to": "carol", "content": "x"}));
    assert!(
        text.contains("carol") && text.contains("alice, bob (and lead, user)"),
        "{text}"
    );
    fixture.expect_error("send_message", json!({"to": "Alice", "content": "x"}));
    fixture.expect_error("send_message", json!({"to": "bob", "content": "  "}));
    fixture.expect_error("send_message", json!({"to": "../../x", "content": "x"}));
}

#[test]
fn todo_enforces_its_limits() {
    let fixture = ToolFixture::new();
    let item =
        |n: usize, status: &str| json!({"id": n, "text": format!("step {n}"), "status": status});
    let items: Vec<Value> = (1..=20).map(|n| item(n, "pending")).collect();
    let text = fixture.ok("todo", json!({"items": items}));
    assert!(text.contains("step 20"), "{text}");
    let items: Vec<Value> = (1..=21).map(|n| item(n, "pending")).collect();
    assert!(
        fixture
            .expect_error("todo", json!({"items": items}))
            .contains("Max 20 todos")
    );
    let two = json!({"items": [item(1, "in_progress"), item(2, "in_progress")]});
    assert!(
        fixture
            .expect_error("todo", two)
            .contains("Only one task can be in_progress")
    );
    assert!(
        fixture
            .expect_error("todo", json!({"items": [{"text": " "}]}))
            .contains("text required")
    );
    assert!(
        fixture
            .expect_error("todo", json!({"items": [item(1, "someday")]}))
            .contains("does not match")
    );
    assert_eq!(fixture.ok("todo", json!({"items": []})), "No todos.");
    assert_eq!(fixture.host.lists.lock().unwrap().len(), 2);
}

#[test]
fn ask_user_rejects_invalid_questions() {
    let fixture = ToolFixture::new();
    let many: Vec<String> = (0..7).map(|n| n.to_string()).collect();
    for (input, why) in [
        (json!({"question": " "}), "the question is empty"),
        (
            json!({"question": "?", "choices": ["one"]}),
            "2 to 6 choices, not 1",
        ),
        (
            json!({"question": "?", "choices": many}),
            "2 to 6 choices, not 7",
        ),
        (
            json!({"question": "?", "choices": ["a", " "]}),
            "a choice is empty",
        ),
        (
            json!({"question": "?", "choices": ["a", "x".repeat(201)]}),
            "more than 200 characters",
        ),
        (json!({"question": "?", "options": ["a"]}), "does not match"),
    ] {
        let text = fixture.expect_error("ask_user", input);
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn foreign_agent_restarts_its_task_but_claims_none() {
    let mut fixture = ToolFixture::new();
    fixture.ok("task_create", json!({"subject": "one"}));
    fixture.ok("task_create", json!({"subject": "two"}));
    fixture.ok("claim_task", json!({"task_id": 1}));
    fixture.is_external = true;
    let start = |id: u64| json!({"task_id": id, "status": "in_progress"});
    fixture.ok("task_update", start(1));
    let error = fixture.expect_error("task_update", start(2));
    let expected = "Error: you do not own task #2, and you cannot claim tasks";
    assert!(error.starts_with(expected), "{error}");
    assert!(fixture.board.get(TaskId(2)).unwrap().owner.is_empty());
    fixture.ok("task_update", json!({"task_id": 1, "status": "completed"}));
}

#[test]
fn inbox_of_a_foreign_agent_follows_after_its_turn() {
    let mut fixture = ToolFixture::new();
    fixture.is_external = true;
    assert_eq!(fixture.ok("read_inbox", json!({})), "[]");
    let message = json!({"to": "alice", "content": "hello"});
    let sent = fixture.call_as("bob", "send_message", message);
    assert_eq!(sent.outcome, Outcome::Ok);
    let waiting = fixture.ok("read_inbox", json!({}));
    assert_eq!(
        waiting,
        "1 message(s) wait. They follow when your turn ends."
    );
}
