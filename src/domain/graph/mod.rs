//! The task graph: what may be created, claimed, completed, and what blocks what. Always a DAG.

mod change;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::ids::{Name, TaskId};
use super::task::{Task, TaskStatus};
pub use refusal::GraphError;

/// Longest subject, in characters.
pub const SUBJECT_MAX: usize = 200;
/// Longest description, in bytes.
pub const DESCRIPTION_MAX: usize = 64 * 1024;

/// What a new task is to be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewTask {
    /// One line that says what is to be done.
    pub subject: String,
    /// Everything else.
    pub description: String,
    /// Tasks that must be completed first.
    pub blocked_by: Vec<TaskId>,
    /// What a claimer must be good at.
    pub tags: Vec<String>,
}

/// What is to be changed; `None` and empty lists leave things as they are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TaskEdit {
    /// A new subject.
    pub subject: Option<String>,
    /// A new description.
    pub description: Option<String>,
    /// Blockers to add.
    pub block_on: Vec<TaskId>,
    /// Blockers to take away.
    pub unblock: Vec<TaskId>,
    /// New tags, in place of the old ones.
    pub tags: Option<Vec<String>>,
}

/// Who wants to claim, and what it is good at.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimer {
    /// Its name.
    pub name: Name,
    /// Its tags.
    pub tags: Vec<String>,
}

/// All tasks of a board, by number.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskGraph {
    tasks: BTreeMap<TaskId, Task>,
}

impl TaskGraph {
    /// A graph of tasks that were read; later ones of the same number win.
    pub fn new(tasks: impl IntoIterator<Item = Task>) -> TaskGraph {
        TaskGraph {
            tasks: tasks.into_iter().map(|t| (t.id, t)).collect(),
        }
    }

    /// The task of that number.
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id)
    }

    /// All tasks in the order of their numbers.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.tasks.values()
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// How many tasks are completed.
    pub fn done(&self) -> usize {
        self.tasks()
            .filter(|t| t.status == TaskStatus::Completed)
            .count()
    }

    /// What keeps `task` from being claimed: blockers that are not completed, or not there at all.
    pub fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        let open = |id: &TaskId| {
            self.get(*id)
                .is_none_or(|b| b.status != TaskStatus::Completed)
        };
        task.blocked_by.iter().copied().filter(open).collect()
    }

    /// Whether `task` could be claimed by somebody with the right tags.
    pub fn is_ready(&self, task: &Task) -> bool {
        task.status == TaskStatus::Pending
            && task.owner.is_empty()
            && self.open_blockers(task).is_empty()
    }

    /// The task that `owner` works on.
    pub fn open_task_of(&self, owner: &Name) -> Option<&Task> {
        self.tasks().find(|t| t.is_open_for(owner.as_str()))
    }

    /// Whether anything is left to do.
    pub fn has_open(&self) -> bool {
        self.tasks().any(|t| t.status != TaskStatus::Completed)
    }

    /// The first task that `claimer` may claim.
    pub fn claimable(&self, claimer: &Claimer) -> Option<&Task> {
        if self.open_task_of(&claimer.name).is_some() {
            return None;
        }
        self.tasks()
            .find(|t| self.is_ready(t) && tags_fit(t, claimer))
    }

    /// Every task that `id` waits for or waited for, from both ends of the edges.
    pub fn blockers(&self, id: TaskId) -> BTreeSet<TaskId> {
        let mut all: BTreeSet<TaskId> = self
            .tasks()
            .filter(|t| t.blocks.contains(&id))
            .map(|t| t.id)
            .collect();
        if let Some(task) = self.get(id) {
            all.extend(&task.blocked_by);
        }
        all
    }

    /// The task of that number, or a refusal that names what there is.
    pub fn known(&self, id: TaskId) -> Result<&Task, GraphError> {
        self.get(id).ok_or_else(|| {
            let last = self.tasks.keys().next_back();
            let hint = match last {
                None => ": the board is empty".into(),
                Some(last) => format!(": the board has {} tasks, the last is {last}", self.len()),
            };
            GraphError::Unknown(id, hint)
        })
    }
}

fn tags_fit(task: &Task, claimer: &Claimer) -> bool {
    task.tags
        .iter()
        .all(|tag| claimer.tags.iter().any(|t| t.eq_ignore_ascii_case(tag)))
}
