//! Finds the task that is in progress in a worktree, from the board and the worktree registry.

use super::{Board, StoreError, Worktrees};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::Worktree;

/// Returns the task that is in progress in the worktree `tree`; `None` if there is none. A task without owner does not
/// count as in progress.
///
/// First searches the board for a task in progress that is bound to the worktree. If there is none, takes the task that
/// the worktree registry names for the worktree. That task counts only if it is in progress and [`Worktrees::find_for`]
/// finds no other worktree for it.
///
/// # Errors
/// When the board or the registry cannot be read.
pub fn task_in_worktree(
    board: &Board,
    worktrees: &Worktrees,
    tree: &Worktree,
) -> Result<Option<Task>, StoreError> {
    let reading = board.read()?;
    let is_in_progress =
        |task: &&Task| task.status == TaskStatus::InProgress && !task.owner.is_empty();
    let name = tree.name.as_str();
    let bound = reading
        .graph
        .tasks()
        .filter(is_in_progress)
        .find(|t| t.worktree == name);
    if let Some(task) = bound {
        return Ok(Some(task.clone()));
    }
    let Some(id) = tree.task_id else {
        return Ok(None);
    };
    if worktrees.find_for(id)?.is_some_and(|t| t.name != tree.name) {
        return Ok(None);
    }
    Ok(reading.graph.get(id).filter(is_in_progress).cloned())
}
