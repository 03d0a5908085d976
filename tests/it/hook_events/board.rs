//! Hooks of tasks and worktrees.

use pretty_assertions::assert_eq;

use super::{answers, notices, project, received, results, run};
use crate::common::project::{Project, git};

fn tasks(project: &Project) -> Vec<(String, String)> {
    let list = project.json(&["task", "list"]);
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let tasks = list.as_array().unwrap().iter();
    tasks
        .map(|t| (text(&t["subject"]), text(&t["status"])))
        .collect()
}

const TASKS: &str = r"
  - when: begin
    calls:
      - { tool: task_create, input: { subject: Write it, description: all of it } }
  - calls: [{ tool: task_update, input: { task_id: 1, status: completed } }]
  - say: done
    times: 0
";

#[test]
fn blocked_task_is_not_created() {
    let project = project(&[("TaskCreated", "", answers(2, "name the issue"))], TASKS);
    let events = run(&project, &[]);
    let result = &results(&events, "task_create")[0];
    assert!(
        result.contains("TaskCreated hook feedback:\n[") && result.contains("name the issue"),
        "{result}"
    );
    assert_eq!(tasks(&project), []);
    let input = &received(&project, "TaskCreated")[0];
    assert_eq!(
        (&input["task_id"], &input["task_subject"]),
        (&"1".into(), &"Write it".into())
    );
    assert_eq!(input["permission_mode"], serde_json::Value::Null);
}

#[test]
fn hook_does_not_run_for_a_task_that_cannot_be_created() {
    let rules = TASKS.replace("all of it", "all of it, blocked_by: [7]");
    let project = project(&[("TaskCreated", "", answers(0, ""))], &rules);
    let events = run(&project, &[]);
    assert!(results(&events, "task_create")[0].contains("#7"));
    assert_eq!(received(&project, "TaskCreated"), [""; 0]);
}

#[test]
fn blocked_task_is_not_completed() {
    let project = project(
        &[("TaskCompleted", "", answers(2, "3 tests are red"))],
        TASKS,
    );
    let events = run(&project, &[]);
    let result = &results(&events, "task_update")[0];
    assert!(
        result.contains("TaskCompleted hook feedback:") && result.contains("3 tests are red"),
        "{result}"
    );
    assert_eq!(tasks(&project), [("Write it".into(), "pending".into())]);
    assert_eq!(
        received(&project, "TaskCompleted")[0]["task_description"],
        "all of it"
    );
}

const CLAIM: &str = r#"
  - agent: lead
    when: begin
    calls:
      - { tool: task_create, input: { subject: Write it } }
      - { tool: spawn_teammate, input: { name: bob, role: tester, prompt: go } }
  - agent: bob
    when: Write it
    calls:
      - { tool: bash, input: { command: "echo two > b.txt && git add . && git commit -qm two" } }
      - { tool: task_update, input: { task_id: 1, status: completed } }
  - say: done
    times: 0
"#;

#[test]
fn failing_hook_prevents_a_worktree() {
    let project = project(
        &[("WorktreeCreate", "", answers(1, "no space left"))],
        CLAIM,
    );
    let events = run(&project, &[]);
    assert!(received(&project, "WorktreeCreate")[0]["name"].is_string());
    assert_eq!(tasks(&project), [("Write it".into(), "pending".into())]);
    let told = notices(&events, "The worktree of task #1 cannot be created");
    assert_eq!(told.len(), 1, "{:?}", notices(&events, ""));
    assert!(told[0].contains("no space left"), "{told:?}");
}

#[test]
fn worktree_of_a_hook_is_taken_over() {
    let make = r#"#!/bin/sh
cat >>"$CLAUDE_PROJECT_DIR/events.jsonl"
cd "$CLAUDE_PROJECT_DIR" || exit 1
git worktree add -q -b from-hook "$CLAUDE_PROJECT_DIR-made" >&2 || exit 1
echo prepared > "$CLAUDE_PROJECT_DIR-made/.env"
echo making it
echo "$CLAUDE_PROJECT_DIR-made"
"#;
    let hooks = [
        (
            "WorktreeCreate",
            "",
            "sh \"$CLAUDE_PROJECT_DIR\"/.claude/make.sh".to_string(),
        ),
        ("WorktreeRemove", "", answers(0, "")),
    ];
    let project = super::unapproved(&hooks, CLAIM);
    project.write(".claude/make.sh", make);
    assert_eq!(project.run(&["trust", "--yes"]).code(), 0);
    let events = run(&project, &["--tool", "auto"]);
    assert_eq!(
        tasks(&project),
        [("Write it".into(), "completed".into())],
        "{:?}",
        notices(&events, "")
    );
    let branch = git(
        &project,
        &["-C", ".worktrees/task-1", "branch", "--show-current"],
    );
    assert_eq!(branch.trim(), "wt/task-1");
    assert!(project.file(".worktrees/task-1/.env").exists());
    let log = git(&project, &["log", "--format=%s", "wt/task-1"]);
    assert_eq!(log.lines().next(), Some("task #1: Write it"));
}

#[test]
fn user_is_asked_about_a_hook_that_always_prevents_a_worktree() {
    let claims = "      - { tool: claim_task, input: { task_id: 1 } }\n".repeat(3);
    let rules = format!(
        "
  - agent: lead
    when: begin
    calls:
      - {{ tool: task_create, input: {{ subject: Write it }} }}
      - {{ tool: spawn_teammate, input: {{ name: bob, role: tester, prompt: go }} }}
  - agent: bob
    when: ^go$
    calls:
{claims}
  - say: done
    times: 0
"
    );
    let project = project(
        &[("WorktreeCreate", "", answers(2, "no space left"))],
        &rules,
    );
    let events = run(&project, &[]);
    let asked: Vec<&str> = events
        .iter()
        .filter(|e| e["request"]["kind"] == "question" && e["request"]["status"] == "pending")
        .filter_map(|e| e["request"]["body"].as_str())
        .collect();
    assert!(
        received(&project, "WorktreeCreate").len() >= 3 && !asked.is_empty(),
        "{asked:?}: {:?}",
        results(&events, "claim_task")
    );
    assert!(
        asked[0].contains("has blocked the same action 3 times in a row")
            && asked[0].contains("no space left"),
        "{asked:?}"
    );
}
