//! The task graph: tasks, their dependencies and owners. A change that would close a cycle is rejected.

mod change;
mod cycle;
mod delta;
mod error;
mod index;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{Name, TaskId};
use super::task::{Task, TaskStatus};
use super::text::{clip, one_line};
pub use delta::BoardDelta;
pub use error::GraphError;
use index::GraphIndex;

/// Maximum length of a subject, in characters.
pub const SUBJECT_MAX: usize = 200;
/// A task that was claimed this many times or more is no longer assigned automatically.
pub const ATTEMPTS_MAX: u32 = 5;
/// Maximum length of a description, in bytes.
pub const DESCRIPTION_MAX: usize = 64 * 1024;
/// Maximum length of an acceptance command, in bytes.
pub const ACCEPTANCE_MAX: usize = 4096;
/// Maximum length of the invalid input that is quoted in an error message, in characters.
const QUOTED_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NewTask {
    /// What to do, in one line.
    pub subject: String,
    /// Everything else that the owner needs to know.
    pub description: String,
    pub blocked_by: Vec<TaskId>,
    /// Tags that a teammate must have to claim the task.
    pub tags: Vec<String>,
    /// The name of the task's worktree; empty if it has none yet.
    pub worktree: String,
}

/// A task that is added together with others by an import.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlannedTask {
    /// The task. Its blockers are already on the board.
    pub new: NewTask,
    /// The tasks of the same import that must be completed first, by their index.
    pub waits_for: Vec<usize>,
    /// See [`Task::imported_from`].
    pub imported_from: String,
}

/// The changes to make to a task. `None` in a field, or an empty list in `block_on` or `unblock`, means no change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TaskEdit {
    pub subject: Option<String>,
    pub description: Option<String>,
    /// Blockers to add.
    pub block_on: Vec<TaskId>,
    pub unblock: Vec<TaskId>,
    /// Tags that replace the old ones.
    pub tags: Option<Vec<String>>,
}

/// The agent or user that claims a task, with the tags that count for the claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimer {
    pub name: Name,
    pub tags: Vec<String>,
}

impl Claimer {
    /// Returns the claimer that represents the user. It has no tags and needs none: the user may claim every task.
    pub fn user() -> Claimer {
        Claimer {
            name: Name::user(),
            tags: Vec::new(),
        }
    }
}

/// All tasks of a board by number. Clones share the tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskGraph {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    index: GraphIndex,
}

/// Compares only the tasks of both graphs, because the index is derived from them.
impl PartialEq for TaskGraph {
    fn eq(&self, other: &TaskGraph) -> bool {
        self.tasks == other.tasks
    }
}

impl TaskGraph {
    /// Builds a graph from tasks. If a number occurs twice, the last task wins.
    pub fn new(tasks: impl IntoIterator<Item = Task>) -> TaskGraph {
        let mut graph = TaskGraph::default();
        for task in tasks {
            graph.put(Arc::new(task));
        }
        graph
    }

    /// Inserts a task, or replaces the task with the same number. Does not check any rules.
    pub fn put(&mut self, task: Arc<Task>) {
        let id = task.id;
        let before = self.tasks.insert(id, task);
        self.reindex(id, before.as_deref());
    }

    /// Removes a task without changing the tasks that refer to it. Does nothing if there is no such task.
    pub fn forget(&mut self, id: TaskId) {
        if let Some(before) = self.tasks.remove(&id) {
            self.reindex(id, Some(&before));
        }
    }

    fn reindex(&mut self, id: TaskId, before: Option<&Task>) {
        let now = self.tasks.get(&id).cloned();
        self.index.replace(before, now.as_deref());
        let was_done = before.map(|t| t.status == TaskStatus::Completed);
        let is_done = now.map(|t| t.status == TaskStatus::Completed);
        self.update_ready(id);
        if was_done != is_done {
            for other in self.index.tasks_waiting_for(id) {
                self.update_ready(other);
            }
        }
    }

    fn update_ready(&mut self, id: TaskId) {
        let is_ready = self.get(id).is_some_and(|t| {
            t.status == TaskStatus::Pending && t.owner.is_empty() && !self.has_open_blocker(t)
        });
        if is_ready {
            self.index.add_ready(id);
        } else {
            self.index.remove_ready(id);
        }
    }

    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id).map(|t| &**t)
    }

    /// Returns all tasks in the order of their numbers.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.tasks.values().map(|t| &**t)
    }

    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub fn done(&self) -> usize {
        self.index.done()
    }

    /// Returns the blockers of `task` that are not completed or do not exist, in the order of `blocked_by`.
    pub fn open_blockers(&self, task: &Task) -> Vec<TaskId> {
        let open = |id: &TaskId| self.is_open(*id);
        task.blocked_by.iter().copied().filter(open).collect()
    }

    fn has_open_blocker(&self, task: &Task) -> bool {
        task.blocked_by.iter().any(|id| self.is_open(*id))
    }

    fn is_open(&self, id: TaskId) -> bool {
        self.get(id)
            .is_none_or(|b| b.status != TaskStatus::Completed)
    }

    /// Returns whether this graph's task with the number of `task` is pending and has neither an owner nor open
    /// blockers. Tags are not considered.
    pub fn is_ready(&self, task: &Task) -> bool {
        self.index.is_ready(task.id)
    }

    /// Returns the ready tasks in the order of their numbers. Tags are not considered.
    pub fn ready(&self) -> impl Iterator<Item = &Task> {
        self.index.ready().filter_map(|id| self.get(id))
    }

    /// Returns the task that `owner` owns and has not completed; `None` if there is none. If there are several, returns
    /// the one with the lowest number. The case of the name does not matter.
    pub fn open_task_of(&self, owner: &Name) -> Option<&Task> {
        self.get(self.index.first_open_task(owner.as_str())?)
    }

    /// Returns whether any task is not completed.
    pub fn has_open(&self) -> bool {
        self.done() < self.len()
    }

    /// Returns the ready task with the lowest number that `claimer` may claim without naming its number; `None` if
    /// there is none, or if `claimer` already has an open task. Skips tasks with tags that `claimer` lacks, and tasks
    /// that the user took away from `claimer`.
    pub fn claimable(&self, claimer: &Claimer) -> Option<&Task> {
        if self.open_task_of(&claimer.name).is_some() {
            return None;
        }
        self.ready().find(|t| can_choose(t, claimer))
    }

    /// Like [`TaskGraph::claimable`], but also skips tasks that were claimed [`ATTEMPTS_MAX`] times or more. Used for
    /// the automatic assignment to idle teammates. A skipped task can still be claimed by its number. It is no longer
    /// skipped after its subject or description is edited.
    pub fn auto_claimable(&self, claimer: &Claimer) -> Option<&Task> {
        if self.open_task_of(&claimer.name).is_some() {
            return None;
        }
        self.next_for(claimer)
    }

    /// Returns the task that [`TaskGraph::auto_claimable`] will return for `claimer` once it has completed the task that it
    /// owns, if the board does not change until then.
    pub fn next_for(&self, claimer: &Claimer) -> Option<&Task> {
        self.ready()
            .find(|t| t.attempts < ATTEMPTS_MAX && can_choose(t, claimer))
    }

    /// Returns every task that task `id` waits for or has waited for: the tasks in its `blocked_by`, and the tasks that
    /// contain `id` in their `blocks`.
    pub fn blockers(&self, id: TaskId) -> BTreeSet<TaskId> {
        let mut all = self.index.tasks_blocking(id);
        if let Some(task) = self.get(id) {
            all.extend(&task.blocked_by);
        }
        all
    }

    /// Returns every task that waits for task `id` or has waited for it: the tasks in its `blocks`, and the tasks that
    /// contain `id` in their `blocked_by`.
    pub fn dependants(&self, id: TaskId) -> BTreeSet<TaskId> {
        let mut all = self.index.tasks_waiting_for(id);
        if let Some(task) = self.get(id) {
            all.extend(&task.blocks);
        }
        all
    }

    /// Returns the error for `words`, a text that was given where a task number is expected. If it is the subject of a
    /// task, regardless of ASCII case, the error names the number of that task.
    pub fn not_a_number_error(&self, words: &str) -> GraphError {
        let same = |t: &&Task| t.subject.trim().eq_ignore_ascii_case(words.trim());
        let shown = clip(&one_line(words), QUOTED_MAX);
        match self.tasks().find(same) {
            Some(task) => GraphError::Subject(shown, task.id.0),
            None => GraphError::NoNumber(shown),
        }
    }

    /// Returns the task with the number `id`.
    ///
    /// # Errors
    /// Fails with [`GraphError::Unknown`] if there is no such task. The error says how many tasks the board has.
    pub fn require(&self, id: TaskId) -> Result<&Arc<Task>, GraphError> {
        self.tasks.get(&id).ok_or_else(|| {
            let last = self.tasks.keys().next_back().copied();
            let hint = match last {
                None => ": the board is empty".into(),
                Some(last) => format!(": the board has {} tasks, the last is {last}", self.len()),
            };
            GraphError::Unknown(id, hint)
        })
    }
}

/// Returns whether `claimer` has all tags that `task` requires, regardless of ASCII case. Always true for the user, who
/// needs no tags.
pub fn tags_match(task: &Task, claimer: &Claimer) -> bool {
    let has = |tag: &String| claimer.tags.iter().any(|t| t.eq_ignore_ascii_case(tag));
    claimer.name.is_user() || task.tags.iter().all(has)
}

/// Returns whether `claimer` may claim `task` without naming its number: `claimer` has the required tags, and the user
/// has not taken the task away from `claimer`.
fn can_choose(task: &Task, claimer: &Claimer) -> bool {
    tags_match(task, claimer) && !task.was_taken_from(claimer.name.as_str())
}
