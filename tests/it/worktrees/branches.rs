//! Where branches stand: what a look tells, whoever has merged, and taken back.

use crate::common::repository::{NOW, Repository, commit, git, git_output, name};
use std::collections::{BTreeMap, BTreeSet};

use crewdeck::domain::worktree::{Branch, BranchState, ChangeSize, Content, Removal};
use crewdeck::store::{Look, Seen};
use pretty_assertions::assert_eq;
use serde_json::json;

/// What a look tells, by the names of the worktrees.
fn told(r: &Repository, seen: &mut Seen, how: Look) -> Vec<(String, BranchState)> {
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
fn a_branch_is_told_whenever_it_stands_otherwise() {
    let r = Repository::new();
    let mut seen = Seen::default();
    let mut look = |how| told(&r, &mut seen, how);
    let row = |state| vec![("task-1".to_string(), state)];
    assert_eq!(look(Look::IfChanged), []);
    r.create(1, &[]);
    assert_eq!(look(Look::IfChanged), row(BranchState::Empty));
    assert_eq!(look(Look::Anew), []);
    commit(&r.tree("task-1"), "a.txt", "two\nthree\n");
    // A commit on it alone is no change that is watched for.
    assert_eq!(look(Look::Anew), row(unmerged(1, 2, 1)));
    let start = r.git(&["rev-parse", "HEAD"]);
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    let merge = r.git(&["rev-parse", "HEAD"]);
    assert_eq!(look(Look::IfChanged), row(merged(&merge)));
    r.git(&["reset", "--quiet", "--keep", &start]);
    assert_eq!(look(Look::IfChanged), row(unmerged(1, 2, 1)));
    r.git(&["merge", "--quiet", "--ff-only", "wt/task-1"]);
    assert_eq!(look(Look::IfChanged), row(merged("")));
    r.worktrees()
        .remove(&name("task-1"), Removal::OnlyIfSafe, NOW)
        .unwrap();
    assert_eq!(look(Look::IfChanged), row(BranchState::Gone));
    assert_eq!(look(Look::Anew), []);
}

#[test]
fn what_was_squashed_or_picked_is_merged_and_what_was_taken_back_is_not() {
    let r = Repository::new();
    let mut seen = Seen::default();
    r.create(1, &[]);
    commit(&r.tree("task-1"), "b.txt", "b\n");
    commit(&r.tree("task-1"), "c.txt", "c\n");
    let row = |state| vec![("task-1".to_string(), state)];
    assert_eq!(told(&r, &mut seen, Look::Anew), row(unmerged(2, 2, 0)));
    r.git(&["merge", "--quiet", "--squash", "wt/task-1"]);
    r.git(&["commit", "--quiet", "-m", "squashed"]);
    assert_eq!(told(&r, &mut seen, Look::Anew), row(merged("")));
    // To say so changes nothing, nor does what the base did later to the same lines.
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    r.commit("b.txt", "other\n");
    assert_eq!(told(&r, &mut seen, Look::Anew), []);
    assert_eq!(told(&r, &mut Seen::default(), Look::Anew), row(merged("")));
    r.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    assert_eq!(told(&r, &mut seen, Look::Anew), row(unmerged(2, 2, 0)));
    r.commit("d.txt", "d\n");
    r.git(&["cherry-pick", "wt/task-1~1"]);
    assert_eq!(told(&r, &mut seen, Look::Anew), []);
    r.git(&["cherry-pick", "wt/task-1"]);
    assert_eq!(told(&r, &mut seen, Look::Anew), row(merged("")));
    // What comes to it afterwards is not there.
    commit(&r.tree("task-1"), "e.txt", "e\n");
    assert_eq!(told(&r, &mut seen, Look::Anew), row(unmerged(3, 3, 0)));
}

#[test]
fn more_branches_than_one_look_takes_in_are_told_by_the_next() {
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
    let mut seen = Seen::default();
    let counted = |told: &[(String, BranchState)]| {
        let is_it = |(_, state): &&(String, BranchState)| *state == unmerged(1, 1, 0);
        told.iter().filter(is_it).count()
    };
    let first = told(&r, &mut seen, Look::Anew);
    assert_eq!(
        (first.len(), counted(&first), seen.is_partial()),
        (66, 64, true)
    );
    let second = told(&r, &mut seen, Look::IfChanged);
    assert_eq!(
        (second.len(), counted(&second), seen.is_partial()),
        (2, 2, false)
    );
}

#[test]
fn a_dependent_holds_what_it_waited_for() {
    let r = Repository::new();
    let mut seen = Seen::default();
    r.create(1, &[]);
    commit(&r.tree("task-1"), "b.txt", "b\n");
    r.create(2, &["wt/task-1"]);
    commit(&r.tree("task-2"), "c.txt", "c\n");
    let both = |one, two| vec![("task-1".to_string(), one), ("task-2".to_string(), two)];
    assert_eq!(
        told(&r, &mut seen, Look::Anew),
        both(unmerged(1, 1, 0), unmerged(2, 2, 0))
    );
    r.worktrees().merge(&name("task-1"), NOW).unwrap();
    let first = r.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        told(&r, &mut seen, Look::Anew),
        both(merged(&first), unmerged(1, 1, 0))
    );
}

#[test]
fn the_first_look_tells_of_worktrees_that_are_gone() {
    let r = Repository::new();
    let mut seen = Seen::default();
    let named = [name("task-7")];
    let changed = r.worktrees().branches(&mut seen, Look::Anew, &named);
    let gone = Branch {
        worktree: name("task-7"),
        state: BranchState::Gone,
    };
    assert_eq!(changed.unwrap(), [gone]);
    let again = r.worktrees().branches(&mut seen, Look::Anew, &named);
    assert_eq!(again.unwrap(), []);
    // A checked out commit has no name of its own.
    git(r.root(), &["checkout", "--quiet", "--detach"]);
    r.create(8, &[]);
    commit(&r.tree("task-8"), "b.txt", "b\n");
    let into = r.git(&["rev-parse", "--short=10", "HEAD"]);
    let told = told(&r, &mut seen, Look::Anew);
    assert!(
        matches!(&told[..], [(_, BranchState::Unmerged { into: found, .. })] if *found == into),
        "{told:?}"
    );
}

/// Worktrees of the walk below.
const WALKED: [&str; 3] = ["task-1", "task-2", "task-3"];

/// Whether git does that in the root.
fn succeeds(r: &Repository, args: &[&str]) -> bool {
    git_output(r.root(), args).status.success()
}

/// One step of an agent or a user: commits, merges by crewdeck and by hand, squashes, picks, moves of the base. One that git refuses
/// changes nothing. `fresh` is content that nothing else has.
fn step(r: &Repository, what: u64, task: &str, fresh: &str) -> String {
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
            commit(&r.tree(task), &format!("{task}.txt"), fresh);
            format!("commit on {task}")
        }
        2 => {
            commit(&r.tree(task), "same.txt", fresh);
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
            // A conflict that is squashed in another form: the base has it, and git cannot tell.
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

#[test]
fn board_worktree_list_and_git_agree_after_every_step() {
    for seed in 1..=3_u64 {
        let r = Repository::new();
        for task in 1..=3 {
            r.create(task, &[]);
        }
        let (mut seen, mut board) = (Seen::default(), BTreeMap::new());
        let (mut random, mut steps) = (seed.wrapping_mul(0x9E37_79B9_7F4A_7C15), Vec::new());
        for at in 0..14 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let task = WALKED[(random >> 8) as usize % WALKED.len()];
            steps.push(step(&r, random % 10, task, &format!("{seed}-{at}\n")));
            // What the screen knows: the events, one after the other.
            board.extend(told(&r, &mut seen, Look::Anew));
            // What one knows who looks for the first time.
            let anew: BTreeMap<_, _> = told(&r, &mut Seen::default(), Look::Anew)
                .into_iter()
                .collect();
            assert_eq!(board, anew, "{seed}: {steps:#?}");
            let listed = r.git(&["branch", "--no-merged", "main", "--format=%(refname:short)"]);
            let listed: BTreeSet<&str> = listed.lines().collect();
            for task in WALKED {
                let by_list = match r.worktrees().state(&name(task)).unwrap().content {
                    Content::Nothing => "nothing",
                    Content::Merged => "merged",
                    Content::Unmerged => "unmerged",
                };
                let by_board = match board[task] {
                    BranchState::Empty | BranchState::Gone => "nothing",
                    BranchState::Merged { .. } => "merged",
                    BranchState::Unmerged { .. } => "unmerged",
                };
                assert_eq!(by_board, by_list, "{seed}: {task} after {steps:#?}");
                // What git calls merged is; what it does not is, where the base has the content under other commits.
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
fn a_branch_deleted_by_hand_is_gone_for_everyone() {
    let r = Repository::new();
    r.create(1, &[]);
    commit(&r.tree("task-1"), "b.txt", "b\n");
    let mut seen = Seen::default();
    let row = |state| vec![("task-1".to_string(), state)];
    assert_eq!(told(&r, &mut seen, Look::Anew), row(unmerged(1, 1, 0)));
    let tree = r.tree("task-1");
    r.git(&["worktree", "remove", "--force", tree.to_str().unwrap()]);
    r.git(&["branch", "--quiet", "-D", "wt/task-1"]);
    assert_eq!(told(&r, &mut seen, Look::Anew), row(BranchState::Gone));
    let anew = told(&r, &mut Seen::default(), Look::Anew);
    assert_eq!(anew, row(BranchState::Gone));
    let state = r.worktrees().state(&name("task-1")).unwrap();
    assert_eq!(state.content, Content::Nothing);
}
