//! How the tasks of a board are stored on a hub, and the board that follows from the records. Does no I/O.
//!
//! Each task is a key. A change is stored as one message under the key of the task that it is about, and is therefore
//! stored completely or not at all. If the change has consequences for other tasks, because it adds, completes or removes
//! a dependency, the message also contains the new dependencies of these tasks. Of two messages with the dependencies of
//! a task, the later one counts. A message that replaces another one under its key repeats those of its dependencies that
//! still count. An import is one message under a key of its own, which is never replaced.
//!
//! A removed task leaves a record without a task, so its number is not used again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::stored::UNSIGNED;
use super::unsigned::unsigned_text;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;

/// Begins the key of an import.
const IMPORT: &str = "import-";

/// One stored change.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    /// The task of the key after the change; `None` if it was removed, or its number is only reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// The tasks of an import.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<Task>,
    /// The dependencies of other tasks after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<TaskDependencies>,
}

/// The dependencies of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskDependencies {
    pub id: TaskId,
    #[serde(rename = "blockedBy", default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<TaskId>,
    #[serde(default)]
    pub updated_at: Timestamp,
}

impl TaskDependencies {
    fn of(task: &Task) -> TaskDependencies {
        TaskDependencies {
            id: task.id,
            blocked_by: task.blocked_by.clone(),
            blocks: task.blocks.clone(),
            updated_at: task.updated_at,
        }
    }
}

pub(super) fn task_key(id: TaskId) -> String {
    id.0.to_string()
}

pub(super) fn import_key(unique: &str) -> String {
    format!("{IMPORT}{unique}")
}

/// The board that follows from the records up to a point.
#[derive(Debug, Default)]
pub(super) struct TaskMirror {
    pub graph: Arc<TaskGraph>,
    /// The sequence number of the last record.
    pub sequence: u64,
    /// The epoch of the connection in which the records were read; 0 if they must be read again.
    pub epoch: u64,
    /// The highest number that was ever used.
    pub last: TaskId,
    /// For each task, the sequence number of the record that has stored the task itself.
    stored_at: BTreeMap<TaskId, u64>,
    /// The tasks whose dependencies are in a record of another task: the key and the sequence number of this record.
    elsewhere: BTreeMap<TaskId, (String, u64)>,
    /// Records that cannot be read, by key.
    problems: BTreeMap<String, String>,
}

impl TaskMirror {
    /// Adds a record that was stored after all others. Returns the tasks that may have changed.
    pub fn apply(&mut self, key: &str, sequence: u64, payload: &[u8]) -> BTreeSet<TaskId> {
        self.sequence = self.sequence.max(sequence);
        if payload == UNSIGNED {
            let problem = unsigned_text(&format!("tasks.{key}"));
            self.problems.insert(key.into(), problem);
            return BTreeSet::new();
        }
        let id = key.parse().ok().map(TaskId);
        if let Some(id) = id {
            self.last = self.last.max(id);
        }
        self.problems.remove(key);
        let record: TaskRecord = match serde_json::from_slice(payload) {
            Ok(record) => record,
            Err(why) => {
                let problem = format!("the record {key} on the hub cannot be read: {why}");
                self.problems.insert(key.into(), problem);
                return BTreeSet::new();
            }
        };
        let mut changed = BTreeSet::new();
        match (record.task, id) {
            (Some(task), Some(id)) => {
                changed.insert(id);
                self.store(Task { id, ..task }, sequence);
            }
            (None, Some(id)) => {
                changed.insert(id);
                self.stored_at.remove(&id);
                self.elsewhere.remove(&id);
                Arc::make_mut(&mut self.graph).forget(id);
            }
            (_, None) => {}
        }
        for task in record.imported {
            self.last = self.last.max(task.id);
            changed.insert(task.id);
            self.store(task, sequence);
        }
        for new in record.dependencies {
            if let Some(task) = self.graph.get(new.id) {
                let task = Task {
                    blocked_by: new.blocked_by,
                    blocks: new.blocks,
                    updated_at: new.updated_at,
                    ..task.clone()
                };
                changed.insert(new.id);
                self.elsewhere.insert(new.id, (key.into(), sequence));
                Arc::make_mut(&mut self.graph).put(Arc::new(task));
            }
        }
        changed
    }

    fn store(&mut self, task: Task, sequence: u64) {
        self.stored_at.insert(task.id, sequence);
        self.elsewhere.remove(&task.id);
        Arc::make_mut(&mut self.graph).put(Arc::new(task));
    }

    /// Returns the record of a change of the task `id`, and of the other tasks `changed`, as they are in `next`.
    pub fn record(&self, id: TaskId, changed: &[TaskId], next: &TaskGraph) -> TaskRecord {
        let key = task_key(id);
        TaskRecord {
            task: next.get(id).cloned(),
            imported: Vec::new(),
            dependencies: self.dependencies(&key, id, changed, next),
        }
    }

    /// Returns the record of an import of the tasks `new`, which wait for the tasks `blockers`.
    pub fn import(&self, new: &[TaskId], blockers: &[TaskId], next: &TaskGraph) -> TaskRecord {
        TaskRecord {
            task: None,
            imported: new.iter().filter_map(|id| next.get(*id).cloned()).collect(),
            dependencies: self.dependencies("", TaskId::default(), blockers, next),
        }
    }

    /// Returns the new dependencies of the tasks `changed`, and those that the record under `key` had stored and that
    /// still count. The task `id` is stored as a whole.
    fn dependencies(
        &self,
        key: &str,
        id: TaskId,
        changed: &[TaskId],
        next: &TaskGraph,
    ) -> Vec<TaskDependencies> {
        let repeated = self.elsewhere.iter().filter(|(_, (from, _))| from == key);
        let repeated = repeated.map(|(id, _)| *id);
        let is_changed = |id: &TaskId| self.graph.get(*id) != next.get(*id);
        let all: BTreeSet<TaskId> = changed
            .iter()
            .copied()
            .filter(is_changed)
            .chain(repeated)
            .filter(|other| *other != id)
            .collect();
        let tasks = all.iter().filter_map(|id| next.get(*id));
        tasks.map(TaskDependencies::of).collect()
    }

    pub fn problems(&self) -> Vec<String> {
        self.problems
            .values()
            .cloned()
            .chain(self.graph.find_cycle())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::graph::{GraphError, NewTask, PlannedTask, TaskEdit};
    use crate::domain::ids::Name;

    const NOW: Timestamp = Timestamp(1.0);

    /// The stream of a board: every record, of which only the last of each key is kept.
    #[derive(Default)]
    struct Log {
        records: Vec<(String, u64, Vec<u8>)>,
        mirror: TaskMirror,
    }

    impl Log {
        fn store(&mut self, key: String, record: &TaskRecord) {
            let sequence = self.mirror.sequence + 1;
            let payload = serde_json::to_vec(record).unwrap();
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

        /// Returns the board that a client reads that has seen none of the records.
        fn read(&self) -> TaskMirror {
            let mut mirror = TaskMirror::default();
            for (key, sequence, payload) in &self.records {
                mirror.apply(key, *sequence, payload);
            }
            mirror
        }
    }

    #[derive(Debug, Clone)]
    enum Step {
        Create(Vec<u64>),
        Import(Vec<u64>),
        Edit(u64, Vec<u64>, Vec<u64>),
        Complete(u64),
        Remove(u64),
        Describe(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let ids = || prop::collection::vec(1_u64..12, 0..3);
        let step = prop_oneof![
            ids().prop_map(Step::Create),
            ids().prop_map(Step::Import),
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
                match step {
                    Step::Create(on) => log.change(|graph| graph.create(next, new(&on), NOW)),
                    Step::Import(on) => {
                        let planned = [
                            PlannedTask { new: new(&on), ..PlannedTask::default() },
                            PlannedTask { new: new(&[]), waits_for: vec![0], ..PlannedTask::default() },
                        ];
                        let mut graph = (*log.mirror.graph).clone();
                        if let Ok(changed) = graph.create_all(next, &planned, NOW) {
                            let record = log.mirror.import(&changed[..2], &changed[2..], &graph);
                            log.store(import_key(&next.0.to_string()), &record);
                            prop_assert_eq!(&*log.mirror.graph, &graph);
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
            }
        }
    }

    #[test]
    fn unsigned_record_is_reported_and_reserves_no_number() {
        let mut mirror = TaskMirror::default();
        let record = serde_json::to_vec(&TaskRecord::default()).unwrap();
        mirror.apply("1", 1, &record);
        mirror.apply("99", 2, UNSIGNED);
        assert_eq!((mirror.last, mirror.sequence), (TaskId(1), 2));
        assert!(mirror.problems()[0].contains("tasks.99"));
        mirror.apply("99", 3, &record);
        assert_eq!(mirror.problems(), Vec::<String>::new());
    }

    #[test]
    fn unreadable_record_is_reported_and_keeps_its_number() {
        let mut mirror = TaskMirror::default();
        mirror.apply("3", 1, b"{\"task\": 7}");
        assert_eq!(mirror.last, TaskId(3));
        assert!(mirror.problems()[0].contains("record 3"));
        let record = TaskRecord::default();
        mirror.apply("3", 2, &serde_json::to_vec(&record).unwrap());
        assert_eq!(mirror.problems(), Vec::<String>::new());
    }
}
