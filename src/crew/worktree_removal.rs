//! Removes a worktree for the user. First reports what the removal would lose. After the user has confirmed the loss,
//! removes the worktree, provided that the removal would lose nothing else by then.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::board_view::BoardView;
use super::branch_status::BranchStatus;
use super::context::CrewContext;
use super::hook_session;
use super::merge_service::MergeService;
use super::registry::AgentHandle;
use crate::agent::driver::run_blocking;
use crate::domain::hook::{HookEvent, HookInput};
use crate::domain::ids::{Name, TaskId};
use crate::domain::redact::Redactor;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    BranchOutcome, Losses, RemovalMode, Worktree, WorktreeName, WorktreeStatus, check_removal,
};
use crate::protocol::event::{BoardEvent, EventKind, NoticeLevel};
use crate::store::{Board, ScanMode, StoreError, WorktreeCommands, Worktrees, task_in_worktree};

/// Returns the worktree of a task.
///
/// # Errors
/// Returns the reason if the task has no worktree, or an agent or the user works in it.
fn unused_worktree(board: &Board, trees: &Worktrees, id: TaskId) -> Result<Worktree, String> {
    let task = board.get(id).map_err(|e| e.to_string())?;
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree: there is nothing to remove"))?;
    let tree = trees.find(name.as_str()).map_err(|e| e.to_string())?;
    let at_work = task_in_worktree(board, trees, &tree).map_err(|e| e.to_string())?;
    match at_work {
        Some(task) => Err(format!(
            "worktree {name} was not removed: {} is working on task {} in it",
            task.owner, task.id
        )),
        None => Ok(tree),
    }
}

pub fn losses_event(board: &Board, trees: &Worktrees, id: TaskId) -> Result<EventKind, String> {
    let tree = unused_worktree(board, trees, id)?;
    let state = trees.state(&tree.name).map_err(|e| e.to_string())?;
    // If the removal would be refused even after a confirmation, the user must not be asked to confirm.
    check_removal(&tree, &state, RemovalMode::Confirmed).map_err(|why| why.to_string())?;
    Ok(EventKind::Board(BoardEvent::WorktreeInspected {
        task: id,
        losses: state.losses(),
        is_kept: tree.status == WorktreeStatus::Kept,
        size: trees.size(&tree.name).to_string(),
    }))
}

/// Runs the teardown command in the worktree of a task that is about to be removed. Returns a warning for the user if the
/// command failed. The worktree is to be removed nevertheless. Does nothing if there is no teardown command.
///
/// # Errors
/// Fails as [`remove`]. The command then does not run.
pub async fn tear_down(
    board: &Board,
    trees: &Worktrees,
    (id, confirmed): (TaskId, &Losses),
    commands: &WorktreeCommands,
    context: (&Redactor, &CancellationToken),
) -> Result<Option<String>, String> {
    if commands.settings.teardown.is_none() {
        return Ok(None);
    }
    let (board, own, confirmed) = (board.clone(), trees.clone(), confirmed.clone());
    let checked = run_blocking(move || {
        Ok(unused_worktree(&board, &own, id).and_then(|tree| {
            let removable = own.check_remove_confirmed(&tree.name, &confirmed);
            removable.map(|()| tree.name).map_err(|e| e.to_string())
        }))
    });
    let name = checked.await.map_err(|e: StoreError| e.to_string())??;
    let (redactor, cancel) = context;
    Ok(trees.run_teardown(&name, commands, redactor, cancel).await)
}

/// Removes the worktree of a task. Returns the message for the user.
///
/// # Errors
/// Fails if the worktree is in use, or if what the removal would lose differs from what the user has `confirmed`.
pub fn remove(
    board: &Board,
    trees: &Worktrees,
    id: TaskId,
    confirmed: &Losses,
    now: Timestamp,
) -> Result<String, String> {
    let tree = unused_worktree(board, trees, id)?;
    let fate = trees.remove_confirmed(&tree.name, confirmed, now);
    match fate.map_err(|e: StoreError| e.to_string())? {
        BranchOutcome::Deleted => Ok(format!("The worktree {} is removed.", tree.name)),
        BranchOutcome::Kept(branch) => Ok(format!(
            "The worktree {} is removed; its commits are on the branch {branch}.",
            tree.name
        )),
    }
}

/// Removes the worktrees of tasks for the user, and publishes what a removal would lose.
pub struct WorktreeRemoval {
    context: Arc<CrewContext>,
    board: Arc<BoardView>,
    branches: Arc<BranchStatus>,
    merges: Arc<MergeService>,
    commands: WorktreeCommands,
}

impl WorktreeRemoval {
    pub fn new(
        context: Arc<CrewContext>,
        board: Arc<BoardView>,
        branches: Arc<BranchStatus>,
        merges: Arc<MergeService>,
        commands: WorktreeCommands,
    ) -> WorktreeRemoval {
        WorktreeRemoval {
            context,
            board,
            branches,
            merges,
            commands,
        }
    }

    /// Publishes what would be lost by the removal of a task's worktree. Removes nothing.
    ///
    /// # Errors
    /// Returns the reason if the worktree cannot be removed even after a confirmation, for example because it is in
    /// use.
    pub async fn publish_losses(&self, id: TaskId) -> Result<(), String> {
        let (board, trees) = (self.board.store().clone(), self.merges.worktrees()?.clone());
        let judged = run_blocking(move || Ok(losses_event(&board, &trees, id))).await;
        let event = judged.map_err(|e: StoreError| e.to_string())??;
        self.context.publish(event).await;
        Ok(())
    }

    /// Removes the worktree of a task and publishes the result. First waits until no other merge or worktree removal of
    /// the user is running, and runs the hooks for the removal and the teardown command. If the user interrupts these
    /// hooks, the worktree is not removed.
    ///
    /// # Errors
    /// Fails if the worktree is in use, if its hooks were interrupted, or if what the removal would lose differs from
    /// what the user has `confirmed`.
    pub async fn remove(
        &self,
        id: TaskId,
        confirmed: Losses,
        lead: Option<&AgentHandle>,
    ) -> Result<(), String> {
        let (board, trees) = (self.board.store().clone(), self.merges.worktrees()?.clone());
        // Merges and removals of the user run one at a time.
        let _turn = self.merges.user_turn().await;
        let hooks = self.context.hooks.as_deref();
        if let Some(hooks) = hooks.filter(|hooks| hooks.has_hooks(HookEvent::WorktreeRemove)) {
            let (board, trees) = (board.clone(), trees.clone());
            let tree = run_blocking(move || Ok(unused_worktree(&board, &trees, id))).await;
            let tree = tree.map_err(|e: StoreError| e.to_string())??;
            let input = HookInput::WorktreeRemove { path: tree.path };
            hook_session::run_for_user(&self.context, hooks, (&Name::lead(), lead), &input, None)
                .await
                .ok_or_else(|| {
                    format!(
                        "worktree {} was not removed: its WorktreeRemove hooks were interrupted",
                        tree.name
                    )
                })?;
        }
        let (redactor, cancel) = (self.context.event_sender.redactor(), &self.context.stop);
        let warning = Box::pin(tear_down(
            &board,
            &trees,
            (id, &confirmed),
            &self.commands,
            (redactor, cancel),
        ));
        if let Some(text) = warning.await? {
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let now = self.context.now();
        let removed = run_blocking(move || Ok(remove(&board, &trees, id, &confirmed, now))).await;
        let text = removed.map_err(|e: StoreError| e.to_string())??;
        self.context.notice(NoticeLevel::Info, text).await;
        self.branches.read(ScanMode::Always).await;
        Ok(())
    }
}
