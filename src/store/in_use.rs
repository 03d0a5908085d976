//! Whether a worktree is in use: the board and the registry together.

use super::{Board, StoreError, Worktrees};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::worktree::Worktree;

/// The task that somebody works on in `tree` now, as far as the board knows.
///
/// # Errors
/// When the board or the registry can not be read.
pub fn worked_in(
    board: &Board,
    worktrees: &Worktrees,
    tree: &Worktree,
) -> Result<Option<Task>, StoreError> {
    let reading = board.read()?;
    let is_at_work = |task: &&Task| task.status == TaskStatus::InProgress && !task.owner.is_empty();
    let name = tree.name.as_str();
    let bound = reading
        .graph
        .tasks()
        .filter(is_at_work)
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
    Ok(reading.graph.get(id).filter(is_at_work).cloned())
}
