//! States of branches: which changes a read reports, after merges by crewdeck or git and after resets.

use crate::common::repository::{NOW, Repository, commit, git, git_output, name};
use std::collections::{BTreeMap, BTreeSet};

use crewdeck::domain::worktree::{Branch, BranchState, ChangeSize, ContentStatus, RemovalMode};
use crewdeck::store::{BranchSnapshot, ScanMode};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Reads the branches and returns each one whose state has changed since `seen`: the name of its worktree and the
/// state.
fn changed_states(
    r: &Repository,
    seen: &mut BranchSnapshot,
    how: ScanMode,
) -> Vec<(String, BranchState)> {
    let changed = r.worktrees().branches(seen, how, &[]).unwrap();
    let row = |b: Branch| (b.worktree.to_string(), b.state);
    changed.into_iter().map(row).collect()
}

fn unmerged(files: u64, added: u64, removed: u64) -> BranchState {
    BranchState::Unmerged {
        into: "main".into(),
        size: Some(ChangeSize {
            files,
            added,
            removed,
        }),
    }
}

fn merged(commit: &str) -> BranchState {
    BranchState::Merged {
        into: "main".into(),
        commit: commit.chars().take(10).collect(),
    }
}

#[test]
fn every_state_change_of_a_branch_is_reported() {
    let r = Repository::new();
    let mut seen = BranchSnapshot::default();
    let mut read = |how| changed_states(&r, &mut seen, how);
    let row = |state| vec![("task-1".to_string(), state)];
    assert_eq!(read(ScanMode::IfChanged), []);
    r.create(1, &[]);
    assert_eq!(read(ScanMode::IfChanged), row(BranchState::Empty));
    assert_eq!(read(ScanMode::Always), []);
    commit(&r.worktree_path("task-1"), "a.txt", "two\nthree\n");
    // A commit on the branch alone does not count as a change for `IfChanged`.
    assert_eq!(read(ScanMode::Always), row(unmerged(1, 2, 1)));
    let start = r.git(&["rev-parse", "HEAD"]);
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    let merge = r.git(&["rev-parse", "HEAD"]);
    assert_eq!(read(ScanMode::IfChanged), row(merged(&merge)));
    r.git(&["reset", "--quiet", "--keep", &start]);
    assert_eq!(read(ScanMode::IfChanged), row(unmerged(1, 2, 1)));
    r.git(&["merge", "--quiet", "--ff-only", "wt/task-1"]);
    assert_eq!(read(ScanMode::IfChanged), row(merged("")));
    r.worktrees()
        .remove(&name("task-1"), RemovalMode::OnlyIfSafe, NOW)
        .unwrap();
    assert_eq!(read(ScanMode::IfChanged), row(BranchState::Gone));
    assert_eq!(read(ScanMode::Always), []);
}

#[test]
fn squashed_or_picked_work_is_merged_until_reset() {
    let r = Repository::new();
    let mut seen = BranchSnapshot::default();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "b\n");
    commit(&r.worktree_path("task-1"), "c.txt", "c\n");
    let row = |state| vec![("task-1".to_string(), state)];
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(unmerged(2, 2, 0))
    );
    r.git(&["merge", "--quiet", "--squash", "wt/task-1"]);
    r.git(&["commit", "--quiet", "-m", "squashed"]);
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(merged(""))
    );
    // Neither an explicit merge nor later changes of the base to the same lines change the state.
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    r.commit("b.txt", "other\n");
    assert_eq!(changed_states(&r, &mut seen, ScanMode::Always), []);
    assert_eq!(
        changed_states(&r, &mut BranchSnapshot::default(), ScanMode::Always),
        row(merged(""))
    );
    r.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(unmerged(2, 2, 0))
    );
    r.commit("d.txt", "d\n");
    r.git(&["cherry-pick", "wt/task-1~1"]);
    assert_eq!(changed_states(&r, &mut seen, ScanMode::Always), []);
    r.git(&["cherry-pick", "wt/task-1"]);
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(merged(""))
    );
    // Later commits on the branch are not merged.
    commit(&r.worktree_path("task-1"), "e.txt", "e\n");
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(unmerged(3, 3, 0))
    );
}

#[test]
fn branches_over_the_limit_are_counted_by_the_next_read() {
    const TREES: u64 = 66;
    let r = Repository::new();
    let base = r.git(&["rev-parse", "HEAD"]);
    let trees: Vec<_> = (1..=TREES)
        .map(|task| {
            let tree = format!("task-{task}");
            json!({"name": tree, "branch": format!("wt/{tree}"), "path": "", "task_id": task,
                "base": "main", "base_commit": base, "status": "active", "created_at": 1.0})
        })
        .collect();
    r.commit("b.txt", "b\n");
    for task in 1..=TREES {
        r.git(&["branch", &format!("wt/task-{task}")]);
    }
    r.git(&["reset", "--quiet", "--hard", &base]);
    let folder = r.root().join(".worktrees");
    std::fs::create_dir(&folder).unwrap();
    let registry = json!({ "worktrees": trees }).to_string();
    std::fs::write(folder.join("index.json"), registry).unwrap();
    let mut seen = BranchSnapshot::default();
    let count_sized = |states: &[(String, BranchState)]| {
        let is_it = |(_, state): &&(String, BranchState)| *state == unmerged(1, 1, 0);
        states.iter().filter(is_it).count()
    };
    let first = changed_states(&r, &mut seen, ScanMode::Always);
    assert_eq!(
        (first.len(), count_sized(&first), seen.is_partial()),
        (66, 64, true)
    );
    let second = changed_states(&r, &mut seen, ScanMode::IfChanged);
    assert_eq!(
        (second.len(), count_sized(&second), seen.is_partial()),
        (2, 2, false)
    );
}

#[test]
fn dependent_branch_includes_its_blockers_changes() {
    let r = Repository::new();
    let mut seen = BranchSnapshot::default();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "b\n");
    r.create(2, &["wt/task-1"]);
    commit(&r.worktree_path("task-2"), "c.txt", "c\n");
    let both = |one, two| vec![("task-1".to_string(), one), ("task-2".to_string(), two)];
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        both(unmerged(1, 1, 0), unmerged(2, 2, 0))
    );
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    let first = r.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        both(merged(&first), unmerged(1, 1, 0))
    );
}

#[test]
fn first_read_reports_missing_worktrees() {
    let r = Repository::new();
    let mut seen = BranchSnapshot::default();
    let named = [name("task-7")];
    let changed = r.worktrees().branches(&mut seen, ScanMode::Always, &named);
    let gone = Branch {
        worktree: name("task-7"),
        state: BranchState::Gone,
    };
    assert_eq!(changed.unwrap(), [gone]);
    let second = r.worktrees().branches(&mut seen, ScanMode::Always, &named);
    assert_eq!(second.unwrap(), []);
    // A detached HEAD is named by its commit.
    git(r.root(), &["checkout", "--quiet", "--detach"]);
    r.create(8, &[]);
    commit(&r.worktree_path("task-8"), "b.txt", "b\n");
    let into = r.git(&["rev-parse", "--short=10", "HEAD"]);
    let states = changed_states(&r, &mut seen, ScanMode::Always);
    assert!(
        matches!(&states[..], [(_, BranchState::Unmerged { into: found, .. })] if *found == into),
        "{states:?}"
    );
}

/// The worktrees in which [`random_step`] works.
const WORKTREES: [&str; 3] = ["task-1", "task-2", "task-3"];

/// Runs git with `args` in the root, and returns whether it succeeds.
fn succeeds(r: &Repository, args: &[&str]) -> bool {
    git_output(r.root(), args).status.success()
}

/// Does one step of an agent or a user, selected by `what`: a commit, a merge by crewdeck or git, a squash, or a move
/// of the base branch. A step that git refuses changes nothing. `fresh` becomes the content of a file and must be
/// unique.
fn random_step(r: &Repository, what: u64, task: &str, fresh: &str) -> String {
    let branch = format!("wt/{task}");
    let try_git = |args: &[&str], undo: &[&str]| {
        let done = succeeds(r, args);
        if !done {
            succeeds(r, undo);
        }
        done
    };
    match what {
        0 | 1 => {
            commit(&r.worktree_path(task), &format!("{task}.txt"), fresh);
            format!("commit on {task}")
        }
        2 => {
            commit(&r.worktree_path(task), "same.txt", fresh);
            format!("commit on {task} in a shared file")
        }
        3 | 4 => {
            let merged = r.worktrees().merge(&name(task), NOW).is_ok();
            format!("merge {task}: {merged}")
        }
        5 => {
            let done = try_git(
                &["merge", "--quiet", "--no-edit", &branch],
                &["merge", "--abort"],
            );
            format!("merge {task} by hand: {done}")
        }
        6 => {
            let done = try_git(
                &["merge", "--quiet", "--squash", &branch],
                &["reset", "--quiet", "--hard"],
            ) && succeeds(r, &["commit", "--quiet", "-m", "squashed"]);
            format!("squash {task}: {done}")
        }
        7 => {
            // A squash that resolves conflicts: the base has the work in another form, which git cannot detect.
            let done = succeeds(
                r,
                &["merge", "--quiet", "--squash", "-X", "theirs", &branch],
            ) && succeeds(r, &["commit", "--quiet", "-m", "squashed by theirs"]);
            succeeds(r, &["reset", "--quiet", "--hard"]);
            format!("squash {task} over conflicts: {done}")
        }
        8 => {
            r.commit(&format!("{task}.txt"), fresh);
            format!("the base changes the file of {task}")
        }
        _ => {
            let done = succeeds(r, &["reset", "--quiet", "--keep", "HEAD~1"]);
            format!("the base goes back: {done}")
        }
    }
}

/// Seeds of the sequences of random steps. One sequence takes seconds, because it starts hundreds of git processes.
const SEEDS: [u64; 2] = [1, 2];

#[test]
fn board_worktree_list_and_git_agree_after_every_step() {
    for seed in SEEDS {
        let r = Repository::new();
        for task in 1..=3 {
            r.create(task, &[]);
        }
        let (mut seen, mut board) = (BranchSnapshot::default(), BTreeMap::new());
        let (mut random, mut steps) = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), Vec::new());
        for at in 0..14 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let task = WORKTREES[(random >> 8) as usize % WORKTREES.len()];
            steps.push(random_step(
                &r,
                random % 10,
                task,
                &format!("{seed}-{at}\n"),
            ));
            // The state of the screen: all reported changes so far.
            board.extend(changed_states(&r, &mut seen, ScanMode::Always));
            // The state of a first read.
            let fresh: BTreeMap<_, _> =
                changed_states(&r, &mut BranchSnapshot::default(), ScanMode::Always)
                    .into_iter()
                    .collect();
            assert_eq!(board, fresh, "{seed}: {steps:#?}");
            let listed = r.git(&["branch", "--no-merged", "main", "--format=%(refname:short)"]);
            let listed: BTreeSet<&str> = listed.lines().collect();
            for task in WORKTREES {
                let by_list = match r.worktrees().state(&name(task)).unwrap().content {
                    ContentStatus::Nothing => "nothing",
                    ContentStatus::Merged => "merged",
                    ContentStatus::Unmerged => "unmerged",
                };
                let by_board = match board[task] {
                    BranchState::Empty | BranchState::Gone => "nothing",
                    BranchState::Merged { .. } => "merged",
                    BranchState::Unmerged { .. } => "unmerged",
                };
                assert_eq!(by_board, by_list, "{seed}: {task} after {steps:#?}");
                // A branch that is merged for git is merged; one that is not may be, if the base has its content.
                let by_git = listed.contains(format!("wt/{task}").as_str());
                assert!(
                    by_git || by_board != "unmerged",
                    "{seed}: {task} after {steps:#?}"
                );
                let is_copied = steps.iter().any(|s| s.contains(&format!("squash {task}")));
                assert!(
                    !by_git || by_board == "unmerged" || is_copied,
                    "{seed}: {task} after {steps:#?}"
                );
            }
        }
    }
}

#[test]
fn branch_deleted_with_git_is_reported_gone() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.worktree_path("task-1"), "b.txt", "b\n");
    let mut seen = BranchSnapshot::default();
    let row = |state| vec![("task-1".to_string(), state)];
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(unmerged(1, 1, 0))
    );
    let tree = r.worktree_path("task-1");
    r.git(&["worktree", "remove", "--force", tree.to_str().unwrap()]);
    r.git(&["branch", "--quiet", "-D", "wt/task-1"]);
    assert_eq!(
        changed_states(&r, &mut seen, ScanMode::Always),
        row(BranchState::Gone)
    );
    let fresh = changed_states(&r, &mut BranchSnapshot::default(), ScanMode::Always);
    assert_eq!(fresh, row(BranchState::Gone));
    let state = r.worktrees().state(&name("task-1")).unwrap();
    assert_eq!(state.content, ContentStatus::Nothing);
}
