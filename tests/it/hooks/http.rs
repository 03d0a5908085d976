//! Hooks that are HTTP requests.

use std::time::Duration;

use crewdeck::domain::hook::PermissionVerdict;
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
        ("/html", "a body that is no JSON object"),
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
