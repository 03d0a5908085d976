//! Promises about the board.

use std::collections::BTreeSet;

use crewdeck::domain::graph::{
    BoardDelta, Claimer, GraphError, NewTask, PlannedTask, TaskEdit, TaskGraph,
};
use crewdeck::domain::ids::TaskId;
use crewdeck::domain::task::TaskStatus;
use crewdeck::store::{Board, StoreError, TaskSet};
use pretty_assertions::assert_eq;

use crate::suite::{Backend, NOW, claimer, name, new, race};

fn create(board: &Board, subject: &str, blocked_by: &[TaskId]) -> TaskId {
    board.create(new(subject, blocked_by), NOW).unwrap().id
}

fn block_on(ids: &[TaskId]) -> TaskEdit {
    TaskEdit {
        block_on: ids.to_vec(),
        ..TaskEdit::default()
    }
}

pub fn racing_claims_give_each_task_one_owner(backend: &dyn Backend) {
    const TASKS: usize = 24;
    let board = backend.open().board;
    for n in 0..TASKS {
        create(&board, &format!("task {n}"), &[]);
    }
    let claimed = race(backend, 6, |n, stores| {
        let (who, mut mine) = (claimer(&format!("agent-{n}")), Vec::new());
        while let Some(task) = stores.board.claim(None, &who, NOW).unwrap() {
            assert_eq!(task.owner, who.name.as_str());
            mine.push(task.id);
            stores.board.complete(task.id, &who.name, NOW).unwrap();
        }
        mine
    });
    for (n, mine) in claimed.iter().enumerate() {
        for id in mine {
            assert_eq!(board.get(*id).unwrap().owner, format!("agent-{n}"));
        }
    }
    let all: Vec<TaskId> = claimed.concat();
    let distinct: BTreeSet<TaskId> = all.iter().copied().collect();
    assert_eq!((all.len(), distinct.len()), (TASKS, TASKS));
    let graph = board.read().unwrap().graph;
    assert!(graph.tasks().all(|task| task.attempts == 1));
    assert_eq!(graph.done(), TASKS);
}

pub fn racing_claims_of_one_agent_leave_it_one_task(backend: &dyn Backend) {
    let board = backend.open().board;
    let ids: Vec<TaskId> = (0..6).map(|_| create(&board, "a", &[])).collect();
    let claims = race(backend, ids.len(), |n, stores| {
        stores.board.claim(Some(ids[n]), &claimer("bob"), NOW)
    });
    assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1);
    for refused in claims.iter().filter_map(|claim| claim.as_ref().err()) {
        assert!(
            matches!(refused, StoreError::Graph(GraphError::Busy { .. })),
            "{refused}"
        );
    }
    let graph = board.read().unwrap().graph;
    let open = graph.tasks().filter(|task| task.owner == "bob").count();
    assert_eq!(open, 1);
}

pub fn racing_claims_of_one_task_have_one_winner(backend: &dyn Backend) {
    let board = backend.open().board;
    let ids: Vec<TaskId> = (0..8).map(|_| create(&board, "a", &[])).collect();
    let wins = race(backend, 4, |n, stores| {
        let who = claimer(&format!("agent-{n}"));
        let claim = |id: &&TaskId| {
            let won = stores.board.claim(Some(**id), &who, NOW).is_ok();
            if won {
                stores.board.complete(**id, &who.name, NOW).unwrap();
            }
            won
        };
        ids.iter().filter(claim).copied().collect::<Vec<TaskId>>()
    });
    let mut won = wins.concat();
    won.sort_unstable();
    assert_eq!(won, ids);
}

pub fn task_numbers_are_never_reused(backend: &dyn Backend) {
    let ids = race(backend, 4, |n, stores| {
        let create = |i: usize| create(&stores.board, &format!("{n} {i}"), &[]);
        (0..6).map(create).collect::<Vec<TaskId>>()
    });
    let mut all = ids.concat();
    all.sort_unstable();
    assert_eq!(all, (1..=24).map(TaskId).collect::<Vec<TaskId>>());
    let board = backend.open().board;
    board.remove(TaskId(24), NOW).unwrap();
    board.remove(TaskId(3), NOW).unwrap();
    let other = backend.open().board;
    assert_eq!(create(&other, "after a removal", &[]), TaskId(25));
    let reserved = board.reserve(&new("reserved", &[]), NOW).unwrap();
    assert_eq!(reserved, TaskId(26));
    assert_eq!(create(&other, "after a reservation", &[]), TaskId(27));
    let create_as = || {
        let new = new("reserved", &[]);
        board.create_as(Some(reserved), new, NOW).unwrap().id
    };
    assert_eq!(create_as(), TaskId(26));
    // The number is used now.
    assert_eq!(create_as(), TaskId(28));
    assert!(other.get(TaskId(24)).is_err());
}

pub fn blockers_that_finish_at_once_release_their_dependents(backend: &dyn Backend) {
    let board = backend.open().board;
    for _ in 0..6 {
        let blockers = [create(&board, "a", &[]), create(&board, "b", &[])];
        let dependents = [
            create(&board, "c", &blockers),
            create(&board, "d", &blockers),
        ];
        race(backend, 2, |n, stores| {
            let who = name(&format!("agent-{n}"));
            stores.board.complete(blockers[n], &who, NOW).unwrap();
        });
        for id in dependents {
            let graph = board.read().unwrap().graph;
            let task = graph.get(id).unwrap();
            assert!(graph.is_ready(task), "{task:?}");
            assert_eq!(task.blocked_by, []);
            board.claim(Some(id), &claimer("carol"), NOW).unwrap();
            board.complete(id, &name("carol"), NOW).unwrap();
        }
        for id in blockers {
            assert_eq!(board.get(id).unwrap().blocks, dependents);
        }
    }
}

pub fn claim_requires_all_blockers_done_and_matching_tags(backend: &dyn Backend) {
    let (board, other) = (backend.open().board, backend.open().board);
    let first = create(&board, "a", &[]);
    let second = create(&board, "b", &[first]);
    let blocked = board.claim(Some(second), &claimer("bob"), NOW).unwrap_err();
    assert!(
        matches!(blocked, StoreError::Graph(GraphError::Blocked(..))),
        "{blocked}"
    );
    let mut tagged = new("c", &[]);
    tagged.tags = vec!["gpu".into()];
    let tagged = other.create(tagged, NOW).unwrap().id;
    let refused = board.claim(Some(tagged), &claimer("bob"), NOW).unwrap_err();
    assert!(
        matches!(refused, StoreError::Graph(GraphError::Tags(..))),
        "{refused}"
    );
    let with_gpu = Claimer {
        tags: vec!["GPU".into()],
        ..claimer("dora")
    };
    let claimed = board.claim(Some(tagged), &with_gpu, NOW).unwrap().unwrap();
    assert_eq!(
        (claimed.owner.as_str(), claimed.status),
        ("dora", TaskStatus::InProgress)
    );
    let refused = other.complete(tagged, &name("bob"), NOW).unwrap_err();
    assert!(
        matches!(refused, StoreError::Graph(GraphError::OtherOwner(..))),
        "{refused}"
    );
    other.complete(first, &name("bob"), NOW).unwrap();
    let next = board.claim(None, &claimer("bob"), NOW).unwrap().unwrap();
    assert_eq!(next.id, second);
    assert_eq!(board.claim(None, &claimer("erin"), NOW).unwrap(), None);
}

pub fn graph_stays_free_of_cycles(backend: &dyn Backend) {
    let board = backend.open().board;
    let a = create(&board, "a", &[]);
    let b = create(&board, "b", &[a]);
    let c = create(&board, "c", &[b]);
    let done = create(&board, "done", &[]);
    board.complete(done, &name("bob"), NOW).unwrap();
    let before = board.read().unwrap().graph;
    let other = backend.open().board;
    for (on, reason) in [
        (c, "would close a cycle"),
        (a, "itself"),
        (TaskId(99), "does not exist"),
        (done, "completed"),
    ] {
        let refused = other.edit(a, &block_on(&[on]), NOW).unwrap_err();
        let expected = match reason {
            "would close a cycle" => matches!(refused, StoreError::Graph(GraphError::Cycle { .. })),
            "itself" => matches!(refused, StoreError::Graph(GraphError::SelfBlock(_))),
            "does not exist" => matches!(refused, StoreError::Graph(GraphError::Unknown(..))),
            _ => matches!(refused, StoreError::Graph(GraphError::CompletedBlocker(_))),
        };
        assert!(expected, "{reason}: {refused}");
    }
    assert_eq!(board.read().unwrap().graph, before);
    assert_eq!(before.find_cycle(), None);
}

pub fn racing_edits_do_not_close_a_cycle(backend: &dyn Backend) {
    let board = backend.open().board;
    for _ in 0..6 {
        let ids = [create(&board, "a", &[]), create(&board, "b", &[])];
        let edits = race(backend, 2, |n, stores| {
            let edit = block_on(&[ids[1 - n]]);
            stores.board.edit(ids[n], &edit, NOW).is_ok()
        });
        assert_eq!(edits.iter().filter(|is_ok| **is_ok).count(), 1);
        assert_eq!(board.read().unwrap().graph.find_cycle(), None);
    }
}

pub fn no_task_waits_for_a_blocker_that_finished_at_the_same_time(backend: &dyn Backend) {
    let board = backend.open().board;
    for _ in 0..6 {
        let (blocker, waiting) = (create(&board, "a", &[]), create(&board, "b", &[]));
        let results = race(backend, 2, |n, stores| match n {
            0 => stores.board.complete(blocker, &name("bob"), NOW).is_ok(),
            _ => stores
                .board
                .edit(waiting, &block_on(&[blocker]), NOW)
                .is_ok(),
        });
        assert!(results[0]);
        let graph = board.read().unwrap().graph;
        let task = graph.get(waiting).unwrap();
        assert!(graph.is_ready(task), "{task:?}");
    }
}

pub fn rejected_changes_leave_the_board_unchanged(backend: &dyn Backend) {
    let board = backend.open().board;
    let id = create(&board, "a", &[]);
    board.claim(Some(id), &claimer("bob"), NOW).unwrap();
    let before = board.read().unwrap().graph;
    let carol = name("carol");
    assert!(board.create(new(" ", &[]), NOW).is_err());
    assert!(board.create(new("b", &[TaskId(9)]), NOW).is_err());
    assert!(board.release(id, &carol, NOW).is_err());
    assert!(board.complete(id, &carol, NOW).is_err());
    assert!(board.remove(id, NOW).is_err());
    assert!(board.start(id, &claimer("carol"), NOW).is_err());
    assert!(board.edit(TaskId(9), &TaskEdit::default(), NOW).is_err());
    assert_eq!(backend.open().board.read().unwrap().graph, before);
    assert_eq!(board.read().unwrap().graph, before);
    // The task that was taken away is offered again, but not to the same agent.
    board.take(id, &name("bob"), NOW).unwrap();
    assert_eq!(board.claim(None, &claimer("bob"), NOW).unwrap(), None);
    assert!(board.claim(None, &claimer("carol"), NOW).unwrap().is_some());
}

pub fn import_adds_all_tasks_or_none(backend: &dyn Backend) {
    let board = backend.open().board;
    let first = create(&board, "a", &[]);
    let planned = |waits_for: [&[usize]; 3]| -> Vec<PlannedTask> {
        let task = |(n, waits_for): (usize, &[usize])| PlannedTask {
            new: new(&format!("import {n}"), &[first]),
            waits_for: waits_for.to_vec(),
            imported_from: format!("list.md:{n}"),
        };
        waits_for.into_iter().enumerate().map(task).collect()
    };
    let cycle = planned([&[1], &[2], &[0]]);
    let add = |tasks: Vec<PlannedTask>| {
        board.create_all(|_: &TaskGraph| Ok::<_, StoreError>(tasks.clone()), NOW)
    };
    assert!(add(cycle).is_err());
    assert_eq!(board.read().unwrap().graph.len(), 1);
    let refused: Result<_, String> = {
        #[derive(Debug)]
        struct Why(String);
        impl From<StoreError> for Why {
            fn from(error: StoreError) -> Why {
                Why(error.to_string())
            }
        }
        board
            .create_all(|_| Err(Why("no".into())), NOW)
            .map_err(|why| why.0)
    };
    assert_eq!(refused.unwrap_err(), "no");
    let preview = board
        .preview_all(|_| Ok::<_, StoreError>(planned([&[], &[0], &[0, 1]])), NOW)
        .unwrap();
    let added = add(planned([&[], &[0], &[0, 1]])).unwrap();
    assert_eq!(preview, added);
    let other = backend.open().board.read().unwrap().graph;
    let ids: Vec<TaskId> = other.tasks().map(|task| task.id).collect();
    assert_eq!(ids, [TaskId(1), TaskId(2), TaskId(3), TaskId(4)]);
    assert_eq!(
        other.get(TaskId(4)).unwrap().blocked_by,
        [TaskId(1), TaskId(2), TaskId(3)]
    );
    assert_eq!(
        other.get(first).unwrap().blocks,
        [TaskId(2), TaskId(3), TaskId(4)]
    );
    // Imports and single tasks that race get different numbers.
    race(backend, 3, |n, stores| match n {
        0 => {
            let plan = |_: &TaskGraph| Ok::<_, StoreError>(planned([&[], &[], &[]]));
            stores.board.create_all(plan, NOW).unwrap();
        }
        _ => _ = create(&stores.board, "single", &[]),
    });
    assert_eq!(board.read().unwrap().graph.len(), 9);
}

pub fn import_of_several_megabytes_is_one_change(backend: &dyn Backend) {
    const TASKS: usize = 40;
    let board = backend.open().board;
    let plan = |_: &TaskGraph| {
        let planned = (0..TASKS).map(|n| PlannedTask {
            new: NewTask {
                description: "x".repeat(60_000),
                ..new(&format!("import {n}"), &[])
            },
            waits_for: n.checked_sub(1).into_iter().collect(),
            imported_from: format!("list.md:{n}"),
        });
        Ok::<_, StoreError>(planned.collect::<Vec<PlannedTask>>())
    };
    let seen = race(backend, 3, |n, stores| match n {
        0 => {
            let added = stores.board.create_all(plan, NOW).unwrap();
            let ids: Vec<u64> = added.iter().map(|task| task.id.0).collect();
            assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{ids:?}");
            BTreeSet::from([ids.len()])
        }
        1 => {
            for n in 0..3 {
                create(&stores.board, &format!("single {n}"), &[]);
            }
            BTreeSet::new()
        }
        _ => {
            let imported = || {
                let graph = stores.board.read().unwrap().graph;
                graph
                    .tasks()
                    .filter(|task| !task.imported_from.is_empty())
                    .count()
            };
            (0..50).map(|_| imported()).collect()
        }
    });
    assert_eq!(seen[0], BTreeSet::from([TASKS]));
    // The files show the tasks of an import one after the other, but another writer waits until all are there.
    assert!(seen[2].iter().all(|count| *count <= TASKS));
    let graph = backend.open().board.read().unwrap().graph;
    assert_eq!(graph, board.read().unwrap().graph);
    assert_eq!(graph.len(), TASKS + 3);
    let numbers: BTreeSet<TaskId> = graph.tasks().map(|task| task.id).collect();
    let expected: BTreeSet<TaskId> = (1..=TASKS as u64 + 3).map(TaskId).collect();
    assert_eq!(numbers, expected);
}

pub fn damaged_task_is_reported_once_and_keeps_its_number(backend: &dyn Backend) {
    let board = backend.open().board;
    let (first, second) = (create(&board, "a", &[]), create(&board, "b", &[]));
    let known = board.read().unwrap().graph;
    backend.damage_task(second);
    let update = board.update_since(&TaskSet::All, &known).unwrap();
    assert_eq!(update.notices.len(), 1, "{:?}", update.notices);
    assert!(update.notices[0].contains('2'), "{:?}", update.notices);
    let known = board.read().unwrap().graph;
    assert_eq!(
        known.tasks().map(|t| t.id).collect::<Vec<TaskId>>(),
        [first]
    );
    let update = board.update_since(&TaskSet::All, &known).unwrap();
    assert_eq!(
        (update.delta, update.notices),
        (BoardDelta::default(), vec![])
    );
    assert!(board.get(second).is_err());
    assert_eq!(create(&backend.open().board, "c", &[]), TaskId(3));
}

pub fn update_since_reports_what_changed(backend: &dyn Backend) {
    let (board, other) = (backend.open().board, backend.open().board);
    let ids = [create(&board, "a", &[]), create(&board, "b", &[])];
    let known = board.read().unwrap().graph;
    other.claim(Some(ids[0]), &claimer("bob"), NOW).unwrap();
    other.remove(ids[1], NOW).unwrap();
    let third = create(&other, "c", &[]);
    let changed = TaskSet::These(BTreeSet::from([ids[0], ids[1], third]));
    for which in [TaskSet::All, changed] {
        let delta = board.update_since(&which, &known).unwrap().delta;
        let now = other.read().unwrap().graph;
        assert_eq!(delta, known.delta(&now));
        assert_ne!(delta, BoardDelta::default());
    }
    let owner = board.query(|graph| graph.get(ids[0]).map(|task| task.owner.clone()));
    assert_eq!(owner.unwrap().as_deref(), Some("bob"));
}

pub fn removed_task_releases_its_dependents(backend: &dyn Backend) {
    let board = backend.open().board;
    let blocker = create(&board, "a", &[]);
    let waiting = create(&board, "b", &[blocker]);
    let removed = backend.open().board.remove(blocker, NOW).unwrap();
    assert_eq!(removed.subject, "a");
    let graph = board.read().unwrap().graph;
    let task = graph.get(waiting).unwrap();
    assert!(graph.is_ready(task), "{task:?}");
    assert!(graph.get(blocker).is_none());
}

pub fn unknown_fields_of_tasks_survive_changes(backend: &dyn Backend) {
    let board = backend.open().board;
    let (first, second) = (create(&board, "a", &[]), create(&board, "b", &[]));
    board.edit(second, &block_on(&[first]), NOW).unwrap();
    for id in [first, second] {
        let mut task = (*board.get(id).unwrap()).clone();
        task.extra.insert("color".into(), "red".into());
        backend.put_task(&task);
    }
    let other = backend.open().board;
    other.claim(Some(first), &claimer("bob"), NOW).unwrap();
    other.complete(first, &name("bob"), NOW).unwrap();
    let graph = board.read().unwrap().graph;
    assert_eq!(graph.len(), 2);
    for task in graph.tasks() {
        assert_eq!(task.extra["color"], "red", "{task:?}");
    }
    assert_eq!(board.get(second).unwrap().blocked_by, []);
}
