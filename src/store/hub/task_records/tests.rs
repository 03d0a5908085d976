//! Tests of the records of tasks.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::super::task_keys::{import_key, part_key};
use super::*;
use crate::domain::graph::{GraphError, NewTask, PlannedTask, TaskEdit};
use crate::domain::ids::Name;

const NOW: Timestamp = Timestamp(1.0);

fn task(id: u64) -> Task {
    serde_json::from_value(serde_json::json!({ "id": id, "subject": "a" })).unwrap()
}

/// The stream of a board: every record, of which only the last of each key is kept.
#[derive(Default)]
struct Log {
    records: Vec<(String, u64, Vec<u8>)>,
    mirror: TaskMirror,
}

impl Log {
    fn store(&mut self, key: String, record: &TaskRecord) {
        let payload = serde_json::to_vec(record).unwrap();
        self.store_bytes(key, payload);
    }

    fn store_bytes(&mut self, key: String, payload: Vec<u8>) {
        let sequence = self.mirror.sequence + 1;
        self.mirror.apply(&key, sequence, &payload);
        self.records.retain(|(other, ..)| *other != key);
        self.records.push((key, sequence, payload));
    }

    fn change(&mut self, rule: impl FnOnce(&mut TaskGraph) -> Result<Vec<TaskId>, GraphError>) {
        let mut next = (*self.mirror.graph).clone();
        if let Ok(changed) = rule(&mut next) {
            let record = self.mirror.record(changed[0], &changed[1..], &next);
            self.store(task_key(changed[0]), &record);
            assert_eq!(*self.mirror.graph, next);
        }
    }

    /// Stores the parts of an import, of which each has one task.
    fn store_parts(&mut self, import: &str, record: &TaskRecord) -> usize {
        let mut count = 0;
        for tasks in record.imported.chunks(1) {
            for payload in part_payloads(tasks, usize::MAX).unwrap().unwrap() {
                self.store_bytes(part_key(import, count), payload);
                count += 1;
            }
        }
        count
    }

    /// Empties the parts of an import, as a repair does.
    fn empty_parts(&mut self, import: &str, count: usize) {
        for number in 0..count {
            self.store_bytes(part_key(import, number), Vec::new());
        }
    }

    /// Returns the board that a client reads that has seen none of the records.
    fn read(&self) -> TaskMirror {
        let mut mirror = TaskMirror::default();
        for (key, sequence, payload) in &self.records {
            mirror.apply(key, *sequence, payload);
        }
        mirror
    }
}

#[derive(Debug, Clone, Copy)]
enum ImportEnd {
    Closed,
    WriterKilled,
    /// The writer has emptied its parts.
    GivenUp,
    Abandoned,
    Emptied,
}

#[derive(Debug, Clone)]
enum Step {
    Create(Vec<u64>),
    Import(Vec<u64>),
    /// An import in parts, with a change of the task in between, and how it ends.
    ImportParts(Vec<u64>, u64, ImportEnd),
    Edit(u64, Vec<u64>, Vec<u64>),
    Complete(u64),
    Remove(u64),
    Describe(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ids = || prop::collection::vec(1_u64..12, 0..3);
    let end = prop_oneof![
        Just(ImportEnd::Closed),
        Just(ImportEnd::WriterKilled),
        Just(ImportEnd::GivenUp),
        Just(ImportEnd::Abandoned),
        Just(ImportEnd::Emptied),
    ];
    let step = prop_oneof![
        ids().prop_map(Step::Create),
        ids().prop_map(Step::Import),
        (ids(), 1_u64..12, end).prop_map(|(on, id, end)| Step::ImportParts(on, id, end)),
        (1_u64..12, ids(), ids()).prop_map(|(id, on, off)| Step::Edit(id, on, off)),
        (1_u64..12).prop_map(Step::Complete),
        (1_u64..12).prop_map(Step::Remove),
        (1_u64..12).prop_map(Step::Describe),
    ];
    prop::collection::vec(step, 0..40)
}

fn ids(numbers: &[u64]) -> Vec<TaskId> {
    numbers.iter().copied().map(TaskId).collect()
}

proptest! {
    #[test]
    fn last_records_give_the_same_board_as_all_records(steps in steps()) {
        let mut log = Log::default();
        let bob = Name::member("bob").unwrap();
        for step in steps {
            let next = TaskId(log.mirror.last.0 + 1);
            let new = |on: &[u64]| NewTask {
                subject: "a".into(),
                blocked_by: ids(on),
                ..NewTask::default()
            };
            let planned = |on: &[u64]| [
                PlannedTask { new: new(on), ..PlannedTask::default() },
                PlannedTask { new: new(&[]), waits_for: vec![0], ..PlannedTask::default() },
            ];
            match step {
                Step::Create(on) => log.change(|graph| graph.create(next, new(&on), NOW)),
                Step::Import(on) => {
                    let mut graph = (*log.mirror.graph).clone();
                    if let Ok(changed) = graph.create_all(next, &planned(&on), NOW) {
                        let record = log.mirror.import(&changed[..2], &changed[2..], &graph);
                        log.store(import_key(&next.0.to_string()), &record);
                        prop_assert_eq!(&*log.mirror.graph, &graph);
                    }
                }
                Step::ImportParts(on, id, end) => {
                    let key = import_key(&format!("p{}", log.mirror.sequence));
                    // The new tasks do not depend on what changes between their parts and the closing message.
                    let mut graph = (*log.mirror.graph).clone();
                    let Ok(changed) = graph.create_all(next, &planned(&[]), NOW) else {
                        continue;
                    };
                    let record = log.mirror.import(&changed, &[], &graph);
                    let before = Arc::clone(&log.mirror.graph);
                    let count = log.store_parts(&key, &record);
                    prop_assert_eq!(&before, &log.mirror.graph);
                    prop_assert!(log.mirror.has_open_import(&key, count));
                    log.change(|graph| {
                        let edit = TaskEdit { block_on: ids(&on), ..TaskEdit::default() };
                        graph.edit(TaskId(id), &edit, NOW)
                    });
                    let before = Arc::clone(&log.mirror.graph);
                    match end {
                        ImportEnd::Closed => {
                            let mut graph = (*before).clone();
                            graph.create_all(next, &planned(&[]), NOW).unwrap();
                            let closing = ImportParts { count, last: TaskId(next.0 + 1) };
                            let closing = TaskRecord { parts: Some(closing), ..TaskRecord::default() };
                            log.store(key, &closing);
                            prop_assert_eq!(&*log.mirror.graph, &graph);
                            prop_assert_eq!(log.mirror.last, TaskId(next.0 + 1));
                        }
                        ImportEnd::WriterKilled => {}
                        ImportEnd::GivenUp => {
                            log.empty_parts(&key, count);
                            prop_assert!(!log.mirror.has_open_import(&key, count));
                            prop_assert_eq!(&before, &log.mirror.graph);
                        }
                        ImportEnd::Abandoned | ImportEnd::Emptied => {
                            let abandoned = ImportParts { count: 0, last: TaskId(0) };
                            let abandoned = TaskRecord { parts: Some(abandoned), ..TaskRecord::default() };
                            log.store(key.clone(), &abandoned);
                            prop_assert!(!log.mirror.has_open_import(&key, count));
                            prop_assert_eq!(&before, &log.mirror.graph);
                            if matches!(end, ImportEnd::Emptied) {
                                log.empty_parts(&key, count);
                            }
                        }
                    }
                }
                Step::Edit(id, on, off) => {
                    let edit = TaskEdit { block_on: ids(&on), unblock: ids(&off), ..TaskEdit::default() };
                    log.change(|graph| graph.edit(TaskId(id), &edit, NOW));
                }
                Step::Complete(id) => log.change(|graph| graph.complete(TaskId(id), &bob, NOW)),
                Step::Remove(id) => log.change(|graph| graph.remove(TaskId(id), NOW)),
                Step::Describe(id) => log.change(|graph| {
                    let edit = TaskEdit { description: Some(format!("{next}")), ..TaskEdit::default() };
                    graph.edit(TaskId(id), &edit, NOW)
                }),
            }
            let read = log.read();
            prop_assert_eq!(&*read.graph, &*log.mirror.graph);
            prop_assert_eq!(read.last, log.mirror.last);
            prop_assert_eq!(read.sequence, log.mirror.sequence);
            prop_assert_eq!(read.leftover_imports(), log.mirror.leftover_imports());
            prop_assert_eq!(read.problems(), Vec::<String>::new());
        }
    }
}

#[test]
fn parts_of_an_import_are_as_large_as_allowed() {
    let tasks: Vec<Task> = (1..=9).map(task).collect();
    let size = |tasks: &[Task]| part_payloads(tasks, usize::MAX).unwrap().unwrap()[0].len();
    let limit = size(&tasks[..4]);
    let parts = part_payloads(&tasks, limit).unwrap().unwrap();
    assert_eq!(parts.len(), 3);
    let mut read = Vec::new();
    for part in &parts {
        assert!(part.len() <= limit);
        read.extend(serde_json::from_slice::<ImportPart>(part).unwrap().tasks);
    }
    assert_eq!(read, tasks);
    let too_large = part_payloads(&tasks, size(&tasks[..1]) - 1).unwrap();
    assert_eq!(too_large, Err(TaskId(1)));
}

#[test]
fn import_that_lacks_a_part_adds_nothing_and_keeps_its_numbers() {
    let mut mirror = TaskMirror::default();
    let parts = part_payloads(&[task(1)], usize::MAX).unwrap().unwrap();
    let key = import_key("a");
    mirror.apply(&part_key(&key, 0), 1, &parts[0]);
    let parts = Some(ImportParts {
        count: 2,
        last: TaskId(2),
    });
    let closing = TaskRecord {
        parts,
        ..TaskRecord::default()
    };
    mirror.apply(&key, 2, &serde_json::to_vec(&closing).unwrap());
    assert_eq!((mirror.graph.len(), mirror.last), (0, TaskId(2)));
    assert!(mirror.problems()[0].contains("only 1 of 2 parts"));
}

#[test]
fn late_part_of_an_abandoned_import_does_not_count() {
    let mut mirror = TaskMirror::default();
    let parts = part_payloads(&[task(1)], usize::MAX).unwrap().unwrap();
    let part = &parts[0];
    let key = import_key("a");
    let abandoned = ImportParts {
        count: 0,
        last: TaskId(0),
    };
    let abandoned = TaskRecord {
        parts: Some(abandoned),
        ..TaskRecord::default()
    };
    mirror.apply(&part_key(&key, 0), 1, part);
    mirror.apply(&key, 2, &serde_json::to_vec(&abandoned).unwrap());
    mirror.apply(&part_key(&key, 1), 3, part);
    assert!(!mirror.has_open_import(&key, 2));
    let leftover = LeftoverImport {
        key: key.clone(),
        parts: vec![0, 1],
        is_abandoned: true,
    };
    assert_eq!(mirror.leftover_imports(), [leftover]);
    mirror.apply(&part_key(&key, 0), 4, b"");
    mirror.apply(&part_key(&key, 1), 5, b"");
    assert_eq!(mirror.leftover_imports(), []);
    assert_eq!((mirror.graph.len(), mirror.sequence), (0, 5));
}

#[test]
fn unsigned_record_reserves_no_number() {
    let mut mirror = TaskMirror::default();
    let record = serde_json::to_vec(&TaskRecord::default()).unwrap();
    mirror.apply("1", 1, &record);
    mirror.apply("99", 2, UNSIGNED);
    assert_eq!((mirror.last, mirror.sequence), (TaskId(1), 2));
    mirror.apply("99", 3, &record);
    assert_eq!((mirror.last, mirror.sequence), (TaskId(99), 3));
}

#[test]
fn unsigned_record_replaces_a_task_and_a_part_of_an_import() {
    let mut mirror = TaskMirror::default();
    let record = TaskRecord {
        task: Some(task(1)),
        ..TaskRecord::default()
    };
    mirror.apply("1", 1, &serde_json::to_vec(&record).unwrap());
    let changed = mirror.apply("1", 2, UNSIGNED);
    assert_eq!((changed.len(), mirror.graph.len()), (1, 0));
    let (key, parts) = (
        import_key("a"),
        part_payloads(&[task(2)], usize::MAX).unwrap().unwrap(),
    );
    let part = part_key(&key, 0);
    mirror.apply(&part, 3, &parts[0]);
    mirror.apply(&part, 4, UNSIGNED);
    assert!(!mirror.has_open_import(&key, 1));
    assert_eq!(mirror.leftover_imports(), []);
    mirror.apply(&part, 5, &parts[0]);
    assert!(mirror.has_open_import(&key, 1));
}

#[test]
fn unreadable_record_is_reported_and_keeps_its_number() {
    let mut mirror = TaskMirror::default();
    mirror.apply("3", 1, b"{\"task\": 7}");
    assert_eq!(mirror.last, TaskId(3));
    assert!(mirror.problems()[0].starts_with("task #3"));
    let record = TaskRecord::default();
    mirror.apply("3", 2, &serde_json::to_vec(&record).unwrap());
    assert_eq!(mirror.problems(), Vec::<String>::new());
}

#[test]
fn record_that_cannot_be_used_is_not_readable() {
    for (key, payload, expected) in [
        ("1", "{}", true),
        ("1", "{", false),
        ("1", "not signed", false),
        ("import-1", r#"{"parts":{"count":1}}"#, true),
        ("import-1", "", false),
        ("import-1-0", "", true),
        ("import-1-0", r#"{"tasks":[]}"#, true),
        ("import-1-0", "{}", false),
    ] {
        assert_eq!(
            is_readable(key, payload.as_bytes()),
            expected,
            "{key} {payload}"
        );
    }
}

#[test]
fn other_spellings_of_a_key_are_ignored() {
    let record = TaskRecord {
        task: Some(task(5)),
        ..TaskRecord::default()
    };
    let payload = serde_json::to_vec(&record).unwrap();
    let mut mirror = TaskMirror::default();
    for (sequence, key) in (1..).zip(["+5", "05", "a.b.5", "import-a.b", ""]) {
        assert!(mirror.apply(key, sequence, &payload).is_empty(), "{key}");
        assert_eq!(mirror.sequence, sequence);
    }
    assert_eq!((mirror.graph.len(), mirror.last), (0, TaskId(0)));
    mirror.apply("5", 9, &payload);
    assert_eq!(mirror.graph.len(), 1);
}
