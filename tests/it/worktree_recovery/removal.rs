//! Removing a worktree while another program writes into it, or killed halfway: only losses that the caller knew of are
//! lost.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::start_process_as;
use crate::common::repository::{NOW, Repository, git, name, refusal};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{FolderState, Losses, RemovalMode, WorktreeError};
use crewdeck::store::{NewWorktree, Worktrees};
use pretty_assertions::assert_eq;

/// How often the test writes a file while a worktree is removed.
const ROUNDS: u64 = 12;
/// How often the test kills a process that removes worktrees.
const KILLS: u32 = 12;
/// Maximum time of each wait. Far longer than it takes.
const DEADLINE: Duration = Duration::from_secs(60);

fn known_losses() -> Losses {
    Losses {
        files: 1,
        named: vec!["known.txt".into()],
        ..Losses::default()
    }
}

/// Returns the sorted names of the trash entries in `.worktrees`.
fn trash_entries(r: &Repository) -> Vec<String> {
    let names = fs::read_dir(r.root().join(".worktrees")).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut entries: Vec<String> = names.filter(|n| n.starts_with(".remov")).collect();
    entries.sort();
    entries
}

/// Writes `late.txt` into the worktree as soon as the log contains more than `begun` removals, or `is_over` is set.
/// Returns whether the file could be written.
fn write_during_removal(r: &Repository, dir: &Path, begun: usize, is_over: &AtomicBool) -> bool {
    let log = r.root().join(".worktrees/events.jsonl");
    let until = Instant::now() + DEADLINE;
    let removals = || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.matches("worktree.remove.before").count()
    };
    while removals() <= begun && !is_over.load(Ordering::SeqCst) {
        assert!(Instant::now() < until, "no removal began");
        std::thread::yield_now();
    }
    fs::write(dir.join("late.txt"), "late\n").is_ok()
}

#[test]
fn file_written_during_a_removal_is_not_lost() {
    let r = Repository::new();
    let mut late_writes = 0;
    for round in 0..ROUNDS {
        let task = r.create(round + 1, &[]);
        let (dir, trees) = (r.worktree_path(&task), r.worktrees());
        let is_known = round % 2 == 0;
        if is_known {
            fs::write(dir.join("known.txt"), "known\n").unwrap();
        }
        let losses = if is_known {
            known_losses()
        } else {
            Losses::default()
        };
        let is_over = AtomicBool::new(false);
        let begun = usize::try_from(round).unwrap();
        let (is_written, removed) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| write_during_removal(&r, &dir, begun, &is_over));
            let removed = trees.remove_confirmed(&name(&task), &losses, NOW);
            is_over.store(true, Ordering::SeqCst);
            (writer.join().unwrap(), removed)
        });
        if is_written {
            late_writes += 1;
            let error = refusal(removed);
            let refused = matches!(
                error,
                WorktreeError::Changed { .. } | WorktreeError::Unsafe { .. }
            );
            assert!(refused, "{error}");
            assert!(error.to_string().contains("late.txt"), "{error}");
            assert_eq!(fs::read_to_string(dir.join("late.txt")).unwrap(), "late\n");
            assert_eq!(dir.join("known.txt").exists(), is_known);
            assert!(dir.join("a.txt").exists());
        } else {
            removed.unwrap();
            assert!(!dir.exists());
        }
        assert_eq!(trash_entries(&r), Vec::<String>::new());
    }
    println!("written in time: {late_writes} of {ROUNDS}");
}

#[test]
fn interrupted_removal_is_finished_or_undone_by_next_read() {
    let r = Repository::new();
    for task in [1, 2, 3] {
        r.create(task, &[]);
        fs::write(
            r.worktree_path(&format!("task-{task}")).join("known.txt"),
            "known\n",
        )
        .unwrap();
    }
    let below = |name: &str| r.root().join(".worktrees").join(name);
    let trees = r.worktrees();
    // Killed before the second check: the worktree is back with all its content.
    fs::rename(r.worktree_path("task-1"), below(".removing-task-1")).unwrap();
    let state = trees.state(&name("task-1")).unwrap();
    assert_eq!(
        (state.on_disk, state.losses()),
        (FolderState::Whole, known_losses())
    );
    // Killed after it: the worktree is deleted and its name is free.
    fs::rename(r.worktree_path("task-2"), below(".removed-task-2")).unwrap();
    assert_eq!(
        trees.state(&name("task-2")).unwrap().on_disk,
        FolderState::Missing
    );
    assert_eq!(trash_entries(&r), Vec::<String>::new());
    trees
        .remove(&name("task-2"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    // The folder was created again meanwhile: both folders are kept and reported.
    fs::rename(r.worktree_path("task-3"), below(".removing-task-3")).unwrap();
    fs::DirBuilder::new()
        .mode(0o755)
        .create(r.worktree_path("task-3"))
        .unwrap();
    fs::write(r.worktree_path("task-3").join("mine.txt"), "mine\n").unwrap();
    let notices = trees.list().unwrap().notices.join("\n");
    assert!(
        notices.contains(".removing-task-3")
            && notices.contains("Move one of the two folders away"),
        "{notices}"
    );
    assert!(below(".removing-task-3/known.txt").exists());
    assert!(r.worktree_path("task-3").join("mine.txt").exists());
}

#[test]
fn entry_of_a_running_removal_is_no_orphan() {
    let r = Repository::new();
    r.create(1, &[]);
    let trees = r.worktrees();
    let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
    lock.lock().unwrap();
    for name in [".removing-task-1", ".removed-task-1"] {
        let entry = r.root().join(".worktrees").join(name);
        fs::rename(r.worktree_path("task-1"), &entry).unwrap();
        assert_eq!(trees.orphans().unwrap(), [], "{name}");
        fs::rename(&entry, r.worktree_path("task-1")).unwrap();
    }
}

#[test]
fn worktree_that_cannot_be_moved_to_the_trash_is_kept() {
    let r = Repository::new();
    r.create(1, &[]);
    // For example the entry of an earlier removal that could not be deleted.
    fs::write(r.root().join(".worktrees/.removed-task-1"), "").unwrap();
    let error = r
        .worktrees()
        .remove(&name("task-1"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap_err()
        .to_string();
    assert!(error.contains(".removed-task-1"), "{error}");
    assert!(r.worktree_path("task-1").join("a.txt").exists());
}

#[test]
fn worktree_locked_by_the_user_is_kept() {
    let r = Repository::new();
    r.create(1, &[]);
    let path = r.worktree_path("task-1");
    let path = path.to_string_lossy();
    r.git(&["worktree", "lock", "--reason", "on a stick", &path]);
    for removal in [RemovalMode::OnlyIfSafe, RemovalMode::Confirmed] {
        let error = refusal(r.worktrees().remove(&name("task-1"), removal, NOW)).to_string();
        assert_eq!(
            error,
            "worktree task-1 is locked (on a stick): run git worktree unlock .worktrees/task-1 first"
        );
    }
    assert!(r.worktree_path("task-1").join("a.txt").exists());
}

#[test]
fn user_can_remove_a_worktree_marked_to_be_kept() {
    let r = Repository::new();
    let trees = r.worktrees();
    // With and without work in it.
    for (task, losses) in [(1, Losses::default()), (2, known_losses())] {
        let kept = name(&r.create(task, &[]));
        let dir = r.worktree_path(kept.as_str());
        if !losses.is_empty() {
            fs::write(dir.join("known.txt"), "known\n").unwrap();
        }
        trees.keep(&kept, NOW).unwrap();
        let error = refusal(trees.remove(&kept, RemovalMode::OnlyIfSafe, NOW));
        assert!(matches!(error, WorktreeError::Kept(_)), "{error}");
        trees.remove_confirmed(&kept, &losses, NOW).unwrap();
        assert!(!dir.exists());
    }
    // Work that the user has not seen is not lost.
    let kept = name(&r.create(3, &[]));
    trees.keep(&kept, NOW).unwrap();
    fs::write(r.worktree_path(kept.as_str()).join("known.txt"), "known\n").unwrap();
    let error = refusal(trees.remove_confirmed(&kept, &Losses::default(), NOW));
    assert!(matches!(error, WorktreeError::Unsafe { .. }), "{error}");
    assert!(r.worktree_path(kept.as_str()).join("known.txt").exists());
}

/// What the process that is killed runs: creates a worktree and removes it, over and over.
pub fn remove_forever(trees: &Worktrees, root: &Path) {
    for task in 1.. {
        let new = NewWorktree {
            task: TaskId(task),
            ..NewWorktree::default()
        };
        let made = trees.create(&new, NOW).unwrap().worktree;
        let dir = root.join(".worktrees").join(made.name.as_str());
        fs::write(dir.join("known.txt"), "known\n").unwrap();
        trees
            .remove_confirmed(&made.name, &known_losses(), NOW)
            .unwrap();
    }
}

#[test]
fn killed_removal_leaves_a_complete_worktree_or_none() {
    let r = Repository::new();
    for n in 0..40 {
        fs::write(r.root().join(format!("f{n}.txt")), "x\n").unwrap();
    }
    r.commit("a.txt", "two\n");
    let (trees, until) = (r.worktrees(), Instant::now() + DEADLINE);
    let removals = || {
        let log = fs::read_to_string(r.root().join(".worktrees/events.jsonl"));
        log.unwrap_or_default().matches("remove.before").count()
    };
    let mut counts = [0, 0];
    for kill in 0..KILLS {
        let before = removals();
        let mut child = start_process_as(&r, "remove");
        while removals() == before {
            assert!(Instant::now() < until, "no removal began");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(6) * kill);
        child.kill().unwrap();
        child.wait().unwrap();
        // A git process of the killed process may still run; it holds the lock.
        let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
        lock.lock().unwrap();
        drop(lock);
        // A child that another test forks inherits the lock until it executes its program. A list that finds the lock
        // held leaves the interrupted removal as it is.
        while !trash_entries(&r).is_empty() {
            assert!(Instant::now() < until, "the removal is not recovered");
            trees.list().unwrap();
        }
        for tree in trees.list().unwrap().worktrees {
            let dir = r.worktree_path(tree.name.as_str());
            let state = trees.state(&tree.name).unwrap();
            match state.on_disk {
                FolderState::Whole => {
                    counts[0] += 1;
                    let status = git(&dir, &["status", "--porcelain"]);
                    assert!(["", "?? known.txt"].contains(&status.as_str()), "{status}");
                }
                FolderState::Missing => counts[1] += 1,
                FolderState::Foreign => panic!("{} is no worktree any more", dir.display()),
            }
            trees
                .remove_confirmed(&tree.name, &state.losses(), NOW)
                .unwrap();
            assert!(!dir.exists());
        }
        assert_eq!(trash_entries(&r), Vec::<String>::new());
    }
    println!("complete and missing worktrees after kills: {counts:?}");
}
