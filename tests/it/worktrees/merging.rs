//! Merges: preconditions, conflicts, and what counts as merged.

use std::fs;

use crate::common::repository::{NOW, Repository, commit, git, name};
use crewdeck::domain::worktree::{
    BranchOutcome, ContentStatus, Merge, RemovalMode, WorktreeStatus,
};
use pretty_assertions::assert_eq;

fn conflict_files(conflict: &Merge) -> Vec<String> {
    match conflict {
        Merge::Conflict { files, .. } => files.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn conflicting_blockers_are_reported_and_left_out() {
    let r = Repository::new();
    for (task, text) in [(1, "left\n"), (2, "right\n")] {
        let name = r.create(task, &[]);
        commit(&r.worktree_path(&name), "a.txt", text);
    }
    let created = r.try_create(3, &["wt/task-1", "wt/task-2"]).unwrap();
    assert_eq!(created.branch_merges.merged, ["wt/task-1"]);
    let conflict = &created.branch_merges.conflicts[0];
    assert_eq!(
        (conflict.branch.as_str(), &conflict.files[..]),
        ("wt/task-2", &["a.txt".to_string()][..])
    );
    let state = r.worktrees().state(&name("task-3")).unwrap();
    assert_eq!((state.busy, state.dirty), (None, 0));
}

#[test]
fn conflict_leaves_the_repository_unchanged() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "a.txt", "theirs\n");
    commit(&r.worktree_path("task-1"), "文 件.txt", "theirs\n");
    r.commit("a.txt", "ours\n");
    r.commit("文 件.txt", "ours\n");
    fs::write(r.root().join("untracked.txt"), "mine\n").unwrap();
    let before = r.state_snapshot();
    let merge = r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert_eq!(conflict_files(&merge), ["a.txt", "文 件.txt"]);
    assert_eq!(r.state_snapshot(), before);
    assert_eq!(r.events().last().unwrap(), "worktree.merge.conflict");
    let tree = &r.worktrees().list().unwrap().worktrees[0];
    assert_eq!(tree.status, WorktreeStatus::Active);
}

#[test]
fn branch_that_changes_crewdeck_folders_is_not_merged() {
    let r = Repository::new();
    let members = r.root().join(".team/config.json");
    fs::create_dir(r.root().join(".team")).unwrap();
    fs::write(&members, "members").unwrap();
    let trees = r.worktrees();
    for (task, file) in [
        (1, ".team/config.json"),
        (2, ".crewdeck/config.toml"),
        (3, ".worktrees/task-1/a.txt"),
        (4, ".Tasks/task_9.json"),
    ] {
        let tree = name(&r.create(task, &[]));
        let dir = r.worktree_path(tree.as_str());
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "forged").unwrap();
        git(&dir, &["add", "--force", file]);
        git(&dir, &["commit", "--quiet", "-m", "work"]);
        let before = r.state_snapshot();
        let error = trees.merge(&tree, NOW).unwrap_err().to_string();
        assert!(
            error.contains(&format!("folders of crewdeck ({file})")),
            "{error}"
        );
        assert_eq!(r.state_snapshot(), before);
        assert_eq!(fs::read_to_string(&members).unwrap(), "members");
    }
}

#[test]
fn merge_requires_a_clean_main_worktree_on_the_base() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "b\n");
    let (trees, task) = (r.worktrees(), name("task-1"));
    let check = |expected: &str| {
        let before = r.state_snapshot();
        let error = trees.merge(&task, NOW).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(r.state_snapshot(), before);
    };
    fs::write(r.root().join("a.txt"), "changed\n").unwrap();
    check("uncommitted files (a.txt)");
    r.git(&["checkout", "--quiet", "a.txt"]);
    fs::write(r.root().join("b.txt"), "in the way\n").unwrap();
    check("untracked working tree files would be overwritten");
    fs::remove_file(r.root().join("b.txt")).unwrap();
    r.git(&["switch", "--quiet", "-c", "other"]);
    check("is on other, but the branch to merge started from main");
    r.git(&["switch", "--quiet", "--detach", "main"]);
    check("is on no branch");
    r.git(&["switch", "--quiet", "main"]);
    let hook = r.root().join(".git/hooks/pre-merge-commit");
    fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
    make_executable(&hook);
    check("not today");
    fs::remove_file(hook).unwrap();
    // Signing fails.
    r.git(&["config", "commit.gpgsign", "true"]);
    r.git(&["config", "gpg.program", "/bin/false"]);
    check("nothing was changed");
    r.git(&["config", "commit.gpgsign", "false"]);
    // The user's git settings must not change the kind of merge.
    r.git(&["config", "branch.main.mergeOptions", "--squash"]);
    assert!(matches!(
        trees.merge(&task, NOW).unwrap(),
        Merge::Merged { .. }
    ));
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn squashed_and_rebased_work_counts_as_merged() {
    let r = Repository::new();
    for task in 1..=3 {
        r.create(task, &[]);
        let dir = r.worktree_path(&format!("task-{task}"));
        commit(&dir, &format!("x{task}.txt"), "first\n");
        commit(&dir, &format!("x{task}.txt"), "first\nsecond\n");
    }
    r.git(&["merge", "--quiet", "--squash", "wt/task-1"]);
    r.git(&["commit", "--quiet", "-m", "squashed"]);
    r.git(&["cherry-pick", "wt/task-2~1", "wt/task-2"]);
    // Later changes of the base to the same lines do not undo the merge.
    r.commit("x1.txt", "other\n");
    r.commit("x2.txt", "other\n");
    let trees = r.worktrees();
    let content = |n: &str| trees.state(&name(n)).unwrap().content;
    assert_eq!(
        [content("task-1"), content("task-2"), content("task-3")],
        [
            ContentStatus::Merged,
            ContentStatus::Merged,
            ContentStatus::Unmerged
        ]
    );
    for task in ["task-1", "task-2"] {
        let fate = trees
            .remove(&name(task), RemovalMode::OnlyIfSafe, NOW)
            .unwrap();
        assert_eq!(fate, BranchOutcome::Deleted);
    }
    // Half of a branch is not merged, and work in a merge commit counts.
    r.git(&["cherry-pick", "wt/task-3~1"]);
    assert_eq!(content("task-3"), ContentStatus::Unmerged);
    r.create(4, &[]);
    let dir = r.worktree_path("task-4");
    commit(&dir, "x4.txt", "first\n");
    r.commit("a.txt", "two\n");
    r.git(&["cherry-pick", "wt/task-4"]);
    assert_eq!(content("task-4"), ContentStatus::Merged);
    git(&dir, &["merge", "--quiet", "--no-commit", "main"]);
    commit(&dir, "in-the-merge.txt", "work\n");
    assert_eq!(content("task-4"), ContentStatus::Unmerged);
}
