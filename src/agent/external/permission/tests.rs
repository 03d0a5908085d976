//! Tests how an external agent's calls are classified for the permission rules.

use super::*;
use crate::domain::agent_update::FileDiff;

fn call(kind: AgentToolKind, input: Value) -> AgentToolCall {
    AgentToolCall {
        title: "ls".into(),
        kind,
        raw_input: Some(input),
        ..AgentToolCall::new("1")
    }
}

#[test]
fn call_with_a_change_or_a_command_does_not_only_read() {
    for kind in [AgentToolKind::Read, AgentToolKind::Think] {
        assert!(only_reads(&call(kind, json!({"path": "a"}))));
        for command in [json!("cat a"), json!("touch a"), json!(["cat"]), json!(1)] {
            assert!(!only_reads(&call(kind, json!({ "command": command }))));
        }
        let mut changing = call(kind, json!({}));
        changing.diffs.push(FileDiff {
            path: "a".into(),
            old: None,
            new: "b".into(),
        });
        assert!(!only_reads(&changing));
    }
    assert!(!only_reads(&call(AgentToolKind::Edit, json!({}))));
}

#[test]
fn session_permissions_approve_only_commands_that_the_rules_judge() {
    let known = call(AgentToolKind::Execute, json!({"command": "git push"}));
    assert!(is_ruled_like_own(&known, "bash", false));
    assert!(!is_ruled_like_own(&known, "bash", true), "without a task");
    let unknown = call(AgentToolKind::Execute, json!({}));
    assert!(!is_ruled_like_own(&unknown, "bash", false));
    let other = call(AgentToolKind::Other, json!({"command": "git push"}));
    assert!(
        !is_ruled_like_own(&other, "bash", false),
        "named like a tool"
    );
    assert!(!is_ruled_like_own(&other, "mcp__docs__add", false));
}

#[test]
fn call_is_known_only_with_its_command_and_all_its_files() {
    use AgentToolKind::{Edit, Execute, Other};
    assert!(is_whole_known(&call(Execute, json!({"command": "ls"}))));
    assert!(is_whole_known(&call(Edit, json!({"path": "a"}))));
    assert!(!is_whole_known(&call(Execute, json!({}))));
    assert!(!is_whole_known(&call(Other, json!({"command": 1}))));
    let mut cut = call(Edit, json!({"path": "a"}));
    cut.has_more_files = true;
    assert!(!is_whole_known(&cut));
}
