//! Hooks that are HTTP requests, in a whole crew.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{answers_of, notices, results, run};
use crate::common::project::{Project, git};

const RULES: &str = r#"
  - agent: lead
    when: 'the branch is main'
    calls:
      - { tool: bash, input: { command: "rm -rf gone; echo removed" } }
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }
  - when: 'Stop hook feedback'
    say: went on
  - agent: bob
    when: Write it
    calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - say: done
    times: 0
"#;

/// Starts a server that answers the hooks of a crew, and returns a project whose hooks call it. They are not approved.
fn start(runtime: &Runtime) -> (MockServer, Project) {
    let server = runtime.block_on(MockServer::start());
    let mut hooks = serde_json::Map::new();
    let project = super::unapproved(&[], RULES);
    let tree = format!("{}-made", project.path().display());
    for (event, answer) in [
        (
            "UserPromptSubmit",
            json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "the branch is main"}}),
        ),
        (
            "PermissionRequest",
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}),
        ),
        (
            "Stop",
            json!({"decision": "block", "reason": "run the tests"}),
        ),
        (
            "WorktreeCreate",
            json!({"hookSpecificOutput": {"hookEventName": "WorktreeCreate", "worktreePath": tree}}),
        ),
    ] {
        let answer = ResponseTemplate::new(200).set_body_json(answer);
        let mock = Mock::given(path(format!("/{event}"))).respond_with(answer);
        // A hook that always prevents the end of a turn would ask the user.
        let times = if event == "Stop" { 1 } else { 100 };
        runtime.block_on(mock.up_to_n_times(times).mount(&server));
        let hook = json!({"type": "http", "url": format!("{}/{event}", server.uri())});
        hooks.insert(event.into(), json!([{"hooks": [hook]}]));
    }
    let rest = Mock::given(path("/Stop")).respond_with(ResponseTemplate::new(204));
    runtime.block_on(rest.mount(&server));
    project.write(
        ".claude/settings.json",
        &json!({"hooks": hooks}).to_string(),
    );
    git(&project, &["worktree", "add", "-q", "-b", "by-hook", &tree]);
    std::fs::write(format!("{tree}/prepared.txt"), "by the hook\n").unwrap();
    (server, project)
}

fn received(runtime: &Runtime, server: &MockServer) -> Vec<Value> {
    let requests = runtime.block_on(server.received_requests()).unwrap();
    requests.iter().map(|r| r.body_json().unwrap()).collect()
}

#[test]
fn http_hooks_decide_in_a_crew_only_after_approval() {
    let runtime = Runtime::new().unwrap();
    let (server, project) = start(&runtime);
    let events = run(&project, &[]);
    assert_eq!(answers_of(&events, "lead"), ["done"]);
    assert_eq!(received(&runtime, &server), [json!(null); 0]);

    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let events = run(&project, &[]);
    assert!(
        results(&events, "bash")[0].contains("removed"),
        "{events:?}"
    );
    let went_on = |e: &Value| e["type"] == "said" && e["text"] == "went on";
    assert!(events.iter().any(went_on), "{events:?}");
    let task = &project.json(&["task", "list"])[0];
    assert_eq!(task["status"], "completed", "{:?}", notices(&events, ""));
    assert!(project.file(".worktrees/task-1/prepared.txt").exists());
    let all = received(&runtime, &server);
    let of = |event: &str| all.iter().filter(|i| i["hook_event_name"] == event).count();
    assert_eq!(
        ["UserPromptSubmit", "PermissionRequest", "WorktreeCreate"].map(of),
        [1, 1, 1],
        "{all:?}"
    );
    assert!(of("Stop") >= 2);
}
