//! Removing a worktree while somebody writes into it, and killed in between: nothing is lost that nobody was told of.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::process_of;
use crate::common::repository::{NOW, Repository, git, name, refusal};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::worktree::{Losses, OnDisk, Removal, WorktreeError};
use crewdeck::store::{NewWorktree, Worktrees};
use pretty_assertions::assert_eq;

/// How often somebody writes at the very moment of a removal.
const ROUNDS: u64 = 12;
/// How often a process is killed while it removes worktrees.
const KILLS: u32 = 12;
/// How long anything may take.
const DEADLINE: Duration = Duration::from_secs(60);

fn told() -> Losses {
    Losses {
        files: 1,
        named: vec!["told.txt".into()],
        ..Losses::default()
    }
}

/// What lies in `.worktrees` beside the worktrees and the files of crewdeck.
fn aside(r: &Repository) -> Vec<String> {
    let names = fs::read_dir(r.root().join(".worktrees")).unwrap();
    let names = names.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = names.filter(|n| n.starts_with(".remov")).collect();
    left.sort();
    left
}

/// Writes `file` into the worktree as soon as its removal is noted as begun; whether that worked.
fn write_when_it_begins(r: &Repository, dir: &Path, begun: usize, over: &AtomicBool) -> bool {
    let log = r.root().join(".worktrees/events.jsonl");
    let until = Instant::now() + DEADLINE;
    let noted = || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.matches("worktree.remove.before").count()
    };
    while noted() <= begun && !over.load(Ordering::SeqCst) {
        assert!(Instant::now() < until, "no removal begins");
        std::thread::yield_now();
    }
    fs::write(dir.join("late.txt"), "late\n").is_ok()
}

#[test]
fn what_is_written_by_name_while_it_is_removed_is_not_lost() {
    let r = Repository::new();
    let mut late = 0;
    for round in 0..ROUNDS {
        let task = r.create(round + 1, &[]);
        let (dir, trees) = (r.tree(&task), r.worktrees());
        let is_told = round % 2 == 0;
        if is_told {
            fs::write(dir.join("told.txt"), "told\n").unwrap();
        }
        let losses = if is_told { told() } else { Losses::default() };
        let over = AtomicBool::new(false);
        let begun = usize::try_from(round).unwrap();
        let (is_written, removed) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| write_when_it_begins(&r, &dir, begun, &over));
            let removed = trees.remove_as_told(&name(&task), &losses, NOW);
            over.store(true, Ordering::SeqCst);
            (writer.join().unwrap(), removed)
        });
        if is_written {
            late += 1;
            let why = refusal(removed);
            let refused = matches!(
                why,
                WorktreeError::Changed { .. } | WorktreeError::Unsafe { .. }
            );
            assert!(refused, "{why}");
            assert!(why.to_string().contains("late.txt"), "{why}");
            assert_eq!(fs::read_to_string(dir.join("late.txt")).unwrap(), "late\n");
            assert_eq!(dir.join("told.txt").exists(), is_told);
            assert!(dir.join("a.txt").exists());
        } else {
            removed.unwrap();
            assert!(!dir.exists());
        }
        assert_eq!(aside(&r), Vec::<String>::new());
    }
    println!("written in time: {late} of {ROUNDS}");
}

#[test]
fn a_removal_that_was_cut_off_is_put_in_order_by_the_next_look() {
    let r = Repository::new();
    for task in [1, 2, 3] {
        r.create(task, &[]);
        fs::write(r.tree(&format!("task-{task}")).join("told.txt"), "told\n").unwrap();
    }
    let below = |name: &str| r.root().join(".worktrees").join(name);
    let trees = r.worktrees();
    // Killed before the second look: it is back, with all that is in it.
    fs::rename(r.tree("task-1"), below(".removing-task-1")).unwrap();
    let state = trees.state(&name("task-1")).unwrap();
    assert_eq!((state.on_disk, state.losses()), (OnDisk::Whole, told()));
    // Killed after it: it is gone, and its name is free.
    fs::rename(r.tree("task-2"), below(".removed-task-2")).unwrap();
    assert_eq!(
        trees.state(&name("task-2")).unwrap().on_disk,
        OnDisk::Missing
    );
    assert_eq!(aside(&r), Vec::<String>::new());
    trees
        .remove(&name("task-2"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    // Somebody wrote to its name meanwhile: neither is lost, and both are named.
    fs::rename(r.tree("task-3"), below(".removing-task-3")).unwrap();
    fs::DirBuilder::new()
        .mode(0o755)
        .create(r.tree("task-3"))
        .unwrap();
    fs::write(r.tree("task-3").join("mine.txt"), "mine\n").unwrap();
    let notices = trees.list().unwrap().notices.join("\n");
    assert!(
        notices.contains(".removing-task-3")
            && notices.contains("Move one of the two folders away"),
        "{notices}"
    );
    assert!(below(".removing-task-3/told.txt").exists());
    assert!(r.tree("task-3").join("mine.txt").exists());
}

#[test]
fn what_lies_aside_while_another_one_removes_it_is_no_stray() {
    let r = Repository::new();
    r.create(1, &[]);
    let trees = r.worktrees();
    let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
    lock.lock().unwrap();
    for name in [".removing-task-1", ".removed-task-1"] {
        let aside = r.root().join(".worktrees").join(name);
        fs::rename(r.tree("task-1"), &aside).unwrap();
        assert_eq!(trees.strays().unwrap(), [], "{name}");
        fs::rename(&aside, r.tree("task-1")).unwrap();
    }
}

#[test]
fn a_worktree_that_can_not_be_put_away_stands_where_it_stood() {
    let r = Repository::new();
    r.create(1, &[]);
    // What an earlier removal could not delete, say.
    fs::write(r.root().join(".worktrees/.removed-task-1"), "").unwrap();
    let why = r
        .worktrees()
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap_err()
        .to_string();
    assert!(why.contains(".removed-task-1"), "{why}");
    assert!(r.tree("task-1").join("a.txt").exists());
}

#[test]
fn a_worktree_that_the_person_locked_stays() {
    let r = Repository::new();
    r.create(1, &[]);
    let path = r.tree("task-1");
    let path = path.to_string_lossy();
    r.git(&["worktree", "lock", "--reason", "on a stick", &path]);
    for removal in [Removal::OnlyIfSafe, Removal::WhatIsLostIsKnown] {
        let why = refusal(r.worktrees().remove(&name("task-1"), removal, NOW)).to_string();
        assert_eq!(
            why,
            "worktree task-1 is locked (on a stick): run git worktree unlock .worktrees/task-1 first"
        );
    }
    assert!(r.tree("task-1").join("a.txt").exists());
}

/// What a process does that is killed: it makes worktrees and removes them, one after the other.
pub fn remove_for_ever(trees: &Worktrees, root: &Path) {
    for task in 1.. {
        let new = NewWorktree {
            task: TaskId(task),
            ..NewWorktree::default()
        };
        let made = trees.create(&new, NOW).unwrap().worktree;
        let dir = root.join(".worktrees").join(made.name.as_str());
        fs::write(dir.join("told.txt"), "told\n").unwrap();
        trees.remove_as_told(&made.name, &told(), NOW).unwrap();
    }
}

#[test]
fn a_process_that_is_killed_while_it_removes_leaves_all_or_nothing() {
    let r = Repository::new();
    for n in 0..40 {
        fs::write(r.root().join(format!("f{n}.txt")), "x\n").unwrap();
    }
    r.commit("a.txt", "two\n");
    let (trees, until) = (r.worktrees(), Instant::now() + DEADLINE);
    let begun = || {
        let log = fs::read_to_string(r.root().join(".worktrees/events.jsonl"));
        log.unwrap_or_default().matches("remove.before").count()
    };
    let mut found = [0, 0];
    for kill in 0..KILLS {
        let before = begun();
        let mut child = process_of(&r, "remove");
        while begun() == before {
            assert!(Instant::now() < until, "it removes nothing");
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(6) * kill);
        child.kill().unwrap();
        child.wait().unwrap();
        // A git of it may live on: it holds the lock.
        let lock = fs::File::open(r.root().join(".worktrees/.lock")).unwrap();
        lock.lock().unwrap();
        drop(lock);
        for tree in trees.list().unwrap().worktrees {
            let dir = r.tree(tree.name.as_str());
            let state = trees.state(&tree.name).unwrap();
            match state.on_disk {
                OnDisk::Whole => {
                    found[0] += 1;
                    let status = git(&dir, &["status", "--porcelain"]);
                    assert!(["", "?? told.txt"].contains(&status.as_str()), "{status}");
                }
                OnDisk::Missing => found[1] += 1,
                OnDisk::Foreign => panic!("{} is none any more", dir.display()),
            }
            trees
                .remove_as_told(&tree.name, &state.losses(), NOW)
                .unwrap();
            assert!(!dir.exists());
        }
        assert_eq!(aside(&r), Vec::<String>::new());
    }
    println!("whole and gone where it was killed: {found:?}");
}
