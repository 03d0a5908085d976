//! Removes a worktree for the user: reports what would be lost first, and removes it only if exactly that is lost.

use super::Shared;
use crate::agent::driver::blocking;
use crate::domain::ids::TaskId;
use crate::domain::stamp::Stamp;
use crate::domain::worktree::{
    BranchFate, Losses, Removal, Worktree, WorktreeError, WorktreeName, may_remove,
};
use crate::protocol::event::{EventKind, Level};
use crate::store::{Board, Look, StoreError, Worktrees, worked_in};

/// Returns the worktree of a task. Fails if an agent or the user is working in it.
fn free(board: &Board, trees: &Worktrees, id: TaskId) -> Result<Worktree, String> {
    let task = board.get(id).map_err(|e| e.to_string())?;
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree: there is nothing to remove"))?;
    let tree = trees.find(name.as_str()).map_err(|e| e.to_string())?;
    let at_work = worked_in(board, trees, &tree).map_err(|e| e.to_string())?;
    match at_work {
        Some(task) => Err(format!(
            "worktree {name} was not removed: {} is working on task {} in it",
            task.owner, task.id
        )),
        None => Ok(tree),
    }
}

/// Returns what would be lost with the worktree of a task.
pub(super) fn judge(board: &Board, trees: &Worktrees, id: TaskId) -> Result<EventKind, String> {
    let tree = free(board, trees, id)?;
    let state = trees.state(&tree.name).map_err(|e| e.to_string())?;
    // If the user may not remove it either, there is nothing to confirm.
    may_remove(&tree, &state, Removal::WhatIsLostIsKnown).map_err(|why| why.to_string())?;
    let losses = match may_remove(&tree, &state, Removal::OnlyIfSafe) {
        Ok(()) => Losses::default(),
        Err(WorktreeError::Unsafe { losses, .. }) => losses,
        Err(why) => return Err(why.to_string()),
    };
    Ok(EventKind::WorktreeJudged {
        task: id,
        losses,
        size: trees.size(&tree.name).to_string(),
    })
}

/// Removes the worktree if exactly the losses in `told` would occur. Returns the message for the user.
pub(super) fn remove(
    board: &Board,
    trees: &Worktrees,
    id: TaskId,
    told: &Losses,
    now: Stamp,
) -> Result<String, String> {
    let tree = free(board, trees, id)?;
    let fate = trees.remove_as_told(&tree.name, told, now);
    match fate.map_err(|e: StoreError| e.to_string())? {
        BranchFate::Deleted => Ok(format!("The worktree {} is removed.", tree.name)),
        BranchFate::Stays(branch) => Ok(format!(
            "The worktree {} is removed; what was committed is on the branch {branch}.",
            tree.name
        )),
    }
}

impl Shared {
    fn tree_doors(&self) -> Result<(Board, Worktrees), String> {
        let trees = self.trees.as_ref();
        let trees = trees
            .ok_or("worktrees are not in use here: all agents work in the project directory")?;
        Ok((self.board.clone(), trees.door.clone()))
    }

    /// Publishes what would be lost with the worktree of a task.
    pub(super) async fn judge_worktree(&self, id: TaskId) -> Result<(), String> {
        let (board, trees) = self.tree_doors()?;
        let judged = blocking(move || Ok(judge(&board, &trees, id))).await;
        let told = judged.map_err(|e: StoreError| e.to_string())??;
        self.publish(told).await;
        Ok(())
    }

    /// Removes the worktree of a task for the user and publishes the result.
    pub(super) async fn remove_worktree(&self, id: TaskId, told: Losses) -> Result<(), String> {
        let (board, trees) = self.tree_doors()?;
        // Removals and merges run one at a time.
        let _turn = self.merge_turn.lock().await;
        let now = self.now();
        let removed = blocking(move || Ok(remove(&board, &trees, id, &told, now))).await;
        let text = removed.map_err(|e: StoreError| e.to_string())??;
        self.notice(Level::Info, text).await;
        self.read_branches(Look::Anew).await;
        Ok(())
    }
}
