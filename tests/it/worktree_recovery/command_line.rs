//! The `crewdeck worktree` commands as real processes.

use crate::common::project::Project;
use crate::common::repository::{NOW, commit, git};
use crewdeck::domain::ids::TaskId;
use crewdeck::store::{NewWorktree, Worktrees};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Returns a project with one commit, and a worktree of task 1 with a further commit.
fn project() -> Project {
    let project = Project::new();
    let root = project.path();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["config", "user.name", "Ada"]);
    git(root, &["config", "user.email", "ada@example.org"]);
    commit(root, "a.txt", "one\n");
    project.json(&["task", "add", "Write it"]);
    let new = NewWorktree {
        task: TaskId(1),
        subject: "Write it".into(),
        owner: "alice".into(),
        ..NewWorktree::default()
    };
    Worktrees::open(root).create(&new, NOW).unwrap();
    commit(&root.join(".worktrees/task-1"), "a.txt", "two\n");
    project
}

#[test]
fn worktree_list_diff_merge_and_remove_work() {
    let project = project();
    let rows = project.json(&["worktree", "list"]);
    let row = &rows[0];
    assert_eq!(
        (
            &row["name"],
            &row["task_id"],
            &row["branch"],
            &row["owner"],
            &row["dirty"]
        ),
        (
            &json!("task-1"),
            &json!(1),
            &json!("wt/task-1"),
            &json!("alice"),
            &json!(0)
        )
    );
    assert_eq!(
        (&row["ahead"], &row["merged"], &row["status"]),
        (&json!(1), &json!("unmerged"), &json!("active"))
    );
    assert!(row["size"]["bytes"].as_u64().unwrap() > 0);
    let text = project.run(&["worktree", "list"]).out();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(
        lines[0].starts_with("WORKTREE  TASK  BRANCH     STATUS  OWNER   FILES  COMMITS"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("task-1    #1    wt/task-1  active  @alice  clean  1 not merged"),
        "{text}"
    );
    assert!(!text.contains("SIZE") && !text.contains("iB"), "{text}");
    project.write(".worktrees/.cache-task-1/big", &"x".repeat(100_000));
    let text = project.run(&["worktree", "list", "--sizes"]).out();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    let titles: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(titles[6..], ["COMMITS", "SIZE", "CACHE"]);
    let size = lines[3].strip_prefix("All worktrees: ").unwrap();
    assert!(
        lines[1].contains(&format!("1 not merged  {size}  ")),
        "{text}"
    );
    let row = &project.json(&["worktree", "list", "--sizes"])[0];
    let bytes = |field: &str| row[field]["bytes"].as_u64().unwrap();
    assert!(
        bytes("cache") >= 100_000 && bytes("size") > bytes("cache"),
        "{row}"
    );
    let text = project.run(&["worktree", "list"]).out();
    // From inside the worktree the project is the same.
    let mut inside = project.command(&["worktree", "list"]);
    inside.current_dir(project.file(".worktrees/task-1"));
    assert_eq!(
        String::from_utf8_lossy(&inside.output().unwrap().stdout),
        text
    );

    let diff = project.run(&["worktree", "diff", "#1"]).out();
    assert!(
        diff.contains("1 file changed") && diff.contains("-one\n+two"),
        "{diff}"
    );
    let error = project.expect_refusal(&["worktree", "remove", "1"]);
    assert!(
        error.contains("1 unmerged commit") && error.contains("--force"),
        "{error}"
    );
    let merged = project.run(&["worktree", "merge", "1"]);
    assert_eq!(
        merged.out(),
        "merged wt/task-1 into main\n",
        "{}",
        merged.err()
    );
    let text = project.run(&["worktree", "list"]).out();
    assert!(
        text.contains("  merged  ") && text.contains("  all merged\n"),
        "{text}"
    );
    project.run(&["task", "claim", "1", "--as", "alice"]);
    let error = project.expect_refusal(&["worktree", "remove", "1"]);
    assert!(error.contains("alice works on task #1"), "{error}");
    project.run(&["task", "done", "1", "--as", "alice"]);
    let removed = project.json(&["worktree", "remove", "task-1"]);
    assert_eq!(removed, json!({"removed": "task-1", "branch_stays": null}));
    assert_eq!(project.run(&["worktree", "list"]).out(), "No worktrees.\n");
}

#[test]
fn conflict_names_files_and_forced_removal_keeps_commits() {
    let project = project();
    commit(project.path(), "a.txt", "three\n");
    let error = project.expect_refusal(&["worktree", "merge", "task-1"]);
    assert!(
        error.contains("conflicts with main in a.txt; nothing was changed"),
        "{error}"
    );
    let output = project.run(&["worktree", "remove", "1", "--force"]).out();
    assert!(
        output.contains("its commits are still on branch wt/task-1"),
        "{output}"
    );
}

#[test]
fn worktree_commands_fail_clearly_outside_git() {
    let project = Project::new();
    let all = [
        &["list"][..],
        &["diff", "a"],
        &["merge", "1"],
        &["remove", "a"],
    ];
    for args in all {
        let error = project.expect_refusal(&[&["worktree"], args].concat());
        assert!(error.contains("is not a git repository"), "{error}");
    }
    let project = self::project();
    for bad in ["..", "a.lock", "nothing", "7"] {
        let error = project.expect_refusal(&["worktree", "merge", bad]);
        assert!(
            error.contains("not a valid worktree name") || error.contains("existing: task-1"),
            "{error}"
        );
    }
}
