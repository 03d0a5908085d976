//! Tests of the task graph, including random sequences of changes.

use proptest::prelude::*;

use super::*;
use crate::domain::host::{HostClaim, HostName};
use crate::domain::ids::Name;
use crate::domain::timestamp::Timestamp;

const NOW: Timestamp = Timestamp(1.0);

fn claimer(name: &str) -> Claimer {
    Claimer {
        name: Name::member(name).unwrap(),
        tags: vec!["Rust".into()],
    }
}

fn new(subject: &str, blocked_by: &[u64]) -> NewTask {
    NewTask {
        subject: subject.into(),
        blocked_by: blocked_by.iter().copied().map(TaskId).collect(),
        ..NewTask::default()
    }
}

/// Task 3 is blocked by tasks 1 and 2.
fn join() -> TaskGraph {
    let mut graph = TaskGraph::default();
    graph.create(TaskId(1), new("a", &[]), NOW).unwrap();
    graph.create(TaskId(2), new("b", &[]), NOW).unwrap();
    graph.create(TaskId(3), new("c", &[1, 2]), NOW).unwrap();
    graph
}

#[test]
fn task_is_ready_when_all_blockers_are_completed() {
    let mut graph = join();
    for (id, who) in [(1, "alice"), (2, "bob")] {
        assert!(!graph.is_ready(graph.get(TaskId(3)).unwrap()));
        graph
            .complete(TaskId(id), &Name::member(who).unwrap(), NOW)
            .unwrap();
    }
    let last = graph.get(TaskId(3)).unwrap();
    assert!(graph.is_ready(last) && last.blocked_by.is_empty());
    assert_eq!(
        graph.blockers(TaskId(3)).len(),
        2,
        "the edges are kept on the other side"
    );
}

#[test]
fn dependency_recorded_on_one_side_only_counts() {
    let text = r#"[{"id":1,"subject":"a"},{"id":2,"subject":"b","blockedBy":[1]}]"#;
    let tasks: Vec<Task> = serde_json::from_str(text).unwrap();
    let mut graph = TaskGraph::new(tasks);
    let refused = graph.claim(TaskId(2), &claimer("bob"), NOW).unwrap_err();
    assert_eq!(refused, GraphError::Blocked(TaskId(2), "#1".into()));
    let changed = graph
        .complete(TaskId(1), &Name::member("bob").unwrap(), NOW)
        .unwrap();
    assert_eq!(changed, [TaskId(1), TaskId(2)]);
    assert_eq!(graph.get(TaskId(1)).unwrap().blocks, [TaskId(2)]);
}

#[test]
fn missing_blocker_blocks_until_removed() {
    let task: Task = serde_json::from_str(r#"{"id":1,"subject":"a","blockedBy":[99]}"#).unwrap();
    let mut graph = TaskGraph::new([task]);
    assert_eq!(
        graph.open_blockers(graph.get(TaskId(1)).unwrap()),
        [TaskId(99)]
    );
    let edit = TaskEdit {
        unblock: vec![TaskId(99)],
        ..TaskEdit::default()
    };
    graph.edit(TaskId(1), &edit, NOW).unwrap();
    assert!(graph.is_ready(graph.get(TaskId(1)).unwrap()));
}

#[test]
fn claim_requires_matching_tags() {
    let mut graph = TaskGraph::default();
    let tagged = NewTask {
        tags: vec!["rust".into()],
        ..new("a", &[])
    };
    graph.create(TaskId(1), tagged, NOW).unwrap();
    let plain = Claimer {
        name: Name::member("bob").unwrap(),
        tags: vec![],
    };
    assert_eq!(graph.claimable(&plain), None);
    assert_eq!(
        graph.claim(TaskId(1), &plain, NOW),
        Err(GraphError::Tags(TaskId(1), "rust".into()))
    );
    graph.claim(TaskId(1), &claimer("alice"), NOW).unwrap();
}

#[test]
fn rejected_edit_changes_nothing() {
    let mut graph = join();
    let before = graph.clone();
    let edit = TaskEdit {
        subject: Some("new".into()),
        block_on: vec![TaskId(2), TaskId(3)],
        ..TaskEdit::default()
    };
    let refused = graph.edit(TaskId(1), &edit, NOW).unwrap_err().to_string();
    assert!(refused.contains("#3 already waits for #1"), "{refused}");
    assert_eq!(graph, before);
}

#[test]
fn planned_tasks_wait_for_each_other_in_any_order() {
    let planned = |subject: &str, blocked_by: &[u64], waits_for: &[usize]| PlannedTask {
        new: new(subject, blocked_by),
        waits_for: waits_for.to_vec(),
        imported_from: format!("from {subject}"),
    };
    let mut graph = join();
    let set = [planned("d", &[3], &[1]), planned("e", &[], &[])];
    let changed = graph.create_all(TaskId(7), &set, NOW).unwrap();
    assert_eq!(changed, [TaskId(7), TaskId(8), TaskId(3)]);
    let first = graph.get(TaskId(7)).unwrap();
    assert_eq!(first.blocked_by, [TaskId(3), TaskId(8)]);
    assert_eq!(first.imported_from, "from d");
    assert_eq!(graph.get(TaskId(8)).unwrap().blocks, [TaskId(7)]);
    assert_eq!(graph.get(TaskId(3)).unwrap().blocks, [TaskId(7)]);
    // A set with a cycle or an invalid task changes nothing.
    let before = graph.clone();
    for set in [
        [planned("f", &[], &[1]), planned("g", &[], &[0])],
        [planned("f", &[], &[0]), planned("g", &[], &[])],
        [planned("f", &[], &[]), planned("", &[], &[])],
        [planned("f", &[], &[]), planned("g", &[99], &[])],
    ] {
        assert!(graph.create_all(TaskId(9), &set, NOW).is_err(), "{set:?}");
        assert_eq!(graph, before);
    }
}

#[derive(Debug, Clone)]
enum Step {
    Create(Vec<u64>),
    Edit(u64, Vec<u64>, Vec<u64>),
    Claim(u64, usize),
    Complete(u64, usize),
    Release(u64, usize),
    Remove(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let id = || 1u64..9;
    let ids = || prop::collection::vec(1u64..9, 0..3);
    let who = || 0usize..3;
    prop_oneof![
        3 => ids().prop_map(Step::Create),
        3 => (id(), ids(), ids()).prop_map(|(i, a, b)| Step::Edit(i, a, b)),
        2 => (id(), who()).prop_map(|(i, w)| Step::Claim(i, w)),
        2 => (id(), who()).prop_map(|(i, w)| Step::Complete(i, w)),
        1 => (id(), who()).prop_map(|(i, w)| Step::Release(i, w)),
        1 => id().prop_map(Step::Remove),
    ]
}

/// Returns whether all tasks can be completed if each is completed as soon as it is ready. If so, there is no cycle.
fn drains(graph: &TaskGraph) -> bool {
    let mut graph = graph.clone();
    loop {
        let open: Vec<TaskId> = graph
            .tasks()
            .filter(|t| t.status != TaskStatus::Completed && graph.open_blockers(t).is_empty())
            .map(|t| t.id)
            .collect();
        if open.is_empty() {
            return !graph.has_open();
        }
        for id in open {
            let owner = graph.get(id).unwrap().owner.clone();
            let owner = if owner.is_empty() {
                "x".to_string()
            } else {
                owner
            };
            graph
                .complete(id, &Name::member(&owner).unwrap(), NOW)
                .unwrap();
        }
    }
}

proptest! {
    /// Guarantees 2 and 4 of docs/GUARANTEES.md hold for every sequence of changes.
    #[test]
    fn graph_stays_acyclic_with_one_owner_per_task(steps in prop::collection::vec(any_step(), 0..40)) {
        let names = ["alice", "bob", "carol"];
        let list = |ids: Vec<u64>| ids.into_iter().map(TaskId).collect::<Vec<_>>();
        let mut graph = TaskGraph::default();
        let mut next = 1;
        for step in steps {
            let before = graph.clone();
            let done = match step {
                Step::Create(on) => {
                    let made = graph.create(TaskId(next), NewTask { blocked_by: list(on), ..new("t", &[]) }, NOW);
                    next += u64::from(made.is_ok());
                    made
                }
                Step::Edit(id, block_on, unblock) => {
                    let edit = TaskEdit { block_on: list(block_on), unblock: list(unblock), ..TaskEdit::default() };
                    graph.edit(TaskId(id), &edit, NOW)
                }
                Step::Claim(id, who) => {
                    let was_ready = graph.get(TaskId(id)).is_some_and(|t| graph.is_ready(t));
                    let claimed = graph.claim(TaskId(id), &claimer(names[who]), NOW);
                    prop_assert!(claimed.is_err() || was_ready);
                    claimed
                }
                Step::Complete(id, who) => graph.complete(TaskId(id), &Name::member(names[who]).unwrap(), NOW),
                Step::Release(id, who) => graph.release(TaskId(id), &Name::member(names[who]).unwrap(), NOW),
                Step::Remove(id) => graph.remove(TaskId(id), NOW),
            };
            match done {
                Err(_) => prop_assert_eq!(&graph, &before, "a rejected change has no effect"),
                Ok(changed) => {
                    // Only tasks reported as changed may differ, because only those are written to disk.
                    for task in graph.tasks().filter(|t| !changed.contains(&t.id)) {
                        prop_assert_eq!(Some(task), before.get(task.id));
                    }
                }
            }
            for name in names {
                let own = graph.tasks().filter(|t| t.is_open_for(name)).count();
                prop_assert!(own <= 1, "{} has {} open tasks", name, own);
            }
            for task in graph.tasks() {
                for blocker in &task.blocked_by {
                    let blocker = graph.get(*blocker).unwrap();
                    prop_assert!(blocker.status != TaskStatus::Completed && blocker.blocks.contains(&task.id));
                }
            }
            prop_assert!(drains(&graph));
        }
    }
}

#[test]
fn task_released_too_often_is_not_claimed_automatically() {
    let mut graph = TaskGraph::default();
    let tagged = NewTask {
        tags: vec!["rust".into()],
        ..new("a", &[])
    };
    graph.create(TaskId(1), tagged, NOW).unwrap();
    for _ in 0..ATTEMPTS_MAX {
        assert!(graph.auto_claimable(&claimer("bob")).is_some());
        graph.claim(TaskId(1), &claimer("bob"), NOW).unwrap();
        graph
            .release(TaskId(1), &Name::member("bob").unwrap(), NOW)
            .unwrap();
    }
    assert_eq!(graph.auto_claimable(&claimer("bob")), None);
    assert!(
        graph.claimable(&claimer("bob")).is_some(),
        "it can still be assigned"
    );
    let edit = TaskEdit {
        description: Some("smaller steps".into()),
        ..TaskEdit::default()
    };
    graph.edit(TaskId(1), &edit, NOW).unwrap();
    assert!(graph.auto_claimable(&claimer("bob")).is_some());
}

#[test]
fn task_taken_by_user_is_not_reclaimed_by_former_owner() {
    let mut graph = TaskGraph::default();
    let now = Timestamp(1.0);
    let new = NewTask {
        subject: "Work".into(),
        ..NewTask::default()
    };
    graph.create(TaskId(1), new, now).unwrap();
    let claimer = |name: &str| Claimer {
        name: Name::party(name).unwrap(),
        tags: vec![],
    };
    let (alice, bob) = (claimer("alice"), claimer("bob"));
    let chosen = |graph: &TaskGraph, who: &Claimer| {
        (
            graph.claimable(who).is_some(),
            graph.auto_claimable(who).is_some(),
        )
    };
    graph.claim(TaskId(1), &alice, now).unwrap();
    assert_eq!(
        graph.take_from_owner(TaskId(1), &bob.name, now),
        Err(GraphError::OtherOwner(TaskId(1), "alice".into()))
    );
    assert_eq!(
        graph.take_from_owner(TaskId(1), &alice.name, now),
        Ok(vec![TaskId(1)])
    );
    let task = graph.get(TaskId(1)).unwrap();
    assert_eq!(
        (task.owner.as_str(), task.status, &task.taken_from),
        ("", TaskStatus::Pending, &vec!["alice".to_string()])
    );
    assert_eq!(chosen(&graph, &alice), (false, false));
    assert_eq!(chosen(&graph, &bob), (true, true));
    // The former owner cannot complete a task that the user took away.
    assert_eq!(
        graph.complete(TaskId(1), &alice.name, now),
        Err(GraphError::TakenByUser(TaskId(1)))
    );
    assert_eq!(
        graph.take_from_owner(TaskId(1), &alice.name, now),
        Err(GraphError::NoOwner(TaskId(1)))
    );
    // A later owner does not make the task claimable for the former one.
    graph.claim(TaskId(1), &bob, now).unwrap();
    graph.take_from_owner(TaskId(1), &bob.name, now).unwrap();
    assert_eq!(chosen(&graph, &alice), (false, false));
    // A claim by number is allowed again.
    graph.claim(TaskId(1), &alice, now).unwrap();
    assert_eq!(graph.get(TaskId(1)).unwrap().taken_from, ["bob"]);
    graph.release(TaskId(1), &alice.name, now).unwrap();
    let edit = TaskEdit {
        subject: Some("Other work".into()),
        ..TaskEdit::default()
    };
    graph.edit(TaskId(1), &edit, now).unwrap();
    assert_eq!(
        chosen(&graph, &bob),
        (true, true),
        "an edited task counts as new"
    );
}

#[test]
fn user_matches_all_tags_but_holds_one_open_task() {
    let mut graph = TaskGraph::default();
    let now = Timestamp(1.0);
    for id in [1, 2] {
        let new = NewTask {
            subject: "Work".into(),
            tags: vec!["rust".into()],
            ..NewTask::default()
        };
        graph.create(TaskId(id), new, now).unwrap();
    }
    let user = Claimer::user();
    graph.claim(TaskId(1), &user, now).unwrap();
    let busy = GraphError::Busy {
        who: Name::user(),
        open: TaskId(1),
    };
    assert_eq!(graph.claim(TaskId(2), &user, now), Err(busy));
}

#[test]
fn claim_for_a_host_stays_after_completion_and_ends_with_a_release() {
    let claim = HostClaim {
        host: HostName::parse("gpu").unwrap(),
        session: "s1".into(),
    };
    let bob = claimer("bob");
    let held = |graph: &TaskGraph| graph.get(TaskId(1)).unwrap().claim.clone();
    let mut graph = join();
    assert!(graph.set_claim(TaskId(9), &claim, NOW).is_err());
    for _ in 0..2 {
        graph.claim(TaskId(1), &bob, NOW).unwrap();
        assert_eq!(held(&graph), None);
        graph.set_claim(TaskId(1), &claim, NOW).unwrap();
        assert_eq!(held(&graph), Some(claim.clone()));
        graph.release(TaskId(1), &bob.name, NOW).unwrap();
        assert_eq!(held(&graph), None);
    }
    graph.claim(TaskId(1), &bob, NOW).unwrap();
    graph.set_claim(TaskId(1), &claim, NOW).unwrap();
    graph.complete(TaskId(1), &bob.name, NOW).unwrap();
    assert_eq!(held(&graph), Some(claim));
}
