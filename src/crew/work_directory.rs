//! Finds the directory in which an agent works.

use std::path::PathBuf;

use super::board_view::BoardView;
use super::context::CrewContext;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::run_blocking;
use crate::domain::ids::Name;

/// Returns the directory in which `agent` works: the worktree of its open task. Returns the project directory for the
/// lead, and for an agent without a worktree.
pub async fn work_directory(
    (context, board, worktrees): (&CrewContext, &BoardView, &TaskWorktrees),
    agent: &Name,
) -> PathBuf {
    let root = context.root.clone();
    if agent.is_lead() {
        return root;
    }
    let (board, name) = (board.store().clone(), agent.clone());
    let task = run_blocking(move || board.query(|graph| graph.open_task_of(&name).cloned())).await;
    let task = task.ok().flatten();
    task.and_then(|task| worktrees.dir_of(&task))
        .unwrap_or(root)
}
