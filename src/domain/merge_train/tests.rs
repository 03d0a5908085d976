//! Tests of the merge train, on a model in which some branches break each other.

mod random;

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;

use super::*;
use crate::domain::graph::{NewTask, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::timestamp::Timestamp;

/// The base branch and the branches of tasks. Each branch is one number, and so is what another program commits.
#[derive(Debug, Clone, Default)]
struct Model {
    /// What the base branch contains.
    base: BTreeSet<u64>,
    /// Sets that break the checks when all of their numbers are combined.
    breaking: Vec<BTreeSet<u64>>,
    /// Without this number, everything is red.
    repair: Option<u64>,
    /// Without this number, the checks cannot run.
    tool: Option<u64>,
    /// Pairs that cannot be combined.
    conflicts: Vec<(u64, u64)>,
    /// What another program commits to the base branch, each just before a landing.
    commits: Vec<u64>,
    /// The checked contents.
    checked: Vec<BTreeSet<u64>>,
}

impl Model {
    fn is_red(&self, content: &BTreeSet<u64>) -> bool {
        let is_unrepaired = self.repair.is_some_and(|repair| !content.contains(&repair));
        is_unrepaired || self.breaking.iter().any(|set| set.is_subset(content))
    }

    fn base_name(&self) -> String {
        format!("{:?}", self.base)
    }

    /// Returns the combination of `members` with the base; the first member that conflicts as an error.
    fn combine(&self, members: &[TaskId]) -> Result<BTreeSet<u64>, TaskId> {
        let mut content = self.base.clone();
        for member in members {
            let conflicts = |(a, b): &(u64, u64)| {
                (*a == member.0 && content.contains(b)) || (*b == member.0 && content.contains(a))
            };
            if self.conflicts.iter().any(conflicts) {
                return Err(*member);
            }
            content.insert(member.0);
        }
        Ok(content)
    }

    /// Carries out a step.
    fn answer(&mut self, step: &TrainStep) -> TrainFact {
        match step {
            TrainStep::Combine { base, members } => {
                assert_eq!(*base, self.base_name());
                match self.combine(members) {
                    Ok(content) => TrainFact::Combined(combination(&content)),
                    Err(task) => TrainFact::Conflict {
                        task,
                        files: vec!["a.txt".into()],
                    },
                }
            }
            TrainStep::Check { members, .. } => {
                let content = self.combine(members).unwrap();
                let is_red = self.is_red(&content);
                assert!(!self.checked.contains(&content), "{content:?} ran twice");
                let is_unchecked = self.tool.is_some_and(|tool| !content.contains(&tool));
                self.checked.push(content);
                if is_unchecked {
                    return TrainFact::Unchecked("no script".into());
                }
                TrainFact::Checked(if is_red {
                    TrainVerdict::Red
                } else {
                    TrainVerdict::Green
                })
            }
            TrainStep::Land {
                base,
                members,
                combination: wanted,
            } => {
                assert_eq!(*base, self.base_name());
                if let Some(commit) = self.commits.pop() {
                    let mut moved = self.base.clone();
                    moved.insert(commit);
                    // Another program does not break the base branch.
                    if !self.is_red(&moved) {
                        self.base = moved;
                    }
                    let base = self.base_name();
                    return TrainFact::BaseMoved { base };
                }
                let content = self.combine(members).unwrap();
                assert_eq!(*wanted, combination(&content));
                assert!(!self.is_red(&content), "{content:?} has landed");
                self.base = content;
                let base = self.base_name();
                TrainFact::Landed { base }
            }
            TrainStep::Done(end) => panic!("nothing to do: {end:?}"),
        }
    }

    /// Runs a train to its end, which it returns.
    fn run(&mut self, train: &mut MergeTrain) -> TrainEnd {
        // Far more steps than any train can need.
        for _ in 0..10_000 {
            let step = train.step().clone();
            if let TrainStep::Done(end) = step {
                return end;
            }
            let fact = self.answer(&step);
            train.apply(fact);
        }
        panic!("the train does not end: {train:?}");
    }
}

fn combination(content: &BTreeSet<u64>) -> Combination {
    Combination {
        commit: format!("commit of {content:?}"),
        content: format!("{content:?}"),
    }
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}

fn set(numbers: &[u64]) -> BTreeSet<u64> {
    numbers.iter().copied().collect()
}

/// Returns members that do not build on each other.
fn members(numbers: impl IntoIterator<Item = u64>) -> Vec<TrainMember> {
    let member = |number| TrainMember {
        task: TaskId(number),
        needs: BTreeSet::new(),
    };
    numbers.into_iter().map(member).collect()
}

fn red(task: u64, with: &[u64], content: &[u64]) -> ThrownOut {
    ThrownOut {
        task: TaskId(task),
        with: ids(with),
        reason: ThrownOutReason::Red(format!("{:?}", set(content))),
    }
}

#[test]
fn combinations_without_what_the_checks_need_blame_no_member() {
    let mut model = Model {
        breaking: vec![set(&[2, 3])],
        tool: Some(1),
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=3));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.landed(), ids(&[1, 2]));
    assert_eq!(train.thrown_out(), [red(3, &[1, 2], &[1, 2, 3])]);
    // Nothing lands if the checks cannot run on it.
    let mut model = Model {
        tool: Some(9),
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=3));
    let end = model.run(&mut train);
    assert_eq!(end, TrainEnd::Stopped("no script".into()));
    assert_eq!(
        (train.landed(), train.waiting()),
        (&[][..], ids(&[1, 2, 3]))
    );
}

#[test]
fn step_table_of_a_train_with_a_breaking_pair() {
    let mut model = Model {
        breaking: vec![set(&[1, 3])],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=4));
    let mut steps = Vec::new();
    loop {
        let step = train.step().clone();
        let numbers = |members: &[TaskId]| members.iter().map(|task| task.0).collect::<Vec<_>>();
        steps.push(match &step {
            TrainStep::Combine { members, .. } => format!("combine {:?}", numbers(members)),
            TrainStep::Check { members, .. } => format!("check {:?}", numbers(members)),
            TrainStep::Land { members, .. } => format!("land {:?}", numbers(members)),
            TrainStep::Done(end) => format!("{end:?}"),
        });
        if matches!(step, TrainStep::Done(_)) {
            break;
        }
        let fact = model.answer(&step);
        train.apply(fact);
    }
    assert_eq!(
        steps,
        [
            "combine [1, 2, 3, 4]",
            "check [1, 2, 3, 4]",
            // Is the base red itself?
            "combine []",
            "check []",
            // The shortest red prefix.
            "combine [1, 2]",
            "check [1, 2]",
            "combine [1, 2, 3]",
            "check [1, 2, 3]",
            // Its last member, alone and with fewer of the others.
            "combine [3]",
            "check [3]",
            "combine [1, 3]",
            "check [1, 3]",
            // The others, of which [1, 2] are known to be green.
            "combine [1, 2, 4]",
            "check [1, 2, 4]",
            "land [1, 2, 4]",
            "Finished",
        ]
    );
    assert_eq!(train.thrown_out(), [red(3, &[1], &[1, 3])]);
    assert_eq!(train.landed(), ids(&[1, 2, 4]));
    assert_eq!(train.waiting(), []);
}

#[test]
fn green_train_is_checked_once_and_lands_at_once() {
    let mut model = Model::default();
    let mut train = MergeTrain::new("{}", &members(1..=5));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(model.checked, [set(&[1, 2, 3, 4, 5])]);
    assert_eq!(train.landed(), ids(&[1, 2, 3, 4, 5]));
    let mut empty = MergeTrain::new("{}", &[]);
    assert_eq!(model.run(&mut empty), TrainEnd::Finished);
}

#[test]
fn member_that_breaks_alone_is_named_alone() {
    let mut model = Model {
        breaking: vec![set(&[2])],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=3));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.thrown_out(), [red(2, &[], &[2])]);
    assert_eq!(train.landed(), ids(&[1, 3]));
}

#[test]
fn three_that_break_only_together_are_named_together() {
    let mut model = Model {
        breaking: vec![set(&[1, 2, 4])],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=5));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.thrown_out(), [red(4, &[1, 2], &[1, 2, 4])]);
    assert_eq!(train.landed(), ids(&[1, 2, 3, 5]));
}

#[test]
fn moved_base_is_combined_and_checked_again() {
    let mut model = Model {
        breaking: vec![set(&[2, 100])],
        commits: vec![100],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=3));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.thrown_out(), [red(2, &[], &[2, 100])]);
    assert_eq!(model.base, set(&[1, 3, 100]));
    // A base that never stays ends the train, and nothing is lost.
    let mut moving = Model {
        commits: (100..200).collect(),
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=2));
    assert_eq!(moving.run(&mut train), TrainEnd::BaseKeepsMoving);
    assert_eq!(moving.commits.len(), 100 - MOVES_MAX - 1);
    assert_eq!(train.waiting(), ids(&[1, 2]));
}

#[test]
fn conflict_waits_for_the_others_and_then_is_thrown_out() {
    let mut model = Model {
        conflicts: vec![(1, 2)],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=3));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.landed(), ids(&[1, 3]));
    let conflict = ThrownOut {
        task: TaskId(2),
        with: Vec::new(),
        reason: ThrownOutReason::Conflict(vec!["a.txt".into()]),
    };
    assert_eq!(train.thrown_out(), [conflict]);
    // If the member before it is thrown out, it lands.
    model = Model {
        conflicts: vec![(1, 2)],
        breaking: vec![set(&[1])],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=2));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.landed(), ids(&[2]));
}

#[test]
fn no_member_is_blamed_for_a_red_base() {
    let red_base = Model {
        repair: Some(7),
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members([1, 2]));
    let end = red_base.clone().run(&mut train);
    assert_eq!(end, TrainEnd::BaseRed("{}".into()));
    assert_eq!(train.thrown_out(), []);
    assert_eq!(train.waiting(), ids(&[1, 2]));
    // A member that repairs the base lands with the others.
    let mut train = MergeTrain::new("{}", &members([1, 7]));
    assert_eq!(red_base.clone().run(&mut train), TrainEnd::Finished);
    assert_eq!(train.landed(), ids(&[1, 7]));
    // If another one is bad, it lands alone, and the bad one is named after that.
    let mut model = Model {
        breaking: vec![set(&[1])],
        ..red_base
    };
    let mut train = MergeTrain::new("{}", &members([1, 7]));
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.landed(), ids(&[7]));
    assert_eq!(train.thrown_out(), [red(1, &[], &[1, 7])]);
}

#[test]
fn members_that_build_on_a_thrown_out_one_are_held_back() {
    let mut all = members(1..=4);
    all[2].needs = [TaskId(2)].into();
    let mut model = Model {
        breaking: vec![set(&[2])],
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &all);
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.landed(), ids(&[1, 4]));
    let held = HeldBack {
        task: TaskId(3),
        by: TaskId(2),
    };
    assert_eq!(train.held_back(), [held]);
    assert_eq!(train.thrown_out().len(), 1);
}

#[test]
fn what_is_known_to_be_green_lands_at_the_limit() {
    // Each member breaks with the first one.
    let mut model = Model {
        breaking: (2..=16).map(|n| set(&[1, n])).collect(),
        ..Model::default()
    };
    let mut train = MergeTrain::new("{}", &members(1..=40));
    assert_eq!(train.members().len(), MEMBERS_MAX);
    while train.landed().is_empty() {
        let fact = model.answer(&train.step().clone());
        train.apply(fact);
    }
    assert_eq!(model.checked.len(), RUNS_MAX);
    assert_eq!(train.landed(), ids(&[1]));
    assert!(!train.waiting().is_empty());
    // The train goes on with the others.
    assert_eq!(model.run(&mut train), TrainEnd::Finished);
    assert_eq!(train.thrown_out().len(), 15);
}

#[test]
fn facts_that_do_not_answer_the_step_are_ignored() {
    let mut train = MergeTrain::new("{}", &members(1..=2));
    let step = train.step().clone();
    train.apply(TrainFact::Checked(TrainVerdict::Green));
    train.apply(TrainFact::Landed { base: "x".into() });
    train.apply(TrainFact::Conflict {
        task: TaskId(9),
        files: Vec::new(),
    });
    assert_eq!(*train.step(), step);
    train.apply(TrainFact::Stopped("no disk".into()));
    let end = TrainStep::Done(TrainEnd::Stopped("no disk".into()));
    assert_eq!(*train.step(), end);
    train.apply(TrainFact::Checked(TrainVerdict::Green));
    assert_eq!((train.step(), train.waiting()), (&end, ids(&[1, 2])));
}

#[test]
fn members_are_ordered_after_what_they_build_on() {
    let mut graph = TaskGraph::default();
    let mut add = |id: u64, blocked_by: &[u64]| {
        let new = NewTask {
            subject: "s".into(),
            blocked_by: ids(blocked_by),
            ..NewTask::default()
        };
        graph.create(TaskId(id), new, Timestamp(1.0)).unwrap();
    };
    add(5, &[]);
    add(4, &[5]);
    // Task 4 is not in the train, but task 1 builds on task 5 through it.
    add(1, &[4]);
    add(2, &[]);
    let found = train_members(&graph, &ids(&[1, 2, 5, 2, 99]));
    let order: Vec<u64> = found.iter().map(|member| member.task.0).collect();
    assert_eq!(order, [5, 1, 2, 99]);
    assert_eq!(found[1].needs, [TaskId(5)].into());
    assert!(found[0].needs.is_empty() && found[2].needs.is_empty());
}

#[test]
fn task_waits_for_the_repair_of_a_branch_below_it() {
    let (mut graph, now) = (TaskGraph::default(), Timestamp(1.0));
    let bob = Name::member("bob").unwrap();
    let add = |graph: &mut TaskGraph, id: u64, blocked_by: &[u64], worktree: &str| {
        let new = NewTask {
            subject: "s".into(),
            blocked_by: ids(blocked_by),
            worktree: worktree.into(),
            ..NewTask::default()
        };
        graph.create(TaskId(id), new, now).unwrap();
    };
    let complete = |graph: &mut TaskGraph, id: u64| {
        graph.complete(TaskId(id), &bob, now).unwrap();
    };
    add(&mut graph, 1, &[], "task-1");
    add(&mut graph, 2, &[1], "");
    add(&mut graph, 3, &[2], "task-3");
    for id in [1, 2, 3] {
        complete(&mut graph, id);
    }
    assert!(!builds_on_open_branch(&graph, TaskId(3)));
    add(&mut graph, 4, &[], "task-1");
    assert!(builds_on_open_branch(&graph, TaskId(3)));
    assert!(!builds_on_open_branch(&graph, TaskId(1)));
    complete(&mut graph, 4);
    assert!(!builds_on_open_branch(&graph, TaskId(3)));
}
