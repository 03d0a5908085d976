//! Tests of imports: several tasks are added as one change, also if the writer is killed.

use pretty_assertions::assert_eq;

use super::*;

fn planned(subject: &str, waits_for: &[usize]) -> PlannedTask {
    PlannedTask {
        new: new(subject, &[]),
        waits_for: waits_for.to_vec(),
        imported_from: format!("from {subject}"),
    }
}

#[test]
fn several_tasks_are_added_together_or_not_at_all() {
    let fixture = TestBoard::new();
    let (board, other) = (fixture.open(), fixture.open());
    board.create(new("one", &[]), NOW).unwrap();
    other.read().unwrap();
    let set = || {
        let mut first = planned("two", &[1]);
        first.new.blocked_by = vec![TaskId(1)];
        vec![first, planned("three", &[])]
    };
    let ids = |tasks: &[Task]| tasks.iter().map(|t| t.id.0).collect::<Vec<_>>();
    let shown = board
        .preview_all(|_| Ok::<_, StoreError>(set()), NOW)
        .unwrap();
    assert_eq!(ids(&shown), [2, 3]);
    assert_eq!(fixture.open().read().unwrap().graph.len(), 1);
    // A task of the set that is rejected rejects all.
    for bad in [planned("", &[]), planned("self", &[2])] {
        let set = || Ok::<_, StoreError>([set(), vec![bad.clone()]].concat());
        board.create_all(|_| set(), NOW).unwrap_err();
        board.preview_all(|_| set(), NOW).unwrap_err();
    }
    let refused = board.create_all(
        |_| Err::<Vec<PlannedTask>, _>(StoreError::TooLong("no".into())),
        NOW,
    );
    assert_eq!(refused.unwrap_err().to_string(), "no");
    assert_eq!(fixture.open().read().unwrap().graph.len(), 1);
    let added = board
        .create_all(
            |graph| {
                assert_eq!(graph.len(), 1);
                Ok::<_, StoreError>(set())
            },
            NOW,
        )
        .unwrap();
    assert_eq!(added[0].blocked_by, [TaskId(1), TaskId(3)]);
    assert_eq!(fixture.text(2)["imported_from"], "from two");
    assert_eq!(fixture.text(1)["blocks"], serde_json::json!([2]));
    assert!(!fixture.file(files::IMPORT).exists());
    for board in [&board, &other, &fixture.open()] {
        let error = board
            .claim(Some(TaskId(2)), &claimer("bob"), NOW)
            .unwrap_err();
        assert!(error.to_string().contains("blocked by #1, #3"), "{error}");
    }
    let none = board.create_all(|_| Ok::<_, StoreError>(Vec::new()), NOW);
    assert!(none.unwrap().is_empty());
    assert_eq!(board.create(new("four", &[]), NOW).unwrap().id, TaskId(4));
}

#[test]
fn import_evades_a_number_that_another_program_takes() {
    let fixture = TestBoard::new();
    let board = fixture.open();
    board.create(new("one", &[]), NOW).unwrap();
    let mut calls = 0;
    let added = board
        .create_all(
            |graph| {
                calls += 1;
                if calls == 1 {
                    // Another program writes a file after the folder was listed.
                    let text = r#"{"id":3,"subject":"theirs"}"#;
                    std::fs::write(fixture.file("task_3.json"), text).unwrap();
                } else {
                    assert_eq!(graph.get(TaskId(3)).unwrap().subject, "theirs");
                    assert!(
                        graph.get(TaskId(2)).is_none(),
                        "the first attempt is undone"
                    );
                }
                let set = vec![planned("a", &[]), planned("b", &[0])];
                Ok::<_, StoreError>(set)
            },
            NOW,
        )
        .unwrap();
    assert_eq!((calls, added[0].id, added[1].id), (2, TaskId(4), TaskId(5)));
    assert_eq!(added[1].blocked_by, [TaskId(4)]);
    let graph = fixture.open().read().unwrap().graph;
    let ids: Vec<u64> = graph.tasks().map(|t| t.id.0).collect();
    assert_eq!(ids, [1, 3, 4, 5]);
    assert!(!fixture.file(files::IMPORT).exists());
}

/// Leaves the state of a writer that was killed during the import of tasks 2 to 4, after it has written `count` of their
/// files.
fn interrupt_import(fixture: &TestBoard, count: usize) {
    let lock = Lock::take(&fixture.file(LOCK)).unwrap();
    std::fs::write(fixture.file(LAST_ID), "4").unwrap();
    let mut log = change_log::ChangeLog::read(lock.file()).unwrap();
    log.append_all(lock.file()).unwrap();
    let task = |id: u64| serde_json::json!({"id": id, "subject": format!("task {id}"), "blockedBy": [id - 1]});
    let tasks: Vec<serde_json::Value> = (2..=4).map(task).collect();
    let stored = serde_json::json!({"tasks": tasks});
    std::fs::write(fixture.file(files::IMPORT), stored.to_string()).unwrap();
    for (id, task) in (2..).zip(&tasks).take(count) {
        let path = fixture.file(&files::name(TaskId(id)));
        std::fs::write(path, task.to_string()).unwrap();
    }
}

#[test]
fn interrupted_import_is_finished_by_the_next_process() {
    type Find = fn(&Board);
    let finders: [Find; 4] = [
        |board| drop(board.read_and_repair().unwrap()),
        |board| drop(board.update_since(&TaskSet::All, &TaskGraph::default())),
        |board| drop(board.claim(Some(TaskId(1)), &claimer("bob"), NOW).unwrap()),
        // The number of the new task is not one of the import.
        |board| assert_eq!(board.create(new("new", &[]), NOW).unwrap().id, TaskId(5)),
    ];
    for count in 0..=3 {
        for find in finders {
            let fixture = TestBoard::new();
            let running = fixture.open();
            running.create(new("task 1", &[]), NOW).unwrap();
            interrupt_import(&fixture, count);
            // A process that has the board in memory, and a new one.
            let board = if count % 2 == 0 {
                running
            } else {
                fixture.open()
            };
            find(&board);
            assert!(!fixture.file(files::IMPORT).exists(), "{count}");
            for board in [&board, &fixture.open()] {
                let graph = board.query(TaskGraph::clone).unwrap();
                let subjects = graph.tasks().map(|t| t.subject.clone()).take(4);
                let expected = (1..=4).map(|id| format!("task {id}"));
                assert!(subjects.eq(expected), "{graph:?}");
            }
        }
    }
}

#[test]
fn finished_import_is_reported_once_and_not_repeated() {
    let fixture = TestBoard::new();
    fixture.open().create(new("task 1", &[]), NOW).unwrap();
    interrupt_import(&fixture, 1);
    // A preview changes nothing, but counts the tasks.
    let board = fixture.open();
    let set = |graph: &TaskGraph| {
        assert_eq!(graph.len(), 4);
        Ok::<_, StoreError>(vec![planned("a", &[])])
    };
    assert_eq!(board.preview_all(set, NOW).unwrap()[0].id, TaskId(5));
    assert!(fixture.file(files::IMPORT).exists());
    // While the lock is held, its holder may still be writing.
    let lock = Lock::take(&fixture.file(LOCK)).unwrap();
    assert_eq!(
        board.read_and_repair().unwrap().notices,
        Vec::<String>::new()
    );
    assert!(fixture.file(files::IMPORT).exists());
    drop(lock);
    let notices = board.read_and_repair().unwrap().notices;
    assert_eq!(
        notices,
        ["an interrupted import was finished: 2 tasks were added, from #3 to #4"]
    );
    assert_eq!(
        board.read_and_repair().unwrap().notices,
        Vec::<String>::new()
    );
    board.remove(TaskId(4), NOW).unwrap();
    assert_eq!(fixture.open().read_and_repair().unwrap().graph.len(), 3);
    // A file that no import has left is set aside.
    for (text, n) in [("", 1), ("{\"tasks\":[{\"id\":0,\"subject\":\"x\"}]}", 2)] {
        std::fs::write(fixture.file(files::IMPORT), text).unwrap();
        let found = fixture.open().read_and_repair().unwrap();
        assert_eq!(found.graph.len(), 3);
        let renamed =
            format!(".tasks/.import was damaged and was renamed to .tasks/.import.damaged-{n}");
        assert_eq!(found.notices, [renamed]);
        assert!(!fixture.file(files::IMPORT).exists());
    }
    assert!(fixture.file(".import.damaged-2").exists());
}
