//! `--resume` with unfinished worktrees: created but not bound, resolved but not merged, created but still empty.

use crewdeck::domain::graph::NewTask;
use crewdeck::store::{NewWorktree, Worktrees};
use pretty_assertions::assert_eq;

use super::{KilledCrew, NOW, member};

/// In this script, bob writes a file in the workspace of his task and completes the task.
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
fn claimed_task_gets_its_worktree_on_resume() {
    let crew = KilledCrew::in_repository();
    crew.enter(member("bob"));
    let id = crew.create("Make it");
    crew.claim(id, "bob");
    crew.resume(WRITE, &[]);
    assert_eq!(crew.task(id).worktree, "task-1");
    assert_eq!(crew.git(&["show", "wt/task-1:made.txt"]), "made");
    assert!(
        !crew.project.file("made.txt").exists(),
        "the file is in the worktree only"
    );
}

#[test]
fn worktree_not_yet_bound_to_its_task_is_reused() {
    let crew = KilledCrew::in_repository();
    crew.enter(member("bob"));
    let id = crew.create("Make it");
    crew.claim(id, "bob");
    let new = NewWorktree {
        task: id,
        subject: "Make it".into(),
        owner: "bob".into(),
        ..NewWorktree::default()
    };
    let trees = Worktrees::open(crew.project.path());
    trees.create(&new, NOW).unwrap();
    crew.resume(WRITE, &[]);
    assert_eq!(crew.task(id).worktree, "task-1");
    assert_eq!(trees.list().unwrap().worktrees.len(), 1);
}

#[test]
fn resolved_conflict_is_merged_after_a_restart() {
    let crew = KilledCrew::in_repository();
    let id = crew.create("Make it");
    crew.claim(id, "bob");
    let new = NewWorktree {
        task: id,
        ..NewWorktree::default()
    };
    let tree = Worktrees::open(crew.project.path())
        .create(&new, NOW)
        .unwrap();
    crew.board().bind(id, &tree.worktree.name, NOW).unwrap();
    crew.complete(id, "bob");
    let solve = NewTask {
        subject: "Merge main into wt/task-1".into(),
        worktree: "task-1".into(),
        ..NewTask::default()
    };
    let solve = crew.board().create(solve, NOW).unwrap().id;
    crew.claim(solve, "bob");
    crew.project.write(".worktrees/task-1/made.txt", "made\n");
    for args in [
        &["add", "made.txt"][..],
        &["commit", "--quiet", "-m", "Make it"],
    ] {
        let dir = crew.project.file(".worktrees/task-1");
        let done = std::process::Command::new("git")
            .args(args)
            .current_dir(dir)
            .status();
        assert!(done.unwrap().success());
    }
    // Killed between the completion of the task and the merge that follows.
    crew.complete(solve, "bob");
    crew.resume("rules: [{ times: 0, say: Noted. }]", &[]);
    assert_eq!(crew.git(&["show", "main:made.txt"]), "made");
}

#[test]
fn new_worktree_receives_its_blockers_work_on_resume() {
    let crew = KilledCrew::in_repository();
    let first = crew.create("Make it");
    let second = NewTask {
        subject: "Use it".into(),
        blocked_by: vec![first],
        ..NewTask::default()
    };
    let second = crew.board().create(second, NOW).unwrap().id;
    let trees = Worktrees::open(crew.project.path());
    for (id, name) in [(first, "alice"), (second, "bob")] {
        crew.claim(id, name);
        // Killed before the blocker's branch was merged into the second worktree.
        let new = NewWorktree {
            task: id,
            ..NewWorktree::default()
        };
        let tree = trees.create(&new, NOW).unwrap().worktree.name;
        crew.board().bind(id, &tree, NOW).unwrap();
        if name == "alice" {
            crew.project.write(".worktrees/task-1/made.txt", "made\n");
            trees.commit_leftovers(&tree, "Make it").unwrap();
            crew.complete(id, name);
        }
    }
    crew.enter(member("bob"));
    crew.resume("rules: [{ times: 0, say: Noted. }]", &[]);
    let conversation_text = crew.conversation_text("bob");
    assert!(
        conversation_text.contains("It contains the commits of wt/task-1"),
        "{conversation_text}"
    );
    assert_eq!(crew.git(&["show", "wt/task-2:made.txt"]), "made");
}
