//! Worktrees with the real git: what is made, merged and removed, and what is never lost.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/repository.rs"]
#[allow(dead_code)] // other tests use more of it
mod repository;

use std::fs;

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{
    BranchFate, Busy, Content, Leftovers, Merge, OnDisk, Removal, WorktreeError, WorktreeStatus,
};
use crewdeck::store::{GitError, NewWorktree, StoreError, Worktrees};
use pretty_assertions::assert_eq;
use repository::{NOW, Repository, commit, git, git_output, name};

/// Why the worktrees refuse.
fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> WorktreeError {
    match result.unwrap_err() {
        StoreError::Worktree(why) => why,
        other => panic!("{other}"),
    }
}

fn files(conflict: &Merge) -> Vec<String> {
    match conflict {
        Merge::Conflict { files, .. } => files.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_task_from_its_worktree_to_the_merge() {
    let r = Repository::new();
    let trees = r.worktrees();
    let created = r.try_create(3, &[]).unwrap();
    let tree = &created.worktree;
    assert_eq!(
        (tree.name.as_str(), tree.branch.as_str(), tree.base.as_str()),
        ("task-3", "wt/task-3", "main")
    );
    assert_eq!(tree.base_commit, r.git(&["rev-parse", "main"]));
    assert_eq!(trees.find_for(TaskId(3)).unwrap().as_ref(), Some(tree));
    let state = trees.state(&tree.name).unwrap();
    assert_eq!(
        (state.on_disk, state.content),
        (OnDisk::Whole, Content::Nothing)
    );

    let dir = r.tree("task-3");
    fs::write(dir.join("a.txt"), "two\n").unwrap();
    fs::write(dir.join("new.txt"), "new\n").unwrap();
    assert!(matches!(
        refusal(trees.merge(&tree.name, NOW)),
        WorktreeError::Uncommitted { .. }
    ));
    let diff = trees.diff(&tree.name).unwrap();
    assert!(diff.text.contains("-one\n+two\n"), "{}", diff.text);
    assert_eq!(diff.untracked, ["new.txt"]);

    let done = trees.commit_leftovers(&tree.name, &tree.message()).unwrap();
    assert!(matches!(done, Leftovers::Committed(_)));
    assert_eq!(
        git(&dir, &["log", "-1", "--format=%s %an"]),
        "task #3: Subject 3 Ada"
    );
    let again = trees.commit_leftovers(&tree.name, "again").unwrap();
    assert_eq!(again, Leftovers::None);
    let state = trees.state(&tree.name).unwrap();
    assert_eq!(
        (state.dirty, state.ahead, state.content),
        (0, 1, Content::Unmerged)
    );

    let merged = trees.merge(&tree.name, NOW).unwrap();
    let commit = r.git(&["rev-parse", "HEAD"]);
    let into = "main".to_string();
    assert_eq!(
        merged,
        Merge::Merged {
            into: into.clone(),
            commit
        }
    );
    assert_eq!(r.git(&["log", "-1", "--format=%s"]), "task #3: Subject 3");
    assert_eq!(
        fs::read_to_string(r.root().join("new.txt")).unwrap(),
        "new\n"
    );
    assert_eq!(
        trees.merge(&tree.name, NOW).unwrap(),
        Merge::AlreadyMerged { into }
    );
    assert_eq!(
        trees.list().unwrap().worktrees[0].status,
        WorktreeStatus::Merged
    );

    trees.task_completed(&tree.name, NOW).unwrap();
    let fate = trees.remove(&tree.name, Removal::OnlyIfSafe, NOW).unwrap();
    assert_eq!((fate, dir.exists()), (BranchFate::Deleted, false));
    assert_eq!(r.git(&["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(r.git(&["status", "--porcelain"]), "");
    assert_eq!(trees.list().unwrap().worktrees, []);
    assert_eq!(
        r.events(),
        [
            "worktree.create.before",
            "worktree.create.after",
            "worktree.merge.before",
            "worktree.merge.after",
            "task.completed",
            "worktree.remove.before",
            "worktree.remove.after",
        ]
    );
    assert_eq!(r.create(3, &[]), "task-3", "the name is free again");
}

#[test]
fn the_diff_of_a_merged_branch_is_what_its_merge_changed() {
    let r = Repository::new();
    let trees = r.worktrees();
    let first = r.create(1, &[]);
    commit(&r.tree(&first), "one.txt", "1\n");
    let second = r.create(2, &["wt/task-1"]);
    commit(&r.tree(&second), "two.txt", "2\n");
    r.commit("meanwhile.txt", "0\n");
    let before = trees.diff(&name(&second)).unwrap();
    for tree in [&first, &second] {
        assert!(matches!(
            trees.merge(&name(tree), NOW).unwrap(),
            Merge::Merged { .. }
        ));
        r.commit("later.txt", tree);
    }
    assert!(before.text.contains("one.txt") && before.text.contains("two.txt"));
    let changed = |tree: &str| trees.diff(&name(tree)).unwrap();
    let one = changed(&first);
    assert!(one.text.contains("+++ b/one.txt\n"), "{}", one.text);
    assert!(one.stat.contains("1 file changed"), "{}", one.stat);
    let two = changed(&second);
    assert!(two.text.contains("+++ b/two.txt\n"), "{}", two.text);
    assert!(two.stat.contains("1 file changed"), "{}", two.stat);
    // What is new there is told again.
    std::fs::write(r.tree(&first).join("one.txt"), "11\n").unwrap();
    assert!(changed(&first).text.contains("-1\n+11\n"));
}

#[test]
fn a_second_attempt_gets_a_name_of_its_own_while_the_first_stands() {
    let r = Repository::new();
    assert_eq!(r.create(1, &[]), "task-1");
    assert_eq!(r.create(1, &[]), "task-1-2");
    let newest = r.worktrees().find_for(TaskId(1)).unwrap().unwrap();
    assert_eq!(newest.task_id, Some(TaskId(1)));
    let by_number = r.worktrees().find("#1").unwrap();
    assert_eq!(by_number.name, newest.name);
    assert!(matches!(
        refusal(r.worktrees().find("9")),
        WorktreeError::Unknown { .. }
    ));
    for bad in ["..", "-f", "a.lock", &"x".repeat(300)] {
        assert!(
            matches!(refusal(r.worktrees().find(bad)), WorktreeError::Name(_)),
            "{bad}"
        );
    }
}

#[test]
fn a_dependent_sees_what_it_depends_on() {
    let r = Repository::new();
    for (task, file) in [(1, "left.txt"), (2, "right.txt"), (4, "gone.txt")] {
        let name = r.create(task, &[]);
        commit(&r.tree(&name), file, "work\n");
    }
    // Squashed into the base: there is nothing left to bring.
    r.git(&["merge", "--quiet", "--squash", "wt/task-4"]);
    r.git(&["commit", "--quiet", "-m", "squashed"]);
    let needs = ["wt/task-1", "wt/task-2", "wt/task-4", "wt/never"];
    let created = r.try_create(3, &needs).unwrap();
    assert_eq!(created.brought.merged, ["wt/task-1", "wt/task-2"]);
    assert_eq!(created.brought.conflicts, []);
    for file in ["left.txt", "right.txt", "gone.txt"] {
        assert!(r.tree("task-3").join(file).exists(), "{file}");
    }
    commit(&r.tree("task-1"), "later.txt", "more\n");
    let branches = [String::from("wt/task-1"), String::from("wt/task-2")];
    let brought = r.worktrees().bring(&name("task-3"), &branches).unwrap();
    assert_eq!(brought.merged, ["wt/task-1"]);
}

#[test]
fn blockers_that_conflict_are_named_and_left_out() {
    let r = Repository::new();
    for (task, text) in [(1, "left\n"), (2, "right\n")] {
        let name = r.create(task, &[]);
        commit(&r.tree(&name), "a.txt", text);
    }
    let created = r.try_create(3, &["wt/task-1", "wt/task-2"]).unwrap();
    assert_eq!(created.brought.merged, ["wt/task-1"]);
    let conflict = &created.brought.conflicts[0];
    assert_eq!(
        (conflict.branch.as_str(), &conflict.files[..]),
        ("wt/task-2", &["a.txt".to_string()][..])
    );
    let state = r.worktrees().state(&name("task-3")).unwrap();
    assert_eq!((state.busy, state.dirty), (None, 0));
}

#[test]
fn a_conflict_leaves_everything_as_it_was() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.tree("task-1"), "a.txt", "theirs\n");
    commit(&r.tree("task-1"), "文 件.txt", "theirs\n");
    r.commit("a.txt", "ours\n");
    r.commit("文 件.txt", "ours\n");
    fs::write(r.root().join("untracked.txt"), "mine\n").unwrap();
    let before = r.picture();
    let merge = r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert_eq!(files(&merge), ["a.txt", "文 件.txt"]);
    assert_eq!(r.picture(), before);
    assert_eq!(r.events().last().unwrap(), "worktree.merge.conflict");
    let tree = &r.worktrees().list().unwrap().worktrees[0];
    assert_eq!(tree.status, WorktreeStatus::Active);
}

#[test]
fn a_branch_that_changes_the_folders_of_crewdeck_is_not_merged() {
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
        let dir = r.tree(tree.as_str());
        let path = dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "forged").unwrap();
        git(&dir, &["add", "--force", file]);
        git(&dir, &["commit", "--quiet", "-m", "work"]);
        let before = r.picture();
        let why = trees.merge(&tree, NOW).unwrap_err().to_string();
        assert!(
            why.contains(&format!("folders of crewdeck ({file})")),
            "{why}"
        );
        assert_eq!(r.picture(), before);
        assert_eq!(fs::read_to_string(&members).unwrap(), "members");
    }
}

#[test]
fn the_main_work_tree_must_be_clean_and_on_the_base() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.tree("task-1"), "b.txt", "b\n");
    let (trees, task) = (r.worktrees(), name("task-1"));
    let check = |expected: &str| {
        let before = r.picture();
        let why = trees.merge(&task, NOW).unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
        assert_eq!(r.picture(), before);
    };
    fs::write(r.root().join("a.txt"), "changed\n").unwrap();
    check("uncommitted files (a.txt)");
    r.git(&["checkout", "--quiet", "a.txt"]);
    fs::write(r.root().join("b.txt"), "in the way\n").unwrap();
    check("untracked working tree files would be overwritten");
    fs::remove_file(r.root().join("b.txt")).unwrap();
    r.git(&["switch", "--quiet", "-c", "other"]);
    check("is on other and the worktree started from main");
    r.git(&["switch", "--quiet", "--detach", "main"]);
    check("is on no branch");
    r.git(&["switch", "--quiet", "main"]);
    let hook = r.root().join(".git/hooks/pre-merge-commit");
    fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
    make_executable(&hook);
    check("not today");
    fs::remove_file(hook).unwrap();
    // A key that can not be used.
    r.git(&["config", "commit.gpgsign", "true"]);
    r.git(&["config", "gpg.program", "/bin/false"]);
    check("nothing was changed");
    r.git(&["config", "commit.gpgsign", "false"]);
    // A line of the person's settings must not turn the merge into something else.
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
fn dirty_and_unmerged_work_is_never_removed_unasked() {
    let r = Repository::new();
    r.create(1, &[]);
    let (trees, task, dir) = (r.worktrees(), name("task-1"), r.tree("task-1"));
    let losses = || match refusal(trees.remove(&task, Removal::OnlyIfSafe, NOW)) {
        WorktreeError::Unsafe { losses, .. } => losses,
        other => panic!("{other}"),
    };
    fs::write(dir.join("new.txt"), "new\n").unwrap();
    assert_eq!(
        (losses().files, losses().named),
        (1, vec!["new.txt".to_string()])
    );
    commit(&dir, "new.txt", "new\n");
    let hash = git(&dir, &["rev-parse", "--short", "HEAD"]);
    assert_eq!(
        (losses().commits, losses().subjects),
        (1, vec![format!("{hash} Write new.txt")])
    );
    // Work on a branch that is not its own is work as well.
    git(&dir, &["reset", "--quiet", "--hard", "HEAD~1"]);
    git(&dir, &["switch", "--quiet", "--detach", &hash]);
    assert_eq!(losses().commits, 1);
    let why = refusal(trees.merge(&task, NOW));
    assert!(matches!(why, WorktreeError::Elsewhere { .. }), "{why}");
    git(&dir, &["switch", "--quiet", "wt/task-1"]);
    git(&dir, &["merge", "--quiet", &hash]);
    fs::write(dir.join("new.txt"), "lost\n").unwrap();

    let fate = trees
        .remove(&task, Removal::WhatIsLostIsKnown, NOW)
        .unwrap();
    assert_eq!(fate, BranchFate::Stays("wt/task-1".into()));
    assert_eq!(
        (dir.exists(), r.git(&["show", "wt/task-1:new.txt"])),
        (false, "new".into())
    );
    assert_eq!(
        r.create(1, &[]),
        "task-1-2",
        "the branch with the work is left alone"
    );

    trees.keep(&name("task-1-2"), NOW).unwrap();
    let why = refusal(trees.remove(&name("task-1-2"), Removal::OnlyIfSafe, NOW));
    assert!(matches!(why, WorktreeError::Kept(_)), "{why}");
}

#[test]
fn squashed_and_rebased_work_counts_as_merged() {
    let r = Repository::new();
    for task in 1..=3 {
        r.create(task, &[]);
        let dir = r.tree(&format!("task-{task}"));
        commit(&dir, &format!("x{task}.txt"), "first\n");
        commit(&dir, &format!("x{task}.txt"), "first\nsecond\n");
    }
    r.git(&["merge", "--quiet", "--squash", "wt/task-1"]);
    r.git(&["commit", "--quiet", "-m", "squashed"]);
    r.git(&["cherry-pick", "wt/task-2~1", "wt/task-2"]);
    // What the base did later to the same lines takes nothing back.
    r.commit("x1.txt", "other\n");
    r.commit("x2.txt", "other\n");
    let trees = r.worktrees();
    let content = |n: &str| trees.state(&name(n)).unwrap().content;
    assert_eq!(
        [content("task-1"), content("task-2"), content("task-3")],
        [Content::Merged, Content::Merged, Content::Unmerged]
    );
    for task in ["task-1", "task-2"] {
        let fate = trees.remove(&name(task), Removal::OnlyIfSafe, NOW).unwrap();
        assert_eq!(fate, BranchFate::Deleted);
    }
    // Half of a branch is not all of it, and the work in a merge commit is work.
    r.git(&["cherry-pick", "wt/task-3~1"]);
    assert_eq!(content("task-3"), Content::Unmerged);
    r.create(4, &[]);
    let dir = r.tree("task-4");
    commit(&dir, "x4.txt", "first\n");
    r.commit("a.txt", "two\n");
    r.git(&["cherry-pick", "wt/task-4"]);
    assert_eq!(content("task-4"), Content::Merged);
    git(&dir, &["merge", "--quiet", "--no-commit", "main"]);
    commit(&dir, "in-the-merge.txt", "work\n");
    assert_eq!(content("task-4"), Content::Unmerged);
}

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
    assert!(
        why.contains("a repository of its own inside (lib)"),
        "{why}"
    );
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
    assert!(
        why.contains("a repository of its own inside (inside)"),
        "{why}"
    );

    // A merge looks where .gitmodules wants it to.
    let says = "[submodule \"inside\"]\n\tpath = inside\n\turl = ./inside\n\tignore = none\n";
    r.create(2, &[]);
    commit(&r.tree("task-2"), ".gitmodules", says);
    look();
    let brought = trees.bring(&tree, &["wt/task-2".into()]).unwrap();
    assert_eq!(brought.conflicts[0].files, ["inside"]);
    let moved = r.root().join("inside");
    fs::remove_dir(&moved).unwrap();
    fs::rename(&inside, &moved).unwrap();
    let why = refusal(trees.merge(&name("task-2"), NOW)).to_string();
    assert!(why.contains("absorbgitdirs"), "{why}");
    assert!(!mark.exists());
}

#[test]
fn a_worktree_starts_from_the_branch_that_is_named() {
    let r = Repository::new();
    r.git(&["branch", "stable"]);
    r.commit("a.txt", "two\n");
    let new = |base: &str| NewWorktree {
        task: TaskId(1),
        base: Some(base.into()),
        ..NewWorktree::default()
    };
    let tree = r.worktrees().create(&new("stable"), NOW).unwrap().worktree;
    assert_eq!(tree.base, "stable");
    assert_eq!(
        fs::read_to_string(r.tree("task-1").join("a.txt")).unwrap(),
        "one\n"
    );
    for bad in ["--force", "nowhere", "-b", "main^{tree}", ""] {
        let why = refusal(r.worktrees().create(&new(bad), NOW));
        assert_eq!(why, WorktreeError::NoBase(bad.into()));
    }
}
