//! Worktrees with the real git: creation, diff, merge and removal without loss of work.

mod branches;
mod exchange;
mod landed;
mod merging;
mod repository_kinds;
mod train;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{
    BranchOutcome, ContentStatus, FolderState, Merge, RemovalMode, WorktreeError, WorktreeStatus,
};
use crewdeck::store::NewWorktree;
use pretty_assertions::assert_eq;

use crate::common::repository::{NOW, Repository, commit, git, name, refusal};

#[test]
fn worktree_lifecycle_from_creation_to_removal() {
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
        (FolderState::Whole, ContentStatus::Nothing)
    );

    let dir = r.worktree_path("task-3");
    fs::write(dir.join("a.txt"), "two\n").unwrap();
    fs::write(dir.join("new.txt"), "new\n").unwrap();
    assert!(matches!(
        refusal(trees.merge(&tree.name, NOW)),
        WorktreeError::Uncommitted { .. }
    ));
    let diff = trees.diff(&tree.name).unwrap();
    assert!(diff.text.contains("-one\n+two\n"), "{}", diff.text);
    assert!(
        diff.text.contains("+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"),
        "{}",
        diff.text
    );
    assert!(diff.stat.contains("2 files changed"), "{}", diff.stat);
    assert_eq!(diff.untracked, ["new.txt"]);
    let unchanged = git(&dir, &["status", "--porcelain"]);
    assert_eq!(
        unchanged, " M a.txt\n?? new.txt",
        "reading does not change the index"
    );

    let leftovers = trees.commit_leftovers(&tree.name, &tree.message()).unwrap();
    assert!(leftovers.is_some());
    assert_eq!(
        git(&dir, &["log", "-1", "--format=%s %an"]),
        "task #3: Subject 3 Ada"
    );
    let second = trees.commit_leftovers(&tree.name, "again").unwrap();
    assert_eq!(second, None);
    let state = trees.state(&tree.name).unwrap();
    assert_eq!(
        (state.dirty, state.ahead, state.content),
        (0, 1, ContentStatus::Unmerged)
    );

    let before = r.git(&["rev-parse", "HEAD"]);
    let merged = trees.merge(&tree.name, NOW).unwrap();
    let commit = r.git(&["rev-parse", "HEAD"]);
    let into = "main".to_string();
    assert_eq!(
        merged,
        Merge::Merged {
            into: into.clone(),
            commit,
            before
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
    let fate = trees
        .remove(&tree.name, RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    assert_eq!((fate, dir.exists()), (BranchOutcome::Deleted, false));
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

/// Git takes a file as unchanged if its size and modification second are those in the index. If the second is that in
/// which the index was written, git compares the content instead, which must also work with a copy of the index.
#[test]
fn change_within_the_checkout_second_is_in_the_diff() {
    let r = Repository::new();
    r.git(&["config", "core.trustctime", "false"]);
    let tree = r.create(1, &[]);
    let dir = r.worktree_path(&tree);
    let second = SystemTime::now() - Duration::from_secs(60);
    let set_time = |file: &Path| {
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(second).unwrap();
    };
    set_time(&dir.join("a.txt"));
    git(&dir, &["update-index", "--refresh"]);
    set_time(&r.root().join(".git/worktrees").join(&tree).join("index"));
    fs::write(dir.join("a.txt"), "two\n").unwrap();
    set_time(&dir.join("a.txt"));
    fs::write(dir.join("new.txt"), "new\n").unwrap();

    let diff = r.worktrees().diff(&name(&tree)).unwrap();
    assert!(diff.text.contains("-one\n+two\n"), "{}", diff.text);
    assert!(diff.stat.contains("2 files changed"), "{}", diff.stat);
}

#[test]
fn diff_includes_new_files_but_no_nested_repositories() {
    let r = Repository::new();
    let created = r.try_create(3, &[]).unwrap();
    let dir = r.worktree_path("task-3");
    for (file, text) in [
        (":(top)a", "odd\n"),
        ("-x", "dash\n"),
        ("in/b", "deep\n"),
        ("no.o", ""),
    ] {
        fs::create_dir_all(dir.join("in")).unwrap();
        fs::write(dir.join(file), text).unwrap();
    }
    fs::write(dir.join(".gitignore"), "*.o\n").unwrap();
    fs::create_dir(dir.join("own")).unwrap();
    git(&dir.join("own"), &["init", "--quiet"]);
    fs::write(dir.join("own/c"), "not read\n").unwrap();
    let text = r.worktrees().diff(&created.worktree.name).unwrap().text;
    for line in ["+odd", "+dash", "+deep", "+*.o"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for word in ["not read", "no.o", "own"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn diff_of_a_merged_branch_shows_what_its_merge_changed() {
    let r = Repository::new();
    let trees = r.worktrees();
    let first = r.create(1, &[]);
    commit(&r.worktree_path(&first), "one.txt", "1\n");
    let second = r.create(2, &["wt/task-1"]);
    commit(&r.worktree_path(&second), "two.txt", "2\n");
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
    let diff_of = |tree: &str| trees.diff(&name(tree)).unwrap();
    let one = diff_of(&first);
    assert!(one.text.contains("+++ b/one.txt\n"), "{}", one.text);
    assert!(one.stat.contains("1 file changed"), "{}", one.stat);
    let two = diff_of(&second);
    assert!(two.text.contains("+++ b/two.txt\n"), "{}", two.text);
    assert!(two.stat.contains("1 file changed"), "{}", two.stat);
    // New changes in the worktree are shown again.
    std::fs::write(r.worktree_path(&first).join("one.txt"), "11\n").unwrap();
    assert!(diff_of(&first).text.contains("-1\n+11\n"));
}

#[test]
fn second_attempt_gets_a_new_name_while_the_first_exists() {
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
fn worktree_of_a_dependent_contains_its_blockers_work() {
    let r = Repository::new();
    for (task, file) in [(1, "left.txt"), (2, "right.txt"), (4, "gone.txt")] {
        let name = r.create(task, &[]);
        commit(&r.worktree_path(&name), file, "work\n");
    }
    // Squashed into the base: nothing is left to merge.
    r.git(&["merge", "--quiet", "--squash", "wt/task-4"]);
    r.git(&["commit", "--quiet", "-m", "squashed"]);
    let needs = ["wt/task-1", "wt/task-2", "wt/task-4", "wt/never"];
    let created = r.try_create(3, &needs).unwrap();
    assert_eq!(created.branch_merges.merged, ["wt/task-1", "wt/task-2"]);
    assert_eq!(created.branch_merges.conflicts, []);
    for file in ["left.txt", "right.txt", "gone.txt"] {
        assert!(r.worktree_path("task-3").join(file).exists(), "{file}");
    }
    commit(&r.worktree_path("task-1"), "later.txt", "more\n");
    let branches = [String::from("wt/task-1"), String::from("wt/task-2")];
    let brought = r
        .worktrees()
        .merge_branches(&name("task-3"), &branches, NOW)
        .unwrap();
    assert_eq!(brought.merged, ["wt/task-1"]);
}

#[test]
fn uncommitted_or_unmerged_work_needs_a_forced_removal() {
    let r = Repository::new();
    r.create(1, &[]);
    let (trees, task, dir) = (r.worktrees(), name("task-1"), r.worktree_path("task-1"));
    let losses = || match refusal(trees.remove(&task, RemovalMode::OnlyIfSafe, NOW)) {
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
    // Work on a branch that is not the worktree's own counts too.
    git(&dir, &["reset", "--quiet", "--hard", "HEAD~1"]);
    git(&dir, &["switch", "--quiet", "--detach", &hash]);
    assert_eq!(losses().commits, 1);
    let error = refusal(trees.merge(&task, NOW));
    assert!(
        matches!(error, WorktreeError::OtherBranch { .. }),
        "{error}"
    );
    // With a detached HEAD the commit would be lost with the folder, and dependents cannot use the worktree's branch.
    let error = refusal(trees.remove(&task, RemovalMode::Confirmed, NOW));
    assert!(
        matches!(error, WorktreeError::UnreachableCommit { .. }),
        "{error}"
    );
    let error = refusal(trees.commit_leftovers(&task, "task 1"));
    assert!(
        matches!(error, WorktreeError::CommitsOnOtherBranch { .. }),
        "{error}"
    );
    assert!(dir.join("new.txt").exists());
    git(&dir, &["switch", "--quiet", "wt/task-1"]);
    git(&dir, &["merge", "--quiet", &hash]);
    fs::write(dir.join("new.txt"), "lost\n").unwrap();

    let fate = trees.remove(&task, RemovalMode::Confirmed, NOW).unwrap();
    assert_eq!(fate, BranchOutcome::Kept("wt/task-1".into()));
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
    let error = refusal(trees.remove(&name("task-1-2"), RemovalMode::OnlyIfSafe, NOW));
    assert!(matches!(error, WorktreeError::Kept(_)), "{error}");
}

#[test]
fn worktree_starts_from_the_given_base() {
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
        fs::read_to_string(r.worktree_path("task-1").join("a.txt")).unwrap(),
        "one\n"
    );
    for bad in ["--force", "nowhere", "-b", "main^{tree}", ""] {
        let error = refusal(r.worktrees().create(&new(bad), NOW));
        assert_eq!(error, WorktreeError::NoBase(bad.into()));
    }
}
