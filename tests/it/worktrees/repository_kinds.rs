//! Unusual repositories around a worktree, and repositories inside it.

use std::fs;

use super::refusal;
use crate::common::repository::{NOW, Repository, commit, git, git_output, name};
use crewdeck::domain::worktree::{GitOperation, Merge, RemovalMode, WorktreeError};
use crewdeck::store::{GitError, StoreError, Worktrees};
use pretty_assertions::assert_eq;

#[test]
fn paths_with_spaces_and_non_ascii_characters_work() {
    let r = Repository::named("my 项目 -x");
    r.create(1, &[]);
    fs::write(r.worktree_path("task-1").join("文 件.txt"), "新\n").unwrap();
    let (trees, task) = (r.worktrees(), name("task-1"));
    assert_eq!(trees.state(&task).unwrap().files, ["文 件.txt"]);
    trees.commit_leftovers(&task, "task #1: 写").unwrap();
    assert!(trees.diff(&task).unwrap().stat.contains("文 件.txt"));
    assert!(matches!(
        trees.merge(&task, NOW).unwrap(),
        Merge::Merged { .. }
    ));
    trees.remove(&task, RemovalMode::OnlyIfSafe, NOW).unwrap();
    assert_eq!(r.git(&["status", "--porcelain"]), "");
}

#[test]
fn repositories_without_worktree_support_are_reported() {
    let git_error = |root: &std::path::Path| match Worktrees::open(root).check() {
        Err(StoreError::Git(error)) => error,
        other => panic!("{other:?}"),
    };
    let none = tempfile::tempdir().unwrap();
    let root = none.path().canonicalize().unwrap();
    assert_eq!(git_error(&root), GitError::NoRepository(root.clone()));
    git(&root, &["init", "--quiet", "--bare"]);
    assert_eq!(git_error(&root), GitError::Bare(root));
    let empty = Repository::empty("r");
    assert_eq!(git_error(empty.root()), GitError::NoCommits);
    assert!(empty.try_create(1, &[]).is_err());
    assert_eq!(empty.worktrees().list().unwrap().worktrees, []);
}

#[test]
fn detached_head_works_and_unfinished_operations_block() {
    let r = Repository::new();
    r.git(&["switch", "--quiet", "--detach"]);
    let tree = r.try_create(1, &[]).unwrap().worktree;
    assert_eq!(
        (tree.base.as_str(), tree.base_commit),
        ("", r.git(&["rev-parse", "HEAD"]))
    );
    commit(&r.worktree_path("task-1"), "b.txt", "b\n");
    r.git(&["switch", "--quiet", "main"]);

    // A rebase that is stopped by a conflict.
    r.commit("a.txt", "ours\n");
    r.git(&["switch", "--quiet", "-c", "side", "HEAD~1"]);
    r.commit("a.txt", "side\n");
    assert!(!git_output(r.root(), &["rebase", "main"]).status.success());
    let is_rebase = |error: WorktreeError| {
        matches!(
            error,
            WorktreeError::Busy {
                what: GitOperation::Rebase,
                ..
            }
        )
    };
    assert!(is_rebase(refusal(
        r.worktrees().merge(&name("task-1"), NOW)
    )));
    assert!(is_rebase(refusal(r.try_create(2, &[]))));
    r.git(&["rebase", "--abort"]);
    r.git(&["switch", "--quiet", "main"]);
    assert!(!git_output(r.root(), &["merge", "side"]).status.success());
    let error = refusal(r.worktrees().merge(&name("task-1"), NOW));
    assert_eq!(
        error.to_string(),
        "a merge is in progress in the main worktree: finish it, or run git merge --abort there"
    );
    r.git(&["merge", "--abort"]);
    assert!(matches!(
        r.worktrees().merge(&name("task-1"), NOW).unwrap(),
        Merge::Merged { .. }
    ));

    // Files with conflict markers in the worktree are not committed.
    let dir = r.worktree_path("task-1");
    commit(&dir, "a.txt", "task\n");
    assert!(!git_output(&dir, &["merge", "side"]).status.success());
    let error = refusal(r.worktrees().commit_leftovers(&name("task-1"), "m"));
    assert!(matches!(
        error,
        WorktreeError::Busy {
            what: GitOperation::Merge,
            ..
        }
    ));
}

#[test]
fn checked_out_submodule_blocks_removal() {
    let r = Repository::new();
    let lib = Repository::named("lib");
    let from = lib.root().to_string_lossy().into_owned();
    let local = "protocol.file.allow=always";
    r.git(&["-c", local, "submodule", "--quiet", "add", &from, "lib"]);
    r.git(&["commit", "--quiet", "-m", "Add lib"]);
    r.create(1, &[]);
    r.create(2, &[]);
    let trees = r.worktrees();
    trees
        .remove(&name("task-1"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    git(
        &r.worktree_path("task-2"),
        &["-c", local, "submodule", "--quiet", "update", "--init"],
    );
    let error = refusal(trees.remove(&name("task-2"), RemovalMode::OnlyIfSafe, NOW)).to_string();
    assert!(error.contains("a nested repository (lib)"), "{error}");
    trees
        .remove(&name("task-2"), RemovalMode::Confirmed, NOW)
        .unwrap();
    assert!(!r.worktree_path("task-2").exists());
}

#[test]
fn nested_repository_starts_no_program() {
    let r = Repository::new();
    r.create(1, &[]);
    let (trees, tree) = (r.worktrees(), name("task-1"));
    let inside = r.worktree_path("task-1").join("inside");
    fs::create_dir(&inside).unwrap();
    git(&inside, &["init", "--quiet"]);
    fs::write(inside.join(".gitattributes"), "* filter=x\n").unwrap();
    fs::write(inside.join("a.txt"), "one\n").unwrap();
    git(&inside, &["add", "--all"]);
    let who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"];
    git(
        &inside,
        &[&who[..], &["commit", "--quiet", "-m", "one"]].concat(),
    );
    let mark = r.root().parent().unwrap().join("started");
    let program = format!("touch '{}'; cat", mark.display());
    git(&inside, &["config", "filter.x.clean", &program]);
    git(&r.worktree_path("task-1"), &["add", "inside"]);
    fs::write(inside.join("a.txt"), "two\n").unwrap();
    // The program starts when git checks the nested repository for uncommitted changes.
    git(&inside, &["status"]);
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();

    let read_after_change = || {
        // Same size and another time: git has to read the file to compare it.
        fs::write(inside.join("a.txt"), "new\n").unwrap();
        git(&inside, &["-c", "filter.x.clean=cat", "add", "--all"]);
        fs::write(inside.join("a.txt"), "six\n").unwrap();
        trees.state(&tree).unwrap();
        trees.diff(&tree).unwrap();
        assert!(!mark.exists());
    };
    read_after_change();
    let done = trees.commit_leftovers(&tree, "work").unwrap();
    assert!(done.is_some());
    read_after_change();
    let merged = trees.merge(&tree, NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    read_after_change();
    let error = refusal(trees.remove(&tree, RemovalMode::OnlyIfSafe, NOW)).to_string();
    assert!(error.contains("a nested repository (inside)"), "{error}");

    // A merge reads .gitmodules.
    let gitmodules = "[submodule \"inside\"]\n\tpath = inside\n\turl = ./inside\n\tignore = none\n";
    r.create(2, &[]);
    commit(&r.worktree_path("task-2"), ".gitmodules", gitmodules);
    read_after_change();
    let brought = trees
        .merge_branches(&tree, &["wt/task-2".into()], NOW)
        .unwrap();
    assert_eq!(brought.conflicts[0].files, ["inside"]);
    let moved = r.root().join("inside");
    fs::remove_dir(&moved).unwrap();
    fs::rename(&inside, &moved).unwrap();
    let error = refusal(trees.merge(&name("task-2"), NOW)).to_string();
    assert!(error.contains("absorbgitdirs"), "{error}");
    assert!(!mark.exists());
}
