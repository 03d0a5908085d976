//! The task graph: what may be created, claimed, completed, and what blocks what. Always a DAG.

mod change;
mod circle;
mod delta;
mod index;
mod may;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ids::{Name, TaskId};
use super::task::{Task, TaskStatus};
use super::text::{clip, one_line};
pub use delta::Delta;
use index::Index;
pub use refusal::GraphError;

/// Longest subject, in characters.
pub const SUBJECT_MAX: usize = 200;
/// How often a task may be claimed before no agent claims it by itself any more.
pub const ATTEMPTS_MAX: u32 = 5;
/// Longest description, in bytes.
pub const DESCRIPTION_MAX: usize = 64 * 1024;
/// Most characters of somebody's words that a refusal repeats.
const WORDS_MAX: usize = 200;

/// What a new task is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NewTask {
    /// One line that says what is to be done.
    pub subject: String,
    /// Everything else.
    pub description: String,
    /// Tasks that must be completed first.
    pub blocked_by: Vec<TaskId>,
    /// What a claimer must be good at.
    pub tags: Vec<String>,
    /// The worktree in which it is worked on, where that is known; empty: none yet.
    pub worktree: String,
}

/// What is to be changed; `None` and empty lists leave things as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
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

impl Claimer {
    /// The person.
    pub fn person() -> Claimer {
        Claimer {
            name: Name::user(),
            tags: Vec::new(),
        }
    }
}

/// All tasks of a board, by number. A copy shares its tasks with the original.
#[derive(Debug, Clone, Default)]
pub struct TaskGraph {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    index: Index,
}

/// The index follows from the tasks.
impl PartialEq for TaskGraph {
    fn eq(&self, other: &TaskGraph) -> bool {
        self.tasks == other.tasks
    }
}

impl TaskGraph {
    /// A graph of tasks that were read; later ones of the same number win.
    pub fn new(tasks: impl IntoIterator<Item = Task>) -> TaskGraph {
        let mut graph = TaskGraph::default();
        for task in tasks {
            graph.put(Arc::new(task));
        }
        graph
    }

    /// Puts a task as it was read in the place of the one with its number.
    pub fn put(&mut self, task: Arc<Task>) {
        let id = task.id;
        let before = self.tasks.insert(id, task);
        self.reindex(id, before.as_deref());
    }

    /// Forgets a task that is not there any more; what others say of it stays as it is.
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
        self.note_ready(id);
        if was_done != is_done {
            for other in self.index.waiting(id) {
                self.note_ready(other);
            }
        }
    }

    fn note_ready(&mut self, id: TaskId) {
        let is_ready = self.get(id).is_some_and(|t| {
            t.status == TaskStatus::Pending && t.owner.is_empty() && !self.has_open_blocker(t)
        });
        if is_ready {
            self.index.enter_ready(id);
        } else {
            self.index.leave_ready(id);
        }
    }

    /// The task of that number.
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id).map(|t| &**t)
    }

    /// All tasks in the order of their numbers.
    pub fn tasks(&self) -> impl DoubleEndedIterator<Item = &Task> {
        self.tasks.values().map(|t| &**t)
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
        self.index.done()
    }

    /// What keeps `task` from being claimed: blockers that are not completed, or not there at all.
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

    /// Whether `task` could be claimed by somebody with the right tags.
    pub fn is_ready(&self, task: &Task) -> bool {
        self.index.is_ready(task.id)
    }

    /// The tasks that could be claimed by somebody with the right tags, in the order of their numbers.
    pub fn ready(&self) -> impl Iterator<Item = &Task> {
        self.index.ready().filter_map(|id| self.get(id))
    }

    /// The task that `owner` works on.
    pub fn open_task_of(&self, owner: &Name) -> Option<&Task> {
        self.get(self.index.open_of(owner.as_str())?)
    }

    /// Whether anything is left to do.
    pub fn has_open(&self) -> bool {
        self.done() < self.len()
    }

    /// The first task that `claimer` may claim: none that the person has taken from it.
    pub fn claimable(&self, claimer: &Claimer) -> Option<&Task> {
        if self.open_task_of(&claimer.name).is_some() {
            return None;
        }
        self.ready().find(|t| may_choose(t, claimer))
    }

    /// The first task that `claimer` may claim by itself: one that was given up too often needs a person,
    /// who claims it for somebody or changes it.
    pub fn claimable_unasked(&self, claimer: &Claimer) -> Option<&Task> {
        if self.open_task_of(&claimer.name).is_some() {
            return None;
        }
        self.ready()
            .find(|t| t.attempts < ATTEMPTS_MAX && may_choose(t, claimer))
    }

    /// Every task that `id` waits for or waited for, from both ends of the edges.
    pub fn blockers(&self, id: TaskId) -> BTreeSet<TaskId> {
        let mut all = self.index.blocking(id);
        if let Some(task) = self.get(id) {
            all.extend(&task.blocked_by);
        }
        all
    }

    /// Every task that waits or waited for `id`, from both ends of the edges.
    pub fn dependants(&self, id: TaskId) -> BTreeSet<TaskId> {
        let mut all = self.index.waiting(id);
        if let Some(task) = self.get(id) {
            all.extend(&task.blocks);
        }
        all
    }

    /// The refusal of words where the number of a task belongs: it names the number of the task with that subject.
    pub fn no_number(&self, words: &str) -> GraphError {
        let same = |t: &&Task| t.subject.trim().eq_ignore_ascii_case(words.trim());
        let shown = clip(&one_line(words), WORDS_MAX);
        match self.tasks().find(same) {
            Some(task) => GraphError::Subject(shown, task.id.0),
            None => GraphError::NoNumber(shown),
        }
    }

    /// The task of that number, or a refusal that names what there is.
    pub fn known(&self, id: TaskId) -> Result<&Arc<Task>, GraphError> {
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

/// Whether `claimer` has every tag that `task` asks for. Tags say which agent is good at it: the person knows.
pub fn tags_fit(task: &Task, claimer: &Claimer) -> bool {
    let has = |tag: &String| claimer.tags.iter().any(|t| t.eq_ignore_ascii_case(tag));
    claimer.name.is_user() || task.tags.iter().all(has)
}

/// Whether `claimer` may take `task` without being told its number.
fn may_choose(task: &Task, claimer: &Claimer) -> bool {
    tags_fit(task, claimer) && !task.was_taken_from(claimer.name.as_str())
}
