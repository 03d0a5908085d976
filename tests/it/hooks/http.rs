//! Hooks that are HTTP requests.

use std::time::Duration;

use crewdeck::domain::hook::{HookCall, HookEvent, HookInput, PermissionVerdict, SessionEndReason};
use serde_json::json;
use wiremock::matchers::{body_partial_json, header, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Setup, bash};
use crate::common::project::Project;

#[test]
fn http_hooks_follow_the_same_rules() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(MockServer::start());
    let answer = |route: &str, response: ResponseTemplate| {
        runtime.block_on(
            Mock::given(path(route))
                .respond_with(response)
                .mount(&server),
        );
    };
    runtime.block_on(
        Mock::given(path("/deny"))
            .and(header("content-type", "application/json"))
            .and(header("x-token", "a"))
            .and(body_partial_json(json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})))
            .respond_with(ResponseTemplate::new(200).set_body_json(json!({"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "no"}})))
            .mount(&server),
    );
    answer("/empty", ResponseTemplate::new(204));
    answer("/error", ResponseTemplate::new(500));
    answer(
        "/html",
        ResponseTemplate::new(200).set_body_string("<html>"),
    );
    answer(
        "/large",
        ResponseTemplate::new(200).set_body_string("x".repeat(2_000_000)),
    );
    answer(
        "/slow",
        ResponseTemplate::new(200).set_delay(Duration::from_secs(600)),
    );
    answer(
        "/moved",
        ResponseTemplate::new(302).insert_header("location", "/deny"),
    );
    let url = |route: &str| format!("{}{route}", server.uri());
    let setup = Setup::new(
        Project::new(),
        &json!({"PreToolUse": [{"hooks": [
            {"type": "http", "url": url("/deny"), "headers": {"X-Token": "a$HOME"}},
            {"type": "http", "url": url("/empty")},
            {"type": "http", "url": url("/error")},
            {"type": "http", "url": url("/html")},
            {"type": "http", "url": url("/large")},
            {"type": "http", "url": url("/slow"), "timeout": 0.5},
            {"type": "http", "url": url("/moved")},
            {"type": "http", "url": "http://127.0.0.1:1/none"},
        ]}]}),
    );
    let outcome = setup.run(&bash("ls"));
    assert_eq!(
        outcome.permission,
        Some((PermissionVerdict::Deny, "no".into())),
        "{outcome:?}"
    );
    for (route, problem) in [
        ("/error", "responded with status 500"),
        ("/html", "a body that is not a JSON object"),
        ("/large", "responded with more than 1 MiB"),
        ("/slow", "did not respond within 0.5 s"),
        ("/moved", "responded with status 302"),
        ("/none", "cannot be reached"),
    ] {
        let found = outcome
            .problems
            .iter()
            .any(|p| p.contains(route) && p.contains(problem));
        assert!(found, "{route}: {:?}", outcome.problems);
    }
    assert_eq!(outcome.problems.len(), 6);
}

/// Returns an input of the event.
fn sample(event: HookEvent) -> HookInput {
    let call = || HookCall {
        name: "bash".into(),
        input: json!({"command": "ls"}),
        id: "toolu_1".into(),
    };
    let task = || ("7".to_string(), "a".to_string(), "b".to_string());
    match event {
        HookEvent::SessionStart => HookInput::SessionStart {
            source: "startup",
            model: None,
        },
        HookEvent::SessionEnd => HookInput::SessionEnd {
            reason: SessionEndReason::Other,
        },
        HookEvent::UserPromptSubmit => HookInput::UserPromptSubmit {
            prompt: "hello".into(),
        },
        HookEvent::PreToolUse => HookInput::PreToolUse(call()),
        HookEvent::PermissionRequest => HookInput::PermissionRequest(call()),
        HookEvent::PostToolUse => HookInput::PostToolUse {
            call: call(),
            response: json!({}),
            duration_ms: 1,
        },
        HookEvent::Stop => HookInput::Stop {
            is_active: false,
            last_message: "done".into(),
        },
        HookEvent::SubagentStop => HookInput::SubagentStop {
            is_active: false,
            last_message: "done".into(),
            transcript_path: "/t".into(),
        },
        HookEvent::Notification => HookInput::Notification {
            kind: "idle_prompt",
            title: "t".into(),
            message: "m".into(),
        },
        HookEvent::PreCompact => HookInput::PreCompact {
            is_manual: true,
            instructions: String::new(),
        },
        HookEvent::TaskCreated => {
            let (id, subject, description) = task();
            HookInput::TaskCreated {
                id,
                subject,
                description,
            }
        }
        HookEvent::TaskCompleted => {
            let (id, subject, description) = task();
            HookInput::TaskCompleted {
                id,
                subject,
                description,
            }
        }
        HookEvent::TeammateIdle => HookInput::TeammateIdle,
        HookEvent::WorktreeCreate => HookInput::WorktreeCreate {
            name: "task-7".into(),
        },
        HookEvent::WorktreeRemove => HookInput::WorktreeRemove { path: "/w".into() },
    }
}

#[test]
fn every_event_reaches_its_url_and_can_block() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(MockServer::start());
    let block = json!({"decision": "block", "reason": "not now", "systemMessage": "look"});
    let answer = ResponseTemplate::new(200).set_body_json(block);
    runtime.block_on(Mock::given(path("/")).respond_with(answer).mount(&server));
    let hooks: serde_json::Map<_, _> = HookEvent::ALL
        .iter()
        .map(|event| {
            let hook = json!([{"hooks": [{"type": "http", "url": server.uri()}]}]);
            (event.name().to_string(), hook)
        })
        .collect();
    let setup = Setup::new(Project::new(), &hooks.into());
    for event in HookEvent::ALL {
        let input = sample(*event);
        let outcome = setup.run(&input);
        assert!(outcome.is_blocked(), "{}: {outcome:?}", event.name());
        assert!(outcome.reason().contains("not now"), "{outcome:?}");
        assert_eq!(outcome.messages, ["look"], "{}", event.name());
        let received = runtime.block_on(server.received_requests()).unwrap();
        let body: serde_json::Value = received.last().unwrap().body_json().unwrap();
        assert_eq!(body, input.json(&setup.context()), "{}", event.name());
        assert_eq!(body["hook_event_name"], event.name());
    }
    let received = runtime.block_on(server.received_requests()).unwrap();
    assert_eq!(received.len(), HookEvent::ALL.len());
}
