//! Compares a merge train with merging the same branches one after another.
//!
//! `cargo bench --bench merge_train` prints both times and their ratio, without the time of the checks themselves: how
//! long it takes to combine branches, to check the combination out, and to land it.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)] // a failed benchmark panics

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use common::{median, ms, process, report};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::domain::worktree::{Merge, WorktreeName};
use crewdeck::store::{CombineOutcome, Landing, NewWorktree, Worktrees, prepare};

const BRANCHES: u64 = 8;
const FILES: usize = 2000;
const ROUNDS: usize = 7;
const NOW: Timestamp = Timestamp(1.0);

fn git(root: &Path, args: &[&str]) -> String {
    let done = Command::new("git").args(args).current_dir(root).output();
    let done = done.unwrap();
    assert!(done.status.success(), "git {args:?}");
    String::from_utf8_lossy(&done.stdout).trim().to_string()
}

/// Creates a repository of [`FILES`] files with [`BRANCHES`] branches, each of which changes one file.
fn repository(root: &Path) -> Vec<WorktreeName> {
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["config", "user.name", "bench"]);
    git(root, &["config", "user.email", "bench@example.com"]);
    for n in 0..FILES {
        std::fs::write(root.join(format!("file{n}.txt")), "text\n").unwrap();
    }
    git(root, &["add", "."]);
    git(root, &["commit", "--quiet", "-m", "start"]);
    prepare(root).unwrap();
    let trees = Worktrees::open(root);
    let branch = |task| {
        let new = NewWorktree {
            task: TaskId(task),
            ..NewWorktree::default()
        };
        let name = trees.create(&new, NOW).unwrap().worktree.name;
        let file = format!(".worktrees/{name}/file{task}.txt");
        std::fs::write(root.join(file), "changed\n").unwrap();
        trees.commit_leftovers(&name, "work").unwrap();
        name
    };
    (1..=BRANCHES).map(branch).collect()
}

/// Merges the branches one after another. Returns the time in milliseconds.
fn merge_each(root: &Path, names: &[WorktreeName]) -> f64 {
    let began = Instant::now();
    let trees = Worktrees::open(root);
    for name in names {
        let merged = trees.merge(name, NOW).unwrap();
        assert!(matches!(merged, Merge::Merged { .. }), "{merged:?}");
    }
    ms(began.elapsed())
}

/// Lands the branches together. Returns the time in milliseconds, and the part of it for the checkout of one check.
fn land_together(root: &Path, names: &[WorktreeName]) -> (f64, f64) {
    let began = Instant::now();
    let trees = Worktrees::open(root);
    let _lock = trees.lock_train().unwrap().unwrap();
    let plans = trees.plan_trains(names, NOW).unwrap();
    let plan = &plans.plans[0];
    trees.check_landing(&plan.into).unwrap();
    let combined = match trees.combine(&plan.base, &plan.branches).unwrap() {
        CombineOutcome::Combined(combined) => combined,
        CombineOutcome::Conflict { files, .. } => panic!("{files:?}"),
    };
    let checkout = Instant::now();
    let dir = trees.check_out("bench", &combined.commit).unwrap();
    trees.delete_checkout(&dir).unwrap();
    let checkout = ms(checkout.elapsed());
    let landed = trees.land(&plan.into, &combined, NOW).unwrap();
    assert!(matches!(landed, Landing::Landed { .. }), "{landed:?}");
    (ms(began.elapsed()), checkout)
}

fn main() {
    println!("{}", process::load());
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let names = repository(root);
    let start = git(root, &["rev-parse", "HEAD"]);
    let (mut plain, mut train, mut checkouts) = (Vec::new(), Vec::new(), Vec::new());
    // Alternates, so that other load affects both.
    for _ in 0..ROUNDS {
        plain.push(merge_each(root, &names));
        git(root, &["reset", "--quiet", "--hard", &start]);
        let (whole, checkout) = land_together(root, &names);
        train.push(whole);
        checkouts.push(checkout);
        git(root, &["reset", "--quiet", "--hard", &start]);
    }
    let (plain, train, checkout) = (median(plain), median(train), median(checkouts));
    let ratio = train / plain;
    report(
        &format!("merge train of {BRANCHES} branches, {FILES} files"),
        &format!(
            "{train:.0} ms, of which {checkout:.0} ms for the checkout of a check; one after another {plain:.0} ms; ratio {ratio:.2}"
        ),
        "<= 2",
        ratio <= 2.0,
    );
    println!("{}", process::load());
}
