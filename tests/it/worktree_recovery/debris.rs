//! Leftovers of a git process that is killed together with its parent, and their repair.
//!
//! A filter or a hook of the repository pauses git at a step. There it is killed with its parent, and the leftovers are
//! checked with git before and after the repair.

use std::fs::{self};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crewdeck::domain::worktree::Merge;
use crewdeck::store::Debris;
use pretty_assertions::assert_eq;

use super::paused_repository::{
    PausedRepository, Step, assert_clean, make_locks_old, set_lock_times, status,
};
use crate::common::repository::{NOW, Repository, git, git_output, name};
use crate::common::wait::wait_until;

#[test]
fn repair_does_not_change_a_clean_repository() {
    let paused = PausedRepository::new();
    let before = paused.r.state_snapshot();
    assert_eq!(paused.r.worktrees().debris().unwrap(), []);
    assert_eq!(
        paused.r.worktrees().repair(NOW).unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(paused.r.state_snapshot(), before);
    assert_clean(&paused.r);
}

#[test]
fn stale_locks_are_reported_and_removed() {
    let paused = PausedRepository::new();
    let own = paused.r.root().join(".git");
    let all = [
        "index.lock",
        "packed-refs.lock",
        "refs/heads/wt/task-1.lock",
        "worktrees/task-1/HEAD.lock",
        "worktrees/task-1/index.lock",
    ];
    for file in all {
        fs::write(own.join(file), "").unwrap();
    }
    // A young lock may belong to a running process. A time in the future keeps these young in a slow test.
    set_lock_times(&own, SystemTime::now() + Duration::from_secs(3600));
    assert_eq!(paused.r.worktrees().debris().unwrap(), []);
    make_locks_old(&own);
    let expected: Vec<Debris> = all
        .iter()
        .map(|file| Debris::Lock(Path::new(".git").join(file)))
        .collect();
    // A program that another test starts has all files of this process open for a moment, so this retries.
    let until = Instant::now() + Duration::from_secs(60);
    let mut found = paused.r.worktrees().debris().unwrap();
    while found != expected && Instant::now() < until {
        found = paused.r.worktrees().debris().unwrap();
    }
    assert_eq!(found, expected);
    assert_eq!(paused.r.worktrees().repair(NOW).unwrap().len(), all.len());
    assert_clean(&paused.r);
}

/// The user commits in another terminal. While the editor of the message is open, git's lock becomes old, and no
/// process has the lock file open.
#[test]
fn lock_of_a_running_git_is_kept() {
    let paused = PausedRepository::new();
    let go = paused.r.root().join(".git/go");
    let (started, wait) = (paused.started.display(), go.display());
    let editor =
        format!("touch '{started}'; until [ -e '{wait}' ]; do sleep 0.01; done; echo Mine >");
    fs::write(paused.r.root().join("d.txt"), "of the user\n").unwrap();
    let mut user = Command::new("git")
        .args(["commit", "--quiet", "--all"])
        .current_dir(paused.r.root())
        .env("GIT_EDITOR", editor)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the start of the editor", || paused.started.exists());
    make_locks_old(&paused.r.root().join(".git"));
    let was_locked = paused.exists("index.lock");
    let (found, repairs) = (
        paused.r.worktrees().debris(),
        paused.r.worktrees().repair(NOW),
    );
    let is_locked = paused.exists("index.lock");
    fs::write(&go, "").unwrap();
    assert!(user.wait().unwrap().success());
    assert!(was_locked && is_locked);
    assert_eq!(found.unwrap(), []);
    assert!(repairs.unwrap()[0].contains("index.lock was kept"));
    assert_eq!(paused.r.git(&["log", "-1", "--format=%s"]), "Mine");
}

#[test]
fn merge_killed_while_writing_files_is_undone() {
    for file in ["a.txt", "b.txt", "new/c.txt"] {
        let paused = PausedRepository::new();
        let r = &paused.r;
        paused.pause_at_file(file);
        paused.kill_while_paused(Step::Merge);
        assert!(paused.exists("index.lock"), "{file}");
        // Changes of the user before the repair are kept.
        fs::write(r.root().join("d.txt"), "of the user\n").unwrap();
        fs::write(r.root().join("notes.txt"), "of the user\n").unwrap();
        let found = r.worktrees().debris().unwrap();
        assert!(found.contains(&Debris::Merge(name("task-1"))), "{found:?}");
        let repairs = r.worktrees().repair(NOW).unwrap();
        assert!(
            repairs.iter().any(|line| line.contains("wt/task-1")),
            "{repairs:?}"
        );
        assert_eq!(
            status(r.root()),
            " M d.txt\n?? notes.txt",
            "{file}: {repairs:?}"
        );
        r.git(&["checkout", "--quiet", "d.txt"]);
        assert_clean(r);
        let merged = r.worktrees().merge(&name("task-1"), NOW).unwrap();
        assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    }
}

#[test]
fn user_changes_in_a_file_of_a_killed_merge_are_kept() {
    let paused = PausedRepository::new();
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Merge);
    fs::write(paused.r.root().join("a.txt"), "of the user\n").unwrap();
    let repairs = paused.r.worktrees().repair(NOW).unwrap();
    assert!(
        repairs.iter().any(|line| line.contains("kept: a.txt")),
        "{repairs:?}"
    );
    assert_eq!(status(paused.r.root()), " M a.txt");
    let text = fs::read_to_string(paused.r.root().join("a.txt")).unwrap();
    assert_eq!(text, "of the user\n");
}

#[test]
fn merge_killed_at_its_commit_is_undone_or_recorded() {
    let hooks = [
        "pre-merge-commit",
        "commit-msg",
        "reference-transaction",
        "post-merge",
    ];
    for hook in hooks {
        let paused = PausedRepository::new();
        let r = &paused.r;
        paused.pause_at_hook(hook);
        paused.kill_while_paused(Step::Merge);
        let found = r.worktrees().debris().unwrap();
        assert!(
            found.contains(&Debris::Merge(name("task-1"))),
            "{hook}: {found:?}"
        );
        let is_merged = git_output(
            r.root(),
            &["merge-base", "--is-ancestor", "wt/task-1", "main"],
        );
        assert_eq!(is_merged.status.success(), hook == "post-merge");
        r.worktrees().repair(NOW).unwrap();
        assert_eq!(status(r.root()), "", "{hook}");
        assert_clean(r);
        let merged = r.worktrees().merge(&name("task-1"), NOW).unwrap();
        let is_known = matches!(merged, Merge::AlreadyMerged { .. });
        assert_eq!(is_known, hook == "post-merge", "{hook}: {merged:?}");
    }
}

#[test]
fn next_merge_repairs_a_killed_one() {
    let paused = PausedRepository::new();
    paused.pause_at_file("b.txt");
    paused.kill_while_paused(Step::Merge);
    let merged = paused.r.worktrees().merge(&name("task-1"), NOW).unwrap();
    assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    assert_eq!(status(paused.r.root()), "");
    assert_clean(&paused.r);
}

#[test]
fn partially_created_worktree_is_removed() {
    let paused = PausedRepository::new();
    paused.pause_at_file("d.txt");
    paused.kill_while_paused(Step::Create);
    assert!(paused.exists("worktrees/task-2/locked"));
    let found = paused.r.worktrees().debris().unwrap();
    assert!(
        found.contains(&Debris::Incomplete(name("task-2"))),
        "{found:?}"
    );
    paused.r.worktrees().repair(NOW).unwrap();
    assert!(!paused.r.worktree_path("task-2").exists());
    assert_clean(&paused.r);
    assert_eq!(paused.r.create(2, &[]), "task-2");
}

#[test]
fn partially_created_worktree_with_user_files_is_completed() {
    let paused = PausedRepository::new();
    paused.pause_at_file("d.txt");
    paused.kill_while_paused(Step::Create);
    let dir = paused.r.worktree_path("task-2");
    fs::write(dir.join("notes.txt"), "of the user\n").unwrap();
    let repairs = paused.r.worktrees().repair(NOW).unwrap();
    assert!(
        repairs.iter().any(|line| line.contains("notes.txt")),
        "{repairs:?}"
    );
    assert_eq!(status(&dir), "?? notes.txt");
    assert!(!paused.exists("worktrees/task-2/locked"));
    fs::remove_file(dir.join("notes.txt")).unwrap();
    assert_clean(&paused.r);
}

/// `git worktree add` is killed at each step before it writes files.
#[test]
fn worktree_killed_before_checkout_is_removed() {
    let steps = [
        "folder",
        "locked",
        "home",
        "gitdir",
        "link",
        "HEAD",
        "commondir",
    ];
    for count in 1..=steps.len() {
        let r = Repository::new();
        r.create(1, &[]);
        let (own, home) = (
            r.root().join(".git/worktrees/task-2"),
            r.worktree_path("task-2"),
        );
        let log = r.root().join(".worktrees/events.jsonl");
        let begun =
            "{\"event\": \"worktree.create.before\", \"worktree\": {\"name\": \"task-2\"}}\n";
        let text = fs::read_to_string(&log).unwrap();
        fs::write(&log, text + begun).unwrap();
        r.git(&["branch", "wt/task-2"]);
        for step in &steps[..count] {
            match *step {
                "folder" => fs::create_dir(&own).unwrap(),
                "locked" => fs::write(own.join("locked"), "initializing").unwrap(),
                "home" => fs::create_dir(&home).unwrap(),
                "gitdir" => {
                    let link = home.join(".git").display().to_string();
                    fs::write(own.join("gitdir"), link + "\n").unwrap();
                }
                "link" => {
                    fs::write(home.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
                }
                "HEAD" => fs::write(own.join("HEAD"), "0".repeat(40) + "\n").unwrap(),
                _ => fs::write(own.join("commondir"), "../..\n").unwrap(),
            }
        }
        let found = r.worktrees().debris().unwrap();
        assert_eq!(found, [Debris::Incomplete(name("task-2"))], "{count}");
        r.worktrees().repair(NOW).unwrap();
        assert_clean(&r);
    }
}

#[test]
fn worktree_killed_while_merging_blockers_is_completed() {
    let paused = PausedRepository::new();
    paused.r.commit("e.txt", "no fast-forward\n");
    paused.pause_at_file("new/c.txt");
    paused.kill_while_paused(Step::Create);
    assert_start_is_completed(&paused.r);
}

#[test]
fn worktree_killed_before_its_branch_moved_to_the_blocker_is_completed() {
    let paused = PausedRepository::new();
    paused.pause_at_file("new/c.txt");
    paused.kill_while_paused(Step::Create);
    // A fast-forward writes all files and the index, and then moves the branch.
    fs::remove_file(paused.r.root().join(".git/worktrees/task-2/index.lock")).unwrap();
    let dir = paused.r.worktree_path("task-2");
    git(&dir, &["read-tree", "--reset", "-u", "wt/task-1"]);
    assert_start_is_completed(&paused.r);
}

fn assert_start_is_completed(r: &Repository) {
    assert_eq!(status(&r.worktree_path("task-2")).is_empty(), false);
    let found = r.worktrees().debris().unwrap();
    assert!(
        found.contains(&Debris::MissingWork(name("task-2"))),
        "{found:?}"
    );
    r.worktrees().repair(NOW).unwrap();
    assert_clean(r);
    let needs = ["wt/task-1".to_string()];
    let brought = r
        .worktrees()
        .merge_branches(&name("task-2"), &needs, NOW)
        .unwrap();
    assert_eq!(brought.merged, needs);
}

/// Creates, merges and removes a worktree, and kills the process before and after each git command that changes
/// something.
#[test]
#[ignore = "long: see the longer rounds in CONTRIBUTING.md"]
fn kill_before_or_after_any_git_change_is_repaired() {
    let found = Command::new("sh").args(["-c", "command -v git"]).output();
    let real = String::from_utf8(found.unwrap().stdout).unwrap();
    let path = std::env::var("PATH").unwrap();
    for at in 1.. {
        let paused = PausedRepository::new();
        let r = &paused.r;
        let (bin, count) = (r.root().join(".git/bin"), r.root().join(".git/count"));
        fs::create_dir(&bin).unwrap();
        let script = format!(
            r#"#!/bin/sh
case " $* " in
    *" worktree add "* | *" worktree remove "* | *" merge --quiet "* | *" update-ref "* | *" add --all "* | *" commit "*)
        echo >> '{count}'
        n=$(wc -l < '{count}')
        [ $((2 * n - 1)) -ne {at} ] || {{ kill -9 $PPID; exit 1; }}
        {real} "$@"
        code=$?
        [ $((2 * n)) -ne {at} ] || kill -9 $PPID
        exit $code ;;
esac
exec {real} "$@"
"#,
            count = count.display(),
            real = real.trim(),
        );
        fs::write(bin.join("git"), script).unwrap();
        fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worktree_recovery::role", "--nocapture"])
            .env(super::ROOT, r.root())
            .env(super::NUMBER, format!("{:?}", Step::Lifecycle))
            .env("PATH", format!("{}:{path}", bin.display()))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        fs::remove_dir_all(bin).unwrap();
        make_locks_old(&r.root().join(".git"));
        r.worktrees().repair(NOW).unwrap();
        assert_eq!(status(r.root()), "", "{at}");
        if r.worktree_path("task-2").join("new.txt").exists() {
            // The file was written but not committed yet.
            let own = name("task-2");
            r.worktrees().commit_leftovers(&own, "Work").unwrap();
        }
        assert_clean(r);
        if ended.success() {
            assert!(at > 12, "only {at} points to kill at");
            return;
        }
    }
}
