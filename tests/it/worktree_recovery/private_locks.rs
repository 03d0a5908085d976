//! Locks that a killed git or a killed transfer leaves in the private history of a work directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crewdeck::process::history::{PrivateHistory, TransferPhase, WritableBranch};
use crewdeck::store::Debris;
use pretty_assertions::assert_eq;

use super::paused_repository::assert_clean;
use crate::common::repository::{NOW, Repository};

/// Lock files that git creates in a private history when it runs in a command.
const LOCKS: &[&str] = &[
    "logs/refs/heads/wt/task-1.lock",
    "objects/info/commit-graph.lock",
    "objects/maintenance.lock",
    "objects/pack/multi-pack-index.lock",
    "refs/heads/wt/task-1.lock",
];
/// Temporary files of git that are no locks.
const TEMPORARY: &[&str] = &[
    "logs/refs/.tmp-renamed-log",
    "objects/ab/tmp_obj_x1y2z3",
    "objects/pack/.tmp-12-pack-ab.pack",
    "objects/pack/tmp_pack_x1y2z3",
];

/// Returns the private histories of the root and of the worktree of task 1.
fn histories(r: &Repository) -> [PrivateHistory; 2] {
    let common = fs::canonicalize(r.root().join(".git")).unwrap();
    let tree = common.join("worktrees/task-1");
    [
        PrivateHistory::of(
            &common,
            &common,
            "root",
            WritableBranch::checked_out(&common),
        )
        .unwrap(),
        PrivateHistory::of(
            &tree,
            &common,
            "task-1",
            WritableBranch::of_worktree("task-1"),
        )
        .unwrap(),
    ]
}

/// Creates locks and temporary files in a private history. Their modification time is in the future, to show that their
/// age does not matter.
fn leave(history: &PrivateHistory) {
    for file in LOCKS.iter().chain(TEMPORARY) {
        let path = history.dir.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = File::create(path).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600))
            .unwrap();
    }
}

/// Returns those files of [`leave`] that still exist.
fn left(history: &PrivateHistory) -> Vec<&'static str> {
    let all = LOCKS.iter().chain(TEMPORARY).copied();
    all.filter(|file| history.dir.join(file).exists()).collect()
}

#[test]
fn stale_private_locks_are_reported_and_removed() {
    let r = Repository::new();
    r.create(1, &[]);
    let histories = histories(&r);
    for history in &histories {
        let running = history.start(TransferPhase::BeforePrivate);
        leave(history);
        // The crew is killed with all commands.
        drop(running);
    }
    let debris = |folder: &str| {
        let lock = move |file: &&str| Debris::Lock(Path::new(".git").join(folder).join(file));
        LOCKS.iter().map(lock).collect::<Vec<Debris>>()
    };
    let mut expected = debris("crewdeck");
    expected.extend(debris("worktrees/task-1/crewdeck"));
    assert_eq!(r.worktrees().debris().unwrap(), expected);
    assert!(histories.iter().all(|h| left(h).len() == 9), "only listed");
    let repairs = r.worktrees().repair(NOW).unwrap();
    let lines: Vec<String> = expected.iter().map(|d| format!("removed {d}")).collect();
    assert_eq!(repairs, lines);
    for history in &histories {
        assert_eq!(left(history), Vec::<&str>::new());
    }
    assert_clean(&r);
}

#[test]
fn private_locks_are_kept_while_a_command_runs() {
    let r = Repository::new();
    r.create(1, &[]);
    for history in histories(&r) {
        // The supervisor's mark outlives a killed crew.
        drop(history.start(TransferPhase::BeforePrivate));
        let running = history.mark_running().unwrap();
        leave(&history);
        let all = left(&history);
        assert_eq!(r.worktrees().debris().unwrap(), []);
        assert_eq!(r.worktrees().repair(NOW).unwrap(), Vec::<String>::new());
        drop(history.start(TransferPhase::BeforePrivate));
        assert_eq!(left(&history), all);
        drop(running);
        r.worktrees().repair(NOW).unwrap();
        assert_eq!(left(&history), Vec::<&str>::new());
    }
}

#[test]
fn next_command_removes_stale_private_locks() {
    let r = Repository::new();
    r.create(1, &[]);
    for history in histories(&r) {
        let running = history.start(TransferPhase::BeforePrivate);
        // The command is killed at its time limit, with its git.
        leave(&history);
        assert_eq!(running.finish().unwrap().note(), None);
        assert_eq!(left(&history), Vec::<&str>::new(), "after the command");
        leave(&history);
        drop(history.start(TransferPhase::BeforePrivate));
        assert_eq!(left(&history), Vec::<&str>::new(), "before the next one");
    }
}

/// A transfer that is killed leaves the lock of the ref that it was going to write.
#[test]
fn ref_locked_by_a_killed_transfer_is_shown_to_next_command() {
    let r = Repository::new();
    r.create(1, &[]);
    for history in histories(&r) {
        drop(history.start(TransferPhase::BeforePrivate));
        let name = format!("refs/heads/of-{}", history.name);
        r.git(&["update-ref", &name, "main"]);
        let lock = PathBuf::from(format!("{}.lock", history.dir.join(&name).display()));
        fs::write(&lock, "").unwrap();
        let running = history.start(TransferPhase::BeforePrivate);
        let shown = fs::read_to_string(history.dir.join(&name)).unwrap();
        assert_eq!(shown.trim(), r.git(&["rev-parse", "main"]));
        assert_eq!(running.finish().unwrap().note(), None);
    }
}
