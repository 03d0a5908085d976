//! What has landed on the base branch since a branch began.

use pretty_assertions::assert_eq;

use crate::common::repository::{NOW, Repository, commit, name};
use crewdeck::store::CombineOutcome;

/// Commits a file on the branch of `task`, and merges it.
fn merge(r: &Repository, task: u64) {
    let file = format!("{task}.txt");
    commit(&r.worktree_path(&format!("task-{task}")), &file, "work\n");
    let tree = name(&format!("task-{task}"));
    r.worktrees().merge(&tree, NOW).unwrap();
}

#[test]
fn commits_since_a_branch_began_are_found_with_their_tasks() {
    let r = Repository::new();
    for task in 1..=3 {
        r.create(task, &[]);
    }
    commit(&r.worktree_path("task-3"), "3.txt", "work\n");
    let tip = r.git(&["rev-parse", "wt/task-3"]);
    let start = r.git(&["rev-parse", "main"]);
    let since = |max| {
        let base = r.git(&["rev-parse", "main"]);
        r.worktrees().landed_since(&base, &tip, max).unwrap()
    };
    assert_eq!(since(9), None);
    merge(&r, 1);
    r.commit("u.txt", "of the user\n");
    merge(&r, 2);
    // Has just begun, so nothing has merged it.
    r.create(4, &[]);
    let found = since(9).unwrap();
    assert_eq!(found.start, start);
    let subjects: Vec<&str> = found.commits.iter().map(|c| c.subject.as_str()).collect();
    assert_eq!(
        subjects,
        ["task #1: Subject 1", "Write u.txt", "task #2: Subject 2"]
    );
    let merged: Vec<Vec<String>> = found
        .commits
        .iter()
        .map(|c| {
            let names = r.worktrees().merged_by(&c.hash).unwrap();
            names.iter().map(ToString::to_string).collect()
        })
        .collect();
    assert_eq!(
        merged,
        [vec!["task-1".to_string()], vec![], vec!["task-2".into()]]
    );
    // Only the newest ones, with the commit before them.
    let newest = since(2).unwrap();
    assert_eq!(newest.start, found.commits[0].hash);
    assert_eq!(newest.commits.as_slice(), &found.commits[1..]);
    // A branch that has merged the base branch has none.
    r.git(&["-C", ".worktrees/task-3", "merge", "--quiet", "main"]);
    let base = r.git(&["rev-parse", "main"]);
    let tip = r.git(&["rev-parse", "wt/task-3"]);
    assert_eq!(r.worktrees().landed_since(&base, &tip, 9).unwrap(), None);
}

#[test]
fn branches_that_landed_together_are_distinguished() {
    let r = Repository::new();
    for task in 1..=3 {
        r.create(task, &[]);
        let file = format!("{task}.txt");
        commit(&r.worktree_path(&format!("task-{task}")), &file, "work\n");
    }
    let before = r.git(&["rev-parse", "main"]);
    let land = |tasks: &[&str]| {
        let names: Vec<_> = tasks.iter().map(|task| name(task)).collect();
        let plan = r
            .worktrees()
            .plan_trains(&names, NOW)
            .unwrap()
            .plans
            .remove(0);
        let outcome = r.worktrees().combine(&plan.base, &plan.branches).unwrap();
        let CombineOutcome::Combined(combined) = outcome else {
            panic!("{outcome:?}");
        };
        r.worktrees().land(&plan.into, &combined, NOW).unwrap();
        r.git(&["rev-parse", "main"])
    };
    let train = land(&["task-1", "task-2"]);
    let found = r.worktrees().merged_together(&train, 2).unwrap().unwrap();
    assert_eq!(
        (found.start.as_str(), found.commits.len()),
        (before.as_str(), 2)
    );
    for (commit, expected) in found.commits.iter().zip(["task-1", "task-2"]) {
        assert_eq!(
            r.worktrees().merged_by(&commit.hash).unwrap(),
            [name(expected)]
        );
    }
    assert_eq!(r.worktrees().merged_together(&train, 1).unwrap(), None);
    // The merge of one branch, and a commit of the user.
    let single = land(&["task-3"]);
    r.commit("u.txt", "of the user\n");
    let own = r.git(&["rev-parse", "main"]);
    for commit in [single, own] {
        assert_eq!(r.worktrees().merged_together(&commit, 9).unwrap(), None);
    }
}
