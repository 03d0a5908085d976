//! What the graph knows of its tasks without looking at each of them. All of it follows from the tasks.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ids::TaskId;
use super::super::task::{Task, TaskStatus};

type Edges = BTreeMap<TaskId, BTreeSet<TaskId>>;

#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    done: usize,
    /// The open tasks of an owner, whose name is in small letters.
    open: BTreeMap<String, BTreeSet<TaskId>>,
    /// Which tasks say that they wait for this one.
    waiting: Edges,
    /// Which tasks say that they block this one.
    blocking: Edges,
    ready: BTreeSet<TaskId>,
}

impl Index {
    /// Forgets one version of a task and learns the next. What is ready is said
    /// apart, because it depends on other tasks too.
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
            cut(&mut self.waiting, &task.blocked_by, task.id);
            cut(&mut self.blocking, &task.blocks, task.id);
        }
        if let Some(task) = now {
            if task.status == TaskStatus::Completed {
                self.done += 1;
            } else if !task.owner.is_empty() {
                let owner = task.owner.to_ascii_lowercase();
                self.open.entry(owner).or_default().insert(task.id);
            }
            tie(&mut self.waiting, &task.blocked_by, task.id);
            tie(&mut self.blocking, &task.blocks, task.id);
        }
    }

    pub(super) fn enter_ready(&mut self, id: TaskId) {
        self.ready.insert(id);
    }

    pub(super) fn leave_ready(&mut self, id: TaskId) {
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

    /// The first open task of an owner, whatever the case of the name.
    pub(super) fn open_of(&self, owner: &str) -> Option<TaskId> {
        let ids = self.open.get(&owner.to_ascii_lowercase())?;
        ids.first().copied()
    }

    pub(super) fn waiting(&self, id: TaskId) -> BTreeSet<TaskId> {
        self.waiting.get(&id).cloned().unwrap_or_default()
    }

    pub(super) fn blocking(&self, id: TaskId) -> BTreeSet<TaskId> {
        self.blocking.get(&id).cloned().unwrap_or_default()
    }
}

fn tie(edges: &mut Edges, to: &[TaskId], from: TaskId) {
    for id in to {
        edges.entry(*id).or_default().insert(from);
    }
}

fn cut(edges: &mut Edges, to: &[TaskId], from: TaskId) {
    for id in to {
        if let Some(others) = edges.get_mut(id) {
            others.remove(&from);
            if others.is_empty() {
                edges.remove(id);
            }
        }
    }
}
