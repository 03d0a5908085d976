//! How the tasks of a board are stored on a hub, and the board that follows from the records. Does no I/O.
//!
//! Each task is a key. A change is stored as one message under the key of the task that it is about, and is therefore
//! stored completely or not at all. If the change has consequences for other tasks, because it adds, completes or removes
//! a dependency, the message also contains the new dependencies of these tasks. Of two messages with the dependencies of
//! a task, the later one counts. A message that replaces another one under its key repeats those of its dependencies that
//! still count. An import is one message under a key of its own, which is never replaced.
//!
//! An import that is larger than a message has parts under keys of their own, and then a closing message with their number.
//! The tasks of the parts are on the board from the closing message on. Parts without one are of a writer that is still
//! busy or was killed. A closing message with the number 0 abandons the import: its parts will never count, and are replaced
//! by empty messages. They are not deleted, because the last message of the stream must stay: its sequence number is what
//! the next change expects.
//!
//! A removed task leaves a record without a task, so its number is not used again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::catch_up::Rereads;
use super::ignored_records::unreadable_text;
use super::stored::UNSIGNED;
use super::task_keys::{import_of_part, is_import, task_key, task_of};
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;

/// One stored change.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct TaskRecord {
    /// The task of the key after the change; `None` if it was removed, or its number is only reserved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// The tasks of an import.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imported: Vec<Task>,
    /// Set if the tasks of the import are in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<ImportParts>,
    /// The dependencies of other tasks after the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<TaskDependencies>,
}

/// What the closing message of an import says about its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ImportParts {
    /// Number of parts; 0 if the import is abandoned.
    pub count: usize,
    /// The highest number of a task.
    #[serde(default)]
    pub last: TaskId,
}

/// One part of an import.
#[derive(Debug, Deserialize)]
struct ImportPart {
    tasks: Vec<Task>,
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

/// Returns whether a record can be used. If not, the record that it has replaced may have had dependencies of other tasks.
pub(super) fn is_readable(key: &str, payload: &[u8]) -> bool {
    if import_of_part(key).is_some() {
        // A part that was emptied is of an import that does not count.
        payload.is_empty() || serde_json::from_slice::<ImportPart>(payload).is_ok()
    } else {
        serde_json::from_slice::<TaskRecord>(payload).is_ok()
    }
}

/// Returns the contents of the parts of an import, each of at most `limit` bytes. Fails with the number of a task that is
/// larger.
///
/// # Errors
/// When a task cannot be serialized.
pub(super) fn part_payloads(
    tasks: &[Task],
    limit: usize,
) -> Result<Result<Vec<Vec<u8>>, TaskId>, serde_json::Error> {
    const BEGIN: &[u8] = b"{\"tasks\":[";
    const END: &[u8] = b"]}";
    let (mut parts, mut part) = (Vec::new(), BEGIN.to_vec());
    for task in tasks {
        let text = serde_json::to_vec(task)?;
        if BEGIN.len() + text.len() + END.len() > limit {
            return Ok(Err(task.id));
        }
        let is_empty = part.len() == BEGIN.len();
        if !is_empty && part.len() + 1 + text.len() + END.len() > limit {
            part.extend_from_slice(END);
            parts.push(std::mem::replace(&mut part, BEGIN.to_vec()));
        } else if !is_empty {
            part.push(b',');
        }
        part.extend_from_slice(&text);
    }
    part.extend_from_slice(END);
    parts.push(part);
    Ok(Ok(parts))
}

/// An import whose parts are stored and do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeftoverImport {
    /// The key of the import.
    pub key: String,
    /// The numbers of the parts.
    pub parts: Vec<usize>,
    /// Whether no closing message can be stored any more.
    pub is_abandoned: bool,
}

/// The board that follows from the records up to a point.
#[derive(Debug, Default)]
pub(super) struct TaskMirror {
    pub graph: Arc<TaskGraph>,
    /// The sequence number of the last record.
    pub sequence: u64,
    /// The epoch of the connection in which the records were read; 0 if they must be read again.
    pub epoch: u64,
    pub rereads: Rereads,
    /// The highest number that was ever used.
    pub last: TaskId,
    /// For each task, the sequence number of the record that has stored the task itself.
    stored_at: BTreeMap<TaskId, u64>,
    /// The tasks whose dependencies are in a record of another task: the key and the sequence number of this record.
    elsewhere: BTreeMap<TaskId, (String, u64)>,
    /// Imports of which only parts are stored, by key: the contents of the parts by number.
    open_imports: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    /// The keys of the imports that were abandoned.
    abandoned: BTreeSet<String>,
    /// Records that cannot be read, by key.
    problems: BTreeMap<String, String>,
}

impl TaskMirror {
    /// Adds a record that was stored after all others. Returns the tasks that may have changed.
    pub fn apply(&mut self, key: &str, sequence: u64, payload: &[u8]) -> BTreeSet<TaskId> {
        self.sequence = self.sequence.max(sequence);
        if payload == UNSIGNED {
            return self.forget_replaced(key);
        }
        if task_of(key).is_none() && !is_import(key) {
            return BTreeSet::new();
        }
        self.problems.remove(key);
        if let Some((import, number)) = import_of_part(key) {
            if payload.is_empty() {
                self.remove_part(import, number);
            } else {
                let parts = self.open_imports.entry(import.into()).or_default();
                parts.insert(number, payload.to_vec());
            }
            return BTreeSet::new();
        }
        let id = task_of(key);
        if let Some(id) = id {
            self.last = self.last.max(id);
        }
        let record: TaskRecord = match serde_json::from_slice(payload) {
            Ok(record) => record,
            Err(why) => {
                let problem = unreadable_text(&format!("tasks.{key}"), &why.to_string());
                self.problems.insert(key.into(), problem);
                // A client that reads everything again does not have the task either.
                if let Some(id) = id {
                    self.forget(id);
                }
                return id.into_iter().collect();
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
                self.forget(id);
            }
            (_, None) => {}
        }
        let mut imported = record.imported;
        if let Some(parts) = record.parts {
            imported.append(&mut self.close_import(key, parts));
        }
        for task in imported {
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

    /// Removes what the record that an unsigned one has replaced says of its key: a client that reads everything again does
    /// not find it either. Returns the tasks that may have changed.
    fn forget_replaced(&mut self, key: &str) -> BTreeSet<TaskId> {
        self.problems.remove(key);
        self.abandoned.remove(key);
        if let Some((import, number)) = import_of_part(key) {
            self.remove_part(import, number);
            return BTreeSet::new();
        }
        let id = task_of(key);
        let known = id.filter(|id| self.graph.get(*id).is_some());
        if let Some(id) = known {
            self.forget(id);
        }
        known.into_iter().collect()
    }

    fn remove_part(&mut self, import: &str, number: usize) {
        if let Some(parts) = self.open_imports.get_mut(import) {
            parts.remove(&number);
            if parts.is_empty() {
                self.open_imports.remove(import);
            }
        }
    }

    /// Returns the tasks of an import whose closing message has the key `key`.
    fn close_import(&mut self, key: &str, closing: ImportParts) -> Vec<Task> {
        self.last = self.last.max(closing.last);
        if closing.count == 0 {
            self.abandoned.insert(key.into());
            return Vec::new();
        }
        let found = self.open_imports.remove(key).unwrap_or_default();
        let parts = (0..closing.count).map_while(|number| found.get(&number));
        let parts = parts.map(|part| serde_json::from_slice::<ImportPart>(part));
        let problem = match parts.collect::<Result<Vec<ImportPart>, _>>() {
            Ok(parts) if parts.len() == closing.count => {
                return parts.into_iter().flat_map(|part| part.tasks).collect();
            }
            Ok(parts) => format!("it has only {} of {} parts", parts.len(), closing.count),
            Err(why) => why.to_string(),
        };
        let problem = unreadable_text(&format!("tasks.{key}"), &problem);
        self.problems.insert(key.into(), problem);
        Vec::new()
    }

    /// Returns whether all parts of an import are stored, and its closing message is not.
    pub fn has_open_import(&self, key: &str, count: usize) -> bool {
        let open = self.open_imports.get(key);
        !self.abandoned.contains(key) && open.is_some_and(|parts| parts.len() == count)
    }

    /// Returns the imports whose parts do not count. The writer of one that is not abandoned may still be busy.
    pub fn leftover_imports(&self) -> Vec<LeftoverImport> {
        let open = self.open_imports.iter();
        open.map(|(key, parts)| LeftoverImport {
            key: key.clone(),
            parts: parts.keys().copied().collect(),
            is_abandoned: self.abandoned.contains(key),
        })
        .collect()
    }

    fn forget(&mut self, id: TaskId) {
        self.stored_at.remove(&id);
        self.elsewhere.remove(&id);
        Arc::make_mut(&mut self.graph).forget(id);
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
            dependencies: self.dependencies(&key, id, changed, next),
            ..TaskRecord::default()
        }
    }

    /// Returns the record of an import of the tasks `new`, which wait for the tasks `blockers`.
    pub fn import(&self, new: &[TaskId], blockers: &[TaskId], next: &TaskGraph) -> TaskRecord {
        TaskRecord {
            imported: new.iter().filter_map(|id| next.get(*id).cloned()).collect(),
            dependencies: self.dependencies("", TaskId::default(), blockers, next),
            ..TaskRecord::default()
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
mod tests;
