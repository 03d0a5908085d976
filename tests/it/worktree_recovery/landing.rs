//! A landing of several branches that is killed at any step: it is undone or recorded, and the user's changes are kept.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crewdeck::domain::worktree::{Merge, WorktreeStatus};
use crewdeck::store::{Debris, Landing};
use pretty_assertions::assert_eq;

use super::paused_repository::{PausedRepository, Step, assert_clean, land, status};
use crate::common::repository::{NOW, Repository, commit, git_output, name};

/// Returns a repository with the branches of tasks 1 and 2.
fn repository() -> PausedRepository {
    let paused = PausedRepository::new();
    paused.r.create(2, &[]);
    commit(&paused.r.worktree_path("task-2"), "e.txt", "of task 2\n");
    paused
}

fn has_landed(r: &Repository) -> bool {
    let is_merged = |branch: &str| {
        let args = ["merge-base", "--is-ancestor", branch, "main"];
        git_output(r.root(), &args).status.success()
    };
    let both = ["wt/task-1", "wt/task-2"].map(is_merged);
    assert_eq!(both[0], both[1], "only one branch has landed");
    both[0]
}

#[test]
fn landing_killed_while_writing_files_is_undone() {
    for file in ["a.txt", "b.txt", "new/c.txt"] {
        let paused = repository();
        let r = &paused.r;
        paused.pause_at_file(file);
        paused.kill_while_paused(Step::Land);
        // Changes of the user before the repair are kept.
        fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
        fs::write(r.root().join("notes.txt"), "of the user\n").unwrap();
        let found = r.worktrees().debris().unwrap();
        assert!(found.contains(&Debris::Landing), "{file}: {found:?}");
        let repairs = r.worktrees().repair(NOW).unwrap();
        let line = "undid the interrupted landing of the merge train on main";
        assert!(repairs.iter().any(|l| l.contains(line)), "{repairs:?}");
        assert_eq!(status(r.root()), " M d.txt\n?? notes.txt", "{file}");
        assert!(!has_landed(r));
        r.git(&["checkout", "--quiet", "d.txt"]);
        assert_clean(r);
        let landed = land(&r.worktrees()).unwrap();
        assert!(matches!(landed, Landing::Landed { .. }), "{landed:?}");
        assert!(has_landed(r));
    }
}

#[test]
fn landing_killed_at_its_end_is_undone_or_recorded() {
    // With one of the first two hooks, git merges itself.
    let hooks = [
        "pre-merge-commit",
        "commit-msg",
        "reference-transaction",
        "post-merge",
    ];
    for hook in hooks {
        let paused = repository();
        let r = &paused.r;
        paused.pause_at_hook(hook);
        paused.kill_while_paused(Step::Land);
        assert_eq!(has_landed(r), hook == "post-merge", "{hook}");
        let found = r.worktrees().debris().unwrap();
        assert!(found.contains(&Debris::Landing), "{hook}: {found:?}");
        r.worktrees().repair(NOW).unwrap();
        assert_eq!(status(r.root()), "", "{hook}");
        assert_clean(r);
        let trees = r.worktrees().list().unwrap().worktrees;
        let is_recorded = trees.iter().all(|t| t.status == WorktreeStatus::Merged);
        assert_eq!(is_recorded, hook == "post-merge", "{hook}");
        assert_eq!(r.worktrees().repair(NOW).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn landing_without_a_checkout_survives_a_kill() {
    let paused = repository();
    let r = &paused.r;
    r.git(&["switch", "--quiet", "-c", "other"]);
    paused.pause_at_hook("reference-transaction");
    paused.kill_while_paused(Step::Land);
    r.worktrees().repair(NOW).unwrap();
    assert!(!has_landed(r));
    assert_eq!(status(r.root()), "");
    assert_clean(r);
    land(&r.worktrees()).unwrap();
    assert!(has_landed(r));
    assert_eq!(status(r.root()), "");
}

#[test]
fn next_merge_or_landing_repairs_a_killed_one() {
    let killed = || {
        let paused = repository();
        paused.pause_at_file("b.txt");
        paused.kill_while_paused(Step::Land);
        paused
    };
    let paused = killed();
    let merged = paused.r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    assert_eq!(status(paused.r.root()), "");
    let paused = killed();
    land(&paused.r.worktrees()).unwrap();
    assert_eq!(status(paused.r.root()), "");
    assert_clean(&paused.r);
}

#[test]
fn changes_of_the_user_in_files_of_a_killed_landing_are_kept() {
    let paused = repository();
    let r = &paused.r;
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Land);
    fs::write(r.root().join("a.txt"), "of the user\n").unwrap();
    let repairs = r.worktrees().repair(NOW).unwrap();
    let is_named = repairs.iter().any(|line| line.contains("kept: a.txt"));
    assert!(is_named, "{repairs:?}");
    assert_eq!(status(r.root()), " M a.txt");
    // A commit of the user since then: nothing is undone.
    let paused = repository();
    let r = &paused.r;
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Land);
    fs::remove_file(r.root().join(".git/index.lock")).unwrap();
    r.git(&["reset", "--quiet", "--hard"]);
    commit(r.root(), "f.txt", "of the user\n");
    fs::write(r.root().join("a.txt"), "of the user\n").unwrap();
    let before = status(r.root());
    r.worktrees().repair(NOW).unwrap();
    assert_eq!(status(r.root()), before);
    assert_eq!(r.worktrees().debris().unwrap(), []);
}

/// Replaces the last merge commit by one with the additional file `more.txt`, as a hook can do it.
fn replace_merge(r: &Repository) {
    fs::write(r.root().join("more.txt"), "more\n").unwrap();
    r.git(&["add", "more.txt"]);
    let tree = r.git(&["write-tree"]);
    let parents = ["-p", "HEAD^1", "-p", "HEAD^2", "-m", "changed"];
    let commit = r.git(&[&["commit-tree", &tree][..], &parents].concat());
    r.git(&["update-ref", "HEAD", &commit]);
}

#[test]
fn killed_landing_that_a_hook_has_changed_is_taken_back() {
    let paused = repository();
    let r = &paused.r;
    let before = r.git(&["rev-parse", "main"]);
    let hook = r.root().join(".git/hooks/pre-merge-commit");
    fs::write(&hook, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    paused.pause_at_hook("post-merge");
    paused.kill_while_paused(Step::Land);
    replace_merge(r);
    assert!(has_landed(r), "git has made the merge commit");
    let repairs = r.worktrees().repair(NOW).unwrap();
    let line = "took back the interrupted landing of the merge train on main";
    assert!(repairs.iter().any(|l| l.contains(line)), "{repairs:?}");
    assert_eq!(r.git(&["rev-parse", "main"]), before);
    assert_eq!(status(r.root()), "");
    assert_clean(r);
    let trees = r.worktrees().list().unwrap().worktrees;
    assert!(trees.iter().all(|t| t.status == WorktreeStatus::Active));
}

#[test]
fn commit_on_a_killed_landing_that_a_hook_has_changed_is_kept() {
    let paused = repository();
    let r = &paused.r;
    let hook = r.root().join(".git/hooks/pre-merge-commit");
    fs::write(&hook, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    paused.pause_at_hook("post-merge");
    paused.kill_while_paused(Step::Land);
    replace_merge(r);
    let merge = r.git(&["rev-parse", "main"]);
    commit(r.root(), "f.txt", "of the user\n");
    let head = r.git(&["rev-parse", "main"]);
    let repairs = r.worktrees().repair(NOW).unwrap().join("\n");
    let undo = format!("git revert -m 1 {merge}");
    assert!(repairs.contains(&undo), "{repairs}");
    assert_eq!(r.git(&["rev-parse", "main"]), head);
    assert_clean(r);
}

#[test]
fn landing_or_merge_whose_git_was_killed_is_undone_at_once() {
    for step in [Step::Land, Step::Merge] {
        let paused = repository();
        let r = &paused.r;
        paused.pause_at_hook("pre-merge-commit");
        paused.kill_git_while_paused(step);
        // No repair was called.
        assert_eq!(status(r.root()), "", "{step:?}");
        assert_clean(r);
        assert!(!has_landed(r));
        fs::remove_dir_all(r.root().join(".git/hooks")).unwrap();
        land(&r.worktrees()).unwrap();
        assert!(has_landed(r));
    }
}

#[test]
fn checkouts_of_a_killed_process_are_deleted() {
    let paused = repository();
    let r = &paused.r;
    // No process has this number.
    let dir = r
        .root()
        .join(".crewdeck/checks/trees/check-0a1b-2147483646");
    fs::create_dir_all(dir.parent().unwrap()).unwrap();
    let path = dir.to_str().unwrap();
    r.git(&["worktree", "add", "--quiet", "--detach", path]);
    assert_eq!(r.worktrees().debris().unwrap(), [Debris::Checkouts]);
    let repairs = r.worktrees().repair(NOW).unwrap();
    assert_eq!(repairs, ["deleted checkouts of interrupted checks: 1"]);
    assert!(!dir.exists() && !r.git(&["worktree", "list"]).contains("check-"));
    // Killed while the checkout was deleted: only git's entry is left.
    r.git(&["worktree", "add", "--quiet", "--detach", path]);
    fs::remove_dir_all(&dir).unwrap();
    r.worktrees().plan_trains(&[], NOW).unwrap();
    assert!(!r.git(&["worktree", "list"]).contains("check-"));
    assert_eq!(r.worktrees().debris().unwrap(), []);
}
