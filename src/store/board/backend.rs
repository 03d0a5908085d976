//! What a board needs from the store that holds its tasks. The rules of the board are written once, in terms of these
//! traits, and hold for every store.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use super::super::StoreError;
use super::task_set::TaskSet;
use crate::domain::graph::{BoardDelta, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoardSnapshot {
    /// The tasks that could be read.
    pub graph: Arc<TaskGraph>,
    /// Notices about files that cannot be used or were renamed, and about a dependency cycle: at most 20 lines, and one
    /// with the number of further notices.
    pub notices: Vec<String>,
}

/// What has changed on the board compared with a graph that the caller has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoardUpdate {
    pub delta: BoardDelta,
    /// Notices about files, and about a dependency cycle, that [`Board::update_since`](super::Board::update_since) has not
    /// returned before: at most 20 lines, and one with the number of further notices.
    pub notices: Vec<String>,
}

/// One attempt to change the board, as passed to [`BoardStore::transact`].
pub type TransactionBody<'a> = dyn FnMut(&mut dyn BoardTransaction) -> Result<(), StoreError> + 'a;

/// Holds the tasks of a board.
///
/// All methods block, and may be called from several threads and processes at the same time.
pub trait BoardStore: Debug + Send + Sync {
    /// Returns the whole board.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn read(&self) -> Result<BoardSnapshot, StoreError>;

    /// Moves away what the last read found damaged, and finishes changes whose writer was killed. Returns a notice for
    /// each.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    fn repair(&self) -> Result<Vec<String>, StoreError>;

    /// Calls `question` with the graph, which contains all changes by other crewdeck processes so far. `question` must not
    /// call this board.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn query(&self, question: &mut dyn FnMut(&TaskGraph)) -> Result<(), StoreError>;

    /// Returns the task `id` as it is stored.
    ///
    /// # Errors
    /// When the task does not exist or cannot be read.
    fn get(&self, id: TaskId) -> Result<Arc<Task>, StoreError>;

    /// Implements [`Board::update_since`](super::Board::update_since).
    ///
    /// # Errors
    /// When the store cannot be read, or something damaged cannot be moved away.
    fn update_since(&self, which: &TaskSet, known: &TaskGraph) -> Result<BoardUpdate, StoreError>;

    /// Returns the graph to which the next writer would add tasks, and the highest number that is used. Changes nothing.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn preview(&self) -> Result<(TaskGraph, TaskId), StoreError>;

    /// Runs `body`, which reads the tasks that its change depends on, applies the change to the graph, and saves it. If
    /// another writer is faster, the store may run `body` again on the new state; nothing of the earlier attempt is stored
    /// then.
    ///
    /// # Errors
    /// When `body` fails, or the store cannot be read or written.
    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError>;
}

/// The board during one attempt to change it. What has been refreshed does not change until it is saved, or saving fails.
pub trait BoardTransaction {
    fn graph(&self) -> &TaskGraph;

    /// Returns the graph to which the change is applied. Call [`BoardTransaction::save`] for the changed tasks.
    fn graph_mut(&mut self) -> &mut TaskGraph;

    /// Updates the tasks `ids` of the graph from the store. Call this for the tasks on which a change depends.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn refresh(&mut self, ids: &BTreeSet<TaskId>) -> Result<(), StoreError>;

    /// Updates all tasks of the graph from the store.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn refresh_all(&mut self) -> Result<(), StoreError>;

    /// Returns the task, or an error that says why it is not on the board.
    ///
    /// # Errors
    /// When the task does not exist or cannot be used.
    fn task(&self, id: TaskId) -> Result<Arc<Task>, StoreError>;

    /// Returns the number for a new task, which no earlier task had.
    ///
    /// # Errors
    /// When the store cannot be read or no number is left.
    fn next_id(&mut self) -> Result<TaskId, StoreError>;

    /// Records that the number `id` is used, without a task that has it.
    ///
    /// # Errors
    /// When the store cannot be written.
    fn reserve_id(&mut self, id: TaskId) -> Result<(), StoreError>;

    /// Stores the changed tasks of the graph; a task that is no longer in the graph is deleted. The first is the task that
    /// the change is about; the others change as a consequence. If the writer is killed, either nothing is stored, or the
    /// first task is, and no task stays blocked by mistake.
    ///
    /// # Errors
    /// When a task is too large, or the store cannot be written. For a new task, a [`StoreError::File`] with the kind
    /// `AlreadyExists` if another program has just used its number.
    fn save(&mut self, changed: &[TaskId], first: FirstWrite) -> Result<(), StoreError>;

    /// Stores the tasks `new`, all or none, also if the writer is killed. `blockers` are the existing tasks that the new
    /// ones wait for.
    ///
    /// # Errors
    /// As [`BoardTransaction::save`].
    fn save_import(&mut self, new: &[TaskId], blockers: &[TaskId]) -> Result<(), StoreError>;
}

/// What [`BoardTransaction::save`] does with the first task in its list. The other tasks in the list are already stored,
/// and are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstWrite {
    /// Create the task, which must not exist, and record its number as used.
    Insert,
    /// Like `Insert`, but the number is already recorded as used.
    InsertReserved,
    Update,
    /// Delete the task. Its number still counts as used.
    Delete,
}

impl FirstWrite {
    pub(super) fn is_new(self) -> bool {
        matches!(self, FirstWrite::Insert | FirstWrite::InsertReserved)
    }
}
