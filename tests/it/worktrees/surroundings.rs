//! Repositories of every kind around a worktree, and inside it.

use std::fs;

use super::refusal;
use crate::common::repository::{NOW, Repository, commit, git, git_output, name};
use crewdeck::domain::worktree::{Busy, Leftovers, Merge, Removal, WorktreeError};
use crewdeck::store::{GitError, StoreError, Worktrees};
use pretty_assertions::assert_eq;

#[test]
fn spaces_and_other_scripts_in_the_path() {
    let r = Repository::named("my 项目 -x");
    r.create(1, &[]);
    fs::write(r.tree("task-1").join("文 件.txt"), "新\n").unwrap();
    let (trees, task) = (r.worktrees(), name("task-1"));
    assert_eq!(trees.state(&task).unwrap().files, ["文 件.txt"]);
    trees.commit_leftovers(&task, "task #1: 写").unwrap();
    assert!(trees.diff(&task).unwrap().stat.contains("文 件.txt"));
    assert!(matches!(
        trees.merge(&task, NOW).unwrap(),
        Merge::Merged { .. }
    ));
    trees.remove(&task, Removal::OnlyIfSafe, NOW).unwrap();
    assert_eq!(r.git(&["status", "--porcelain"]), "");
}

#[test]
fn repositories_that_can_not_have_worktrees_are_named() {
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
fn a_detached_main_work_tree_and_one_in_the_middle_of_something() {
    let r = Repository::new();
    r.git(&["switch", "--quiet", "--detach"]);
    let tree = r.try_create(1, &[]).unwrap().worktree;
    assert_eq!(
        (tree.base.as_str(), tree.base_commit),
        ("", r.git(&["rev-parse", "HEAD"]))
    );
    commit(&r.tree("task-1"), "b.txt", "b\n");
    r.git(&["switch", "--quiet", "main"]);

    // A rebase that stands at a conflict.
    r.commit("a.txt", "ours\n");
    r.git(&["switch", "--quiet", "-c", "side", "HEAD~1"]);
    r.commit("a.txt", "side\n");
    assert!(!git_output(r.root(), &["rebase", "main"]).status.success());
    let is_rebase = |why: WorktreeError| {
        matches!(
            why,
            WorktreeError::Busy {
                what: Busy::Rebase,
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
    let why = refusal(r.worktrees().merge(&name("task-1"), NOW));
    assert_eq!(
        why.to_string(),
        "a merge is under way in the main work tree: finish it, or run git merge --abort there"
    );
    r.git(&["merge", "--abort"]);
    assert!(matches!(
        r.worktrees().merge(&name("task-1"), NOW).unwrap(),
        Merge::Merged { .. }
    ));

    // In the worktree: nothing with conflict marks in it is committed.
    let dir = r.tree("task-1");
    commit(&dir, "a.txt", "task\n");
    assert!(!git_output(&dir, &["merge", "side"]).status.success());
    let why = refusal(r.worktrees().commit_leftovers(&name("task-1"), "m"));
    assert!(matches!(
        why,
        WorktreeError::Busy {
            what: Busy::Merge,
            ..
        }
    ));
}

#[test]
fn a_submodule_is_left_alone_until_somebody_works_in_it() {
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
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    git(
        &r.tree("task-2"),
        &["-c", local, "submodule", "--quiet", "update", "--init"],
    );
    let why = refusal(trees.remove(&name("task-2"), Removal::OnlyIfSafe, NOW)).to_string();
    assert!(why.contains("a nested repository (lib)"), "{why}");
    trees
        .remove(&name("task-2"), Removal::WhatIsLostIsKnown, NOW)
        .unwrap();
    assert!(!r.tree("task-2").exists());
}

#[test]
fn no_program_of_a_repository_inside_is_started() {
    let r = Repository::new();
    r.create(1, &[]);
    let (trees, tree) = (r.worktrees(), name("task-1"));
    let inside = r.tree("task-1").join("inside");
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
    git(&r.tree("task-1"), &["add", "inside"]);
    fs::write(inside.join("a.txt"), "two\n").unwrap();
    // It would be started by whoever asks whether something is uncommitted in there.
    git(&inside, &["status"]);
    assert!(mark.exists());
    fs::remove_file(&mark).unwrap();

    let look = || {
        // As large as before and at another time: git has to read it to know.
        fs::write(inside.join("a.txt"), "new\n").unwrap();
        git(&inside, &["-c", "filter.x.clean=cat", "add", "--all"]);
        fs::write(inside.join("a.txt"), "six\n").unwrap();
        trees.state(&tree).unwrap();
        trees.diff(&tree).unwrap();
        assert!(!mark.exists());
    };
    look();
    let done = trees.commit_leftovers(&tree, "work").unwrap();
    assert!(matches!(done, Leftovers::Committed(_)));
    look();
    let merged = trees.merge(&tree, NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    look();
    let why = refusal(trees.remove(&tree, Removal::OnlyIfSafe, NOW)).to_string();
    assert!(why.contains("a nested repository (inside)"), "{why}");

    // A merge looks where .gitmodules wants it to.
    let says = "[submodule \"inside\"]\n\tpath = inside\n\turl = ./inside\n\tignore = none\n";
    r.create(2, &[]);
    commit(&r.tree("task-2"), ".gitmodules", says);
    look();
    let brought = trees.bring(&tree, &["wt/task-2".into()], NOW).unwrap();
    assert_eq!(brought.conflicts[0].files, ["inside"]);
    let moved = r.root().join("inside");
    fs::remove_dir(&moved).unwrap();
    fs::rename(&inside, &moved).unwrap();
    let why = refusal(trees.merge(&name("task-2"), NOW)).to_string();
    assert!(why.contains("absorbgitdirs"), "{why}");
    assert!(!mark.exists());
}
