//! Processes that were killed at any step, or that still run.

use std::fs;
use std::time::{Duration, SystemTime};

use super::paused_repository::{PausedRepository, Step, assert_clean, status};
use super::start_process;
use crate::common::repository::{self, NOW, Repository, commit, git, git_output, name};
use crate::common::wait::wait_until;
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{Merge, RemovalMode};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Adds the worktree `task-1` with git only, so that it is not in the registry.
fn add_with_git(r: &Repository) {
    let path = r.worktree_path("task-1");
    let add = ["worktree", "add", "--quiet", "-b", "wt/task-1"];
    r.git(&[&add[..], &[&path.to_string_lossy()]].concat());
}

/// Removes the worktree `task-1`, which must be safe to remove.
fn remove_worktree(r: &Repository) {
    let (trees, task) = (r.worktrees(), name("task-1"));
    trees.remove(&task, RemovalMode::OnlyIfSafe, NOW).unwrap();
}

#[test]
fn creation_works_after_any_interrupted_attempt() {
    let r = Repository::new();
    let (path, trees) = (r.worktree_path("task-1"), r.worktrees());
    trees.list().unwrap();
    // Only the branch was created.
    r.git(&["branch", "wt/task-1"]);
    assert_eq!(r.create(1, &[]), "task-1");
    remove_worktree(&r);

    // Git was killed while it wrote the files: the worktree is locked, files are missing.
    add_with_git(&r);
    let own = r.root().join(".git/worktrees/task-1");
    fs::write(own.join("locked"), "initializing\n").unwrap();
    fs::remove_file(path.join("a.txt")).unwrap();
    assert_eq!(r.create(1, &[]), "task-1");
    assert!(path.join("a.txt").exists());
    remove_worktree(&r);

    // Git was killed before it wrote a file.
    add_with_git(&r);
    fs::write(own.join("locked"), "initializing\n").unwrap();
    fs::remove_dir_all(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(r.create(1, &[]), "task-1");
    remove_worktree(&r);

    // Git was killed before it wrote the path of the repository: git itself can list no worktrees now.
    r.git(&["branch", "wt/task-7"]);
    let begun = r.root().join(".git/worktrees/task-7");
    fs::create_dir_all(&begun).unwrap();
    fs::create_dir(r.worktree_path("task-7")).unwrap();
    for (file, text) in [
        ("locked", "initializing\n"),
        ("gitdir", "/nowhere/.git\n"),
        ("commondir", ""),
    ] {
        fs::write(begun.join(file), text).unwrap();
    }
    let link = fs::File::options()
        .write(true)
        .open(begun.join("commondir"));
    let a_minute = Duration::from_secs(60);
    let then = SystemTime::now() - a_minute;
    link.unwrap().set_modified(then).unwrap();
    trees.list().unwrap();
    assert_eq!(r.create(7, &[]), "task-7");
    assert!(r.worktree_path("task-7").join("a.txt").exists());

    // The worktree was created but not registered: it is found with all its content.
    add_with_git(&r);
    commit(&path, "b.txt", "work\n");
    let found = trees.find_for(TaskId(1)).unwrap().unwrap();
    assert_eq!(
        (found.name.clone(), found.branch.as_str()),
        (name("task-1"), "wt/task-1")
    );
    assert_eq!(r.create(1, &[]), "task-1-2");

    // The folder was removed, but the registry was not written.
    r.git(&[
        "worktree",
        "remove",
        &r.worktree_path("task-1-2").to_string_lossy(),
    ]);
    trees
        .remove(&name("task-1-2"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    assert_eq!(r.git(&["branch", "--list", "wt/task-1-2"]), "");

    // The merge was made, but the registry was not written.
    r.git(&["merge", "--quiet", "wt/task-1"]);
    remove_worktree(&r);
}

#[test]
fn list_retries_while_git_is_adding_a_worktree() {
    let r = Repository::new();
    add_with_git(&r);
    let own = r.root().join(".git/worktrees/task-1");
    let link = own.join("commondir");
    let text = fs::read(&link).unwrap();
    // Git writes the index after the link.
    let index = fs::read(own.join("index")).unwrap();
    for round in 0..24 {
        fs::remove_file(own.join("index")).unwrap();
        fs::write(&link, "").unwrap();
        std::thread::scope(|scope| {
            let listing = scope.spawn(|| r.worktrees().list().map(|l| l.worktrees.len()));
            // Long enough for the listing to read the empty file.
            for _ in 0..=round % 8 {
                let output = git_output(r.root(), &["worktree", "list"]);
                assert!(!output.status.success());
            }
            fs::write(&link, &text).unwrap();
            fs::write(own.join("index"), &index).unwrap();
            assert_eq!(listing.join().unwrap().unwrap(), 1);
        });
    }
}

#[test]
fn unlock_removes_locks_of_a_killed_git_in_a_worktree() {
    let r = Repository::new();
    r.create(1, &[]);
    let own = r.root().join(".git/worktrees/task-1");
    for file in ["index.lock", "HEAD.lock"] {
        fs::write(own.join(file), "").unwrap();
    }
    let user_lock = r.root().join(".git/index.lock");
    fs::write(&user_lock, "").unwrap();
    r.worktrees().unlock(&name("task-1")).unwrap();
    assert!(
        user_lock.exists(),
        "the lock of the main worktree is not ours"
    );
    fs::remove_file(user_lock).unwrap();
    commit(&r.worktree_path("task-1"), "b.txt", "work\n");
    assert!(r.worktrees().unlock(&name("task-9")).is_err());
}

#[test]
fn creation_works_after_a_process_is_killed_at_any_time() {
    let r = Repository::new();
    for n in 0..60 {
        fs::write(r.root().join(format!("f{n}.txt")), "x\n").unwrap();
    }
    r.commit("a.txt", "two\n");
    for round in 0..4u32 {
        let mut child = start_process(&r, 0);
        std::thread::sleep(Duration::from_millis(40) * round);
        child.kill().unwrap();
        child.wait().unwrap();
        let name = r.create(1000 + u64::from(round), &[]);
        assert_eq!(name, format!("task-{}", 1000 + round));
        // Another worktree for the same task can be created and is complete.
        let name = r.create(1, &[]);
        assert_eq!(git(&r.worktree_path(&name), &["status", "--porcelain"]), "");
    }
    for tree in r.worktrees().list().unwrap().worktrees {
        assert_eq!(
            git(
                &r.worktree_path(tree.name.as_str()),
                &["status", "--porcelain"]
            ),
            "",
            "{}",
            tree.name
        );
    }
}

#[test]
fn git_that_outlives_its_parent_is_waited_for() {
    let r = Repository::new();
    let (started, go) = (r.root().join(".git/started"), r.root().join(".git/go"));
    let smudge = format!(
        "touch '{}'; until [ -e '{}' ]; do sleep 0.01; done; cat",
        started.display(),
        go.display()
    );
    r.git(&["config", "filter.slow.smudge", &smudge]);
    r.git(&["config", "filter.slow.clean", "cat"]);
    r.commit(".gitattributes", "*.txt filter=slow\n");
    let mut child = start_process(&r, 0);
    wait_until("the first file that git writes", || started.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
    assert!(
        lock.try_lock().is_err(),
        "git still runs and holds the lock"
    );
    fs::write(&go, "").unwrap();
    assert_eq!(r.create(1, &[]), "task-1-2");
    assert_eq!(
        git(&r.worktree_path("task-1"), &["status", "--porcelain"]),
        ""
    );
}

#[test]
fn interrupted_merge_is_undone_but_not_one_of_the_user() {
    for is_ours in [true, false] {
        let r = Repository::new();
        r.create(1, &[]);
        commit(&r.worktree_path("task-1"), "a.txt", "theirs\n");
        r.commit("a.txt", "ours\n");
        if is_ours {
            let begun = json!({"name": "task-1", "head": r.git(&["rev-parse", "HEAD"])});
            let line = json!({"event": "worktree.merge.before", "worktree": begun});
            let path = r.root().join(".worktrees/events.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("{text}{line}\n")).unwrap();
        }
        let message = r.worktrees().list().unwrap().worktrees[0].message();
        let own = ["merge", "--no-ff", "-m", &message, "wt/task-1"];
        let args = if is_ours {
            &own[..]
        } else {
            &["merge", "wt/task-1"]
        };
        let output = repository::git_output(r.root(), args);
        assert!(!output.status.success());
        let merged = r.worktrees().merge(&name("task-1"), NOW);
        let is_half_done = r.root().join(".git/MERGE_HEAD").exists();
        if is_ours {
            assert!(matches!(merged, Ok(Merge::Conflict { .. })), "{merged:?}");
            assert!(!is_half_done);
        } else {
            assert!(merged.is_err(), "{merged:?}");
            assert!(is_half_done);
        }
    }
}

/// Git writes `MERGE_HEAD`, `MERGE_MODE` and `MERGE_MSG` in this order. A kill can cut each of them short.
#[test]
fn merge_killed_while_git_wrote_its_state_files_is_undone() {
    let paused = PausedRepository::new();
    let r = &paused.r;
    let git_dir = r.root().join(".git");
    let cut = |file: &str, len: u64| {
        let file = fs::File::options().write(true).open(git_dir.join(file));
        file.unwrap().set_len(len).unwrap();
    };
    let after_head: &[&str] = &["MERGE_MSG", "MERGE_MODE"];
    // The file that is cut, its length then, and the files that are not written yet.
    let cases = [
        ("MERGE_MSG", 4, &[][..]),
        ("MERGE_MSG", 0, &[]),
        ("MERGE_MODE", 3, &["MERGE_MSG"]),
        ("MERGE_MODE", 0, &["MERGE_MSG"]),
        ("MERGE_HEAD", 41, after_head),
        ("MERGE_HEAD", 17, after_head),
        ("MERGE_HEAD", 0, after_head),
    ];
    for (file, len, missing) in cases {
        let name = format!("{file} has {len} bytes");
        paused.pause_at_hook("prepare-commit-msg");
        paused.kill_while_paused(Step::Merge);
        cut(file, len);
        for file in missing {
            fs::remove_file(git_dir.join(file)).unwrap();
        }
        assert_eq!(r.worktrees().debris().unwrap().len(), 1, "{name}");
        let report = r.worktrees().repair(NOW).unwrap();
        assert_eq!(
            report,
            ["undid the interrupted merge of wt/task-1"],
            "{name}"
        );
        assert_eq!(status(r.root()), "", "{name}");
        for file in ["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG"] {
            assert!(!paused.exists(file), "{name}: {file}");
        }
    }
    assert_clean(r);
}
