//! What a crew that was ended has left in worktrees: made and not named, solved and not merged, begun and not filled.

use crewdeck::domain::graph::NewTask;
use crewdeck::store::{NewWorktree, Worktrees};
use pretty_assertions::assert_eq;

use super::{Left, NOW, member};

/// Bob writes a file where he works, and completes his task.
const WRITE: &str = r#"
rules:
  - agent: bob
    when: "Task #([0-9]+)"
    calls:
      - { tool: write_file, input: { path: made.txt, content: "made\n" } }
      - { tool: task_update, input: { task_id: "{{1}}", status: completed } }
  - times: 0
    say: Noted.
"#;

#[test]
fn a_task_that_was_claimed_gets_its_worktree_when_its_owner_comes_back() {
    let left = Left::in_git();
    left.enter(member("bob"));
    let id = left.create("Make it");
    left.claim(id, "bob");
    left.go_on(WRITE, &[]);
    assert_eq!(left.task(id).worktree, "task-1");
    assert_eq!(left.git(&["show", "wt/task-1:made.txt"]), "made");
    assert!(!left.project.file("made.txt").exists(), "not in the root");
}

#[test]
fn a_worktree_that_was_made_is_found_although_its_task_does_not_name_it() {
    let left = Left::in_git();
    left.enter(member("bob"));
    let id = left.create("Make it");
    left.claim(id, "bob");
    let new = NewWorktree {
        task: id,
        subject: "Make it".into(),
        owner: "bob".into(),
        ..NewWorktree::default()
    };
    let trees = Worktrees::open(left.project.path());
    trees.create(&new, NOW).unwrap();
    left.go_on(WRITE, &[]);
    assert_eq!(left.task(id).worktree, "task-1");
    assert_eq!(trees.list().unwrap().worktrees.len(), 1);
}

#[test]
fn a_conflict_that_was_solved_is_merged_after_a_restart() {
    let left = Left::in_git();
    let id = left.create("Make it");
    left.claim(id, "bob");
    let new = NewWorktree {
        task: id,
        ..NewWorktree::default()
    };
    let tree = Worktrees::open(left.project.path())
        .create(&new, NOW)
        .unwrap();
    left.board().bind(id, &tree.worktree.name, NOW).unwrap();
    left.complete(id, "bob");
    let solve = NewTask {
        subject: "Merge main into wt/task-1".into(),
        worktree: "task-1".into(),
        ..NewTask::default()
    };
    let solve = left.board().create(solve, NOW).unwrap().id;
    left.claim(solve, "bob");
    left.project.write(".worktrees/task-1/made.txt", "made\n");
    for args in [
        &["add", "made.txt"][..],
        &["commit", "--quiet", "-m", "Make it"],
    ] {
        let dir = left.project.file(".worktrees/task-1");
        let done = std::process::Command::new("git")
            .args(args)
            .current_dir(dir)
            .status();
        assert!(done.unwrap().success());
    }
    // Killed between the end of the task and the merge that follows from it.
    left.complete(solve, "bob");
    left.go_on("rules: [{ times: 0, say: Noted. }]", &[]);
    assert_eq!(left.git(&["show", "main:made.txt"]), "made");
}

#[test]
fn a_worktree_that_nobody_has_heard_of_gets_what_its_task_waited_for() {
    let left = Left::in_git();
    let first = left.create("Make it");
    let second = NewTask {
        subject: "Use it".into(),
        blocked_by: vec![first],
        ..NewTask::default()
    };
    let second = left.board().create(second, NOW).unwrap().id;
    let trees = Worktrees::open(left.project.path());
    for (id, name) in [(first, "alice"), (second, "bob")] {
        left.claim(id, name);
        // Killed before what it needs was merged into the second one.
        let new = NewWorktree {
            task: id,
            ..NewWorktree::default()
        };
        let tree = trees.create(&new, NOW).unwrap().worktree.name;
        left.board().bind(id, &tree, NOW).unwrap();
        if name == "alice" {
            left.project.write(".worktrees/task-1/made.txt", "made\n");
            trees.commit_leftovers(&tree, "Make it").unwrap();
            left.complete(id, name);
        }
    }
    left.enter(member("bob"));
    left.go_on("rules: [{ times: 0, say: Noted. }]", &[]);
    let heard = left.heard("bob");
    assert!(heard.contains("It includes the work of wt/task-1"), "{heard}");
    assert_eq!(left.git(&["show", "wt/task-2:made.txt"]), "made");
}
