//! Tests of which calls the rules decide, and which paths are inside of a directory.

use super::*;
use crate::domain::agent_update::{AgentToolStatus, FileDiff};

fn call(kind: AgentToolKind, input: Value) -> AgentToolCall {
    AgentToolCall {
        id: "1".into(),
        title: "ls".into(),
        kind,
        status: AgentToolStatus::Pending,
        raw_input: Some(input),
        locations: Vec::new(),
        text: String::new(),
        diffs: Vec::new(),
    }
}

#[test]
fn call_with_a_change_or_an_unknown_command_does_not_only_read() {
    for kind in [AgentToolKind::Read, AgentToolKind::Think] {
        assert!(only_reads(&call(kind, json!({"path": "a"}))));
        assert!(only_reads(&call(kind, json!({"command": "cat a"}))));
        assert!(!only_reads(&call(kind, json!({"command": "touch a"}))));
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
fn only_paths_below_the_directory_are_inside() {
    let dir = tempfile::tempdir().unwrap();
    let (work, other) = (dir.path().join("work"), dir.path().join("other"));
    std::fs::create_dir_all(work.join("src")).unwrap();
    std::fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(&other, work.join("link")).unwrap();
    let absolute = work.join("src/new.rs");
    for (path, expected) in [
        ("src/a.rs", true),
        ("new/folder/a.rs", true),
        (absolute.to_str().unwrap(), true),
        ("../other/a.rs", false),
        ("src/../../other/a", false),
        ("link/a.rs", false),
        ("/etc/passwd", false),
        (".git/config", false),
        (".Git/config", false),
        (".tasks/task_1.json", false),
    ] {
        assert_eq!(is_inside(&work, path), expected, "{path}");
    }
}
