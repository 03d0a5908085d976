//! An index over the tasks of a graph. Its content is derived only from the tasks.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ids::TaskId;
use super::super::task::{Task, TaskStatus};

type Edges = BTreeMap<TaskId, BTreeSet<TaskId>>;

#[derive(Debug, Clone, Default)]
pub(super) struct GraphIndex {
    done: usize,
    /// Tasks that have an owner and are not completed, by owner. Keys are lowercase names.
    open: BTreeMap<String, BTreeSet<TaskId>>,
    /// For each task, the tasks that contain it in their `blocked_by`.
    waiting: Edges,
    /// For each task, the tasks that contain it in their `blocks`.
    blocking: Edges,
    ready: BTreeSet<TaskId>,
}

impl GraphIndex {
    /// Updates the index after a task has changed from `before` to `now`. `before` is `None` for a new task, and `now`
    /// is `None` for a deleted task. Does not update the set of ready tasks, because whether a task is ready also
    /// depends on other tasks.
    pub(super) fn replace(&mut self, before: Option<&Task>, now: Option<&Task>) {
        if let Some(task) = before {
            if task.status == TaskStatus::Completed {
                self.done -= 1;
            } else if !task.owner.is_empty() {
                let owner = task.owner.to_ascii_lowercase();
                if let Some(ids) = self.open.get_mut(&owner) {
                    ids.remove(&task.id);
                    if ids.is_empty() {
                        self.open.remove(&owner);
                    }
                }
            }
            remove_edges(&mut self.waiting, &task.blocked_by, task.id);
            remove_edges(&mut self.blocking, &task.blocks, task.id);
        }
        if let Some(task) = now {
            if task.status == TaskStatus::Completed {
                self.done += 1;
            } else if !task.owner.is_empty() {
                let owner = task.owner.to_ascii_lowercase();
                self.open.entry(owner).or_default().insert(task.id);
            }
            add_edges(&mut self.waiting, &task.blocked_by, task.id);
            add_edges(&mut self.blocking, &task.blocks, task.id);
        }
    }

    pub(super) fn add_ready(&mut self, id: TaskId) {
        self.ready.insert(id);
    }

    pub(super) fn remove_ready(&mut self, id: TaskId) {
        self.ready.remove(&id);
    }

    pub(super) fn is_ready(&self, id: TaskId) -> bool {
        self.ready.contains(&id)
    }

    pub(super) fn ready(&self) -> impl Iterator<Item = TaskId> {
        self.ready.iter().copied()
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    /// Returns the task with the lowest number that `owner` owns and has not completed; `None` if there is none. The
    /// case of the name does not matter.
    pub(super) fn first_open_task(&self, owner: &str) -> Option<TaskId> {
        let ids = self.open.get(&owner.to_ascii_lowercase())?;
        ids.first().copied()
    }

    pub(super) fn tasks_waiting_for(&self, id: TaskId) -> BTreeSet<TaskId> {
        self.waiting.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn tasks_blocking(&self, id: TaskId) -> BTreeSet<TaskId> {
        self.blocking.get(&id).cloned().unwrap_or_default()
    }
}

fn add_edges(edges: &mut Edges, to: &[TaskId], from: TaskId) {
    for id in to {
        edges.entry(*id).or_default().insert(from);
    }
}

fn remove_edges(edges: &mut Edges, to: &[TaskId], from: TaskId) {
    for id in to {
        if let Some(others) = edges.get_mut(id) {
            others.remove(&from);
            if others.is_empty() {
                edges.remove(id);
            }
        }
    }
}
