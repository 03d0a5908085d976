//! Processes that were killed, or had not ended, at any step.

use std::fs;
use std::time::{Duration, Instant, SystemTime};

use super::process;
use crate::common::repository::{self, NOW, Repository, commit, git, git_output, name};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{Merge, Removal};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Makes the first worktree with git alone.
fn begin(r: &Repository) {
    let path = r.tree("task-1");
    let add = ["worktree", "add", "--quiet", "-b", "wt/task-1"];
    r.git(&[&add[..], &[&path.to_string_lossy()]].concat());
}

/// Removes the first worktree.
fn remove(r: &Repository) {
    let (trees, task) = (r.worktrees(), name("task-1"));
    trees.remove(&task, Removal::OnlyIfSafe, NOW).unwrap();
}

#[test]
fn an_attempt_that_was_cut_off_anywhere_is_no_hindrance() {
    let r = Repository::new();
    let (path, trees) = (r.tree("task-1"), r.worktrees());
    trees.list().unwrap();
    // Only the branch was made.
    r.git(&["branch", "wt/task-1"]);
    assert_eq!(r.create(1, &[]), "task-1");
    remove(&r);

    // Git was killed while it wrote the files: the worktree is locked, files are missing.
    begin(&r);
    let own = r.root().join(".git/worktrees/task-1");
    fs::write(own.join("locked"), "initializing\n").unwrap();
    fs::remove_file(path.join("a.txt")).unwrap();
    assert_eq!(r.create(1, &[]), "task-1");
    assert!(path.join("a.txt").exists());
    remove(&r);

    // Before there was a file in it.
    begin(&r);
    fs::write(own.join("locked"), "initializing\n").unwrap();
    fs::remove_dir_all(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(r.create(1, &[]), "task-1");
    remove(&r);

    // Before it had written where the repository is: git itself lists no worktrees any more.
    r.git(&["branch", "wt/task-7"]);
    let begun = r.root().join(".git/worktrees/task-7");
    fs::create_dir_all(&begun).unwrap();
    fs::create_dir(r.tree("task-7")).unwrap();
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
    assert!(r.tree("task-7").join("a.txt").exists());

    // It was made and not entered: it is found, with all that is in it.
    begin(&r);
    commit(&path, "b.txt", "work\n");
    let found = trees.find_for(TaskId(1)).unwrap().unwrap();
    assert_eq!(
        (found.name.clone(), found.branch.as_str()),
        (name("task-1"), "wt/task-1")
    );
    assert_eq!(r.create(1, &[]), "task-1-2");

    // The folder was removed, the registry not yet written.
    r.git(&["worktree", "remove", &r.tree("task-1-2").to_string_lossy()]);
    trees
        .remove(&name("task-1-2"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    assert_eq!(r.git(&["branch", "--list", "wt/task-1-2"]), "");

    // The merge was made, the registry not yet written.
    r.git(&["merge", "--quiet", "wt/task-1"]);
    remove(&r);
}

/// What another git is just writing is no reason not to look: it is looked at again when it is written.
#[test]
fn a_worktree_that_is_being_made_hinders_no_look() {
    let r = Repository::new();
    begin(&r);
    let own = r.root().join(".git/worktrees/task-1");
    let link = own.join("commondir");
    let text = fs::read(&link).unwrap();
    // Git writes the list of what is checked out after the link.
    let index = fs::read(own.join("index")).unwrap();
    for round in 0..24 {
        fs::remove_file(own.join("index")).unwrap();
        fs::write(&link, "").unwrap();
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| r.worktrees().list().map(|l| l.worktrees.len()));
            // As long as the look may need to meet the empty file.
            for _ in 0..=round % 8 {
                let met = git_output(r.root(), &["worktree", "list"]);
                assert!(!met.status.success());
            }
            fs::write(&link, &text).unwrap();
            fs::write(own.join("index"), &index).unwrap();
            assert_eq!(looks.join().unwrap().unwrap(), 1);
        });
    }
}

#[test]
fn what_a_killed_git_has_locked_is_free_when_the_owner_comes_back() {
    let r = Repository::new();
    r.create(1, &[]);
    let own = r.root().join(".git/worktrees/task-1");
    for left in ["index.lock", "HEAD.lock"] {
        fs::write(own.join(left), "").unwrap();
    }
    let of_the_person = r.root().join(".git/index.lock");
    fs::write(&of_the_person, "").unwrap();
    r.worktrees().unlock(&name("task-1")).unwrap();
    assert!(of_the_person.exists(), "that one is not ours");
    fs::remove_file(of_the_person).unwrap();
    commit(&r.tree("task-1"), "b.txt", "work\n");
    assert!(r.worktrees().unlock(&name("task-9")).is_err());
}

#[test]
fn a_process_that_is_killed_at_any_time_is_no_hindrance() {
    let r = Repository::new();
    for n in 0..60 {
        fs::write(r.root().join(format!("f{n}.txt")), "x\n").unwrap();
    }
    r.commit("a.txt", "two\n");
    for round in 0..4u32 {
        let mut child = process(&r, 0);
        std::thread::sleep(Duration::from_millis(40) * round);
        child.kill().unwrap();
        child.wait().unwrap();
        let name = r.create(1000 + u64::from(round), &[]);
        assert_eq!(name, format!("task-{}", 1000 + round));
        // Whatever the killed one left of this task, another one for it can be made, and is whole.
        let name = r.create(1, &[]);
        assert_eq!(git(&r.tree(&name), &["status", "--porcelain"]), "");
    }
    for tree in r.worktrees().list().unwrap().worktrees {
        assert_eq!(
            git(&r.tree(tree.name.as_str()), &["status", "--porcelain"]),
            "",
            "{}",
            tree.name
        );
    }
}

#[test]
fn a_git_that_outlives_its_killed_process_is_waited_for() {
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
    let mut child = process(&r, 0);
    let until = Instant::now() + Duration::from_secs(60);
    while !started.exists() {
        assert!(Instant::now() < until, "git never wrote a file");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
    assert!(lock.try_lock().is_err(), "git still works under the lock");
    fs::write(&go, "").unwrap();
    assert_eq!(r.create(1, &[]), "task-1-2");
    assert_eq!(git(&r.tree("task-1"), &["status", "--porcelain"]), "");
}

#[test]
fn a_merge_that_was_cut_off_half_done_is_undone_and_one_of_the_user_is_not() {
    for cut_off in [true, false] {
        let r = Repository::new();
        r.create(1, &[]);
        commit(&r.tree("task-1"), "a.txt", "theirs\n");
        r.commit("a.txt", "ours\n");
        if cut_off {
            let begun = json!({"name": "task-1", "head": r.git(&["rev-parse", "HEAD"])});
            let line = json!({"event": "worktree.merge.before", "worktree": begun});
            let path = r.root().join(".worktrees/events.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("{text}{line}\n")).unwrap();
        }
        let message = r.worktrees().list().unwrap().worktrees[0].message();
        let own = ["merge", "--no-ff", "-m", &message, "wt/task-1"];
        let args = if cut_off {
            &own[..]
        } else {
            &["merge", "wt/task-1"]
        };
        let output = repository::git_output(r.root(), args);
        assert!(!output.status.success());
        let merged = r.worktrees().merge(&name("task-1"), NOW);
        let is_half_done = r.root().join(".git/MERGE_HEAD").exists();
        if cut_off {
            assert!(matches!(merged, Ok(Merge::Conflict { .. })), "{merged:?}");
            assert!(!is_half_done);
        } else {
            assert!(merged.is_err(), "{merged:?}");
            assert!(is_half_done);
        }
    }
}
