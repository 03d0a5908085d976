//! Removes a worktree for the user. First reports what the removal would lose. After the user has confirmed the loss,
//! removes the worktree, provided that the removal would lose nothing else by then.

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;

use super::board_view::BoardView;
use super::branch_status::BranchStatus;
use super::context::{CrewContext, lock};
use super::hook_session;
use super::merge_service::MergeService;
use super::registry::AgentHandle;
use crate::agent::driver::run_blocking;
use crate::domain::hook::{HookEvent, HookInput};
use crate::domain::ids::{Name, TaskId};
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{
    BranchOutcome, Losses, RemovalMode, Worktree, WorktreeName, WorktreeStatus, check_removal,
};
use crate::protocol::event::{AgentEvent, BoardEvent, EventKind, NoticeLevel};
use crate::store::{
    Board, ScanMode, StoreError, Teardown, WorktreeCommands, Worktrees, task_in_worktree,
};

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

/// Returns the name of the worktree of a task that [`remove`] would remove now. Changes nothing.
///
/// # Errors
/// Fails as [`remove`].
pub async fn removable(
    board: &Board,
    trees: &Worktrees,
    (id, confirmed): (TaskId, &Losses),
) -> Result<WorktreeName, String> {
    let (board, own, confirmed) = (board.clone(), trees.clone(), confirmed.clone());
    let checked = run_blocking(move || {
        Ok(unused_worktree(&board, &own, id).and_then(|tree| {
            let removable = own.check_remove_confirmed(&tree.name, &confirmed);
            removable.map(|()| tree.name).map_err(|e| e.to_string())
        }))
    });
    checked.await.map_err(|e: StoreError| e.to_string())?
}

/// Returns the notice that the teardown command begins in a worktree.
pub fn teardown_notice(name: &WorktreeName) -> String {
    format!(
        "Worktree {name}: the teardown command is running. The worktree is removed when it has ended."
    )
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
    /// The signals that interrupt the teardown commands that run.
    teardowns: Mutex<Vec<CancellationToken>>,
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
            teardowns: Mutex::default(),
        }
    }

    /// Interrupts the teardown commands that run, if `agent` is the lead, in whose page they are shown. Their worktrees are
    /// not removed. Returns whether there were any.
    pub fn interrupt(&self, agent: &Name) -> bool {
        let running = lock(&self.teardowns);
        if !agent.is_lead() || running.is_empty() {
            return false;
        }
        running.iter().for_each(CancellationToken::cancel);
        true
    }

    /// Runs the teardown command in the worktree of a task that is about to be removed. Does nothing if there is none.
    /// Merges and other removals need not wait for it.
    ///
    /// # Errors
    /// Fails with the reason if the worktree must not be removed, or if the command was interrupted.
    async fn tear_down(
        &self,
        (board, trees): (&Board, &Worktrees),
        (id, confirmed): (TaskId, &Losses),
        lead: Option<&AgentHandle>,
    ) -> Result<Teardown, String> {
        if self.commands.settings.teardown.is_none() {
            return Ok(Teardown::without_command(&self.commands));
        }
        let name = removable(board, trees, (id, confirmed)).await?;
        self.context
            .notice(NoticeLevel::Info, teardown_notice(&name))
            .await;
        // Shown as the activity of the lead, so that the key that interrupts the lead interrupts the command.
        let is_shown = lead.is_some_and(|lead| !lead.is_working());
        if is_shown {
            let (tool, on) = ("teardown".into(), name.to_string());
            self.show_activity(Activity::Tool { tool, on }).await;
        }
        let cancel = self.context.stop.child_token();
        lock(&self.teardowns).push(cancel.clone());
        let redactor = self.context.event_sender.redactor();
        let ran = Box::pin(trees.run_teardown(&name, &self.commands, redactor, &cancel)).await;
        // Signals cannot be compared, so the own one is marked and then removed with those that are no longer needed.
        cancel.cancel();
        lock(&self.teardowns).retain(|other| !other.is_cancelled());
        if is_shown && lead.is_some_and(|lead| !lead.is_working()) {
            self.show_activity(Activity::Idle).await;
        }
        ran
    }

    async fn show_activity(&self, activity: Activity) {
        let shown = AgentEvent::ActivityChanged { activity }.of(Name::lead());
        self.context.publish(shown).await;
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

    /// Removes the worktree of a task and publishes the result. First runs the hooks for the removal and the teardown
    /// command. If the user interrupts one of them, the worktree is not removed. Then waits until no other merge or worktree
    /// removal of the user is running.
    ///
    /// # Errors
    /// Fails if the worktree is in use, if its hooks or its teardown were interrupted, or if what the removal would lose differs from
    /// what the user has `confirmed`.
    pub async fn remove(
        &self,
        id: TaskId,
        confirmed: Losses,
        lead: Option<&AgentHandle>,
    ) -> Result<(), String> {
        let (board, trees) = (self.board.store().clone(), self.merges.worktrees()?.clone());
        self.run_hooks((&board, &trees), id, lead).await?;
        let teardown = self
            .tear_down((&board, &trees), (id, &confirmed), lead)
            .await?;
        if let Some(text) = &teardown.warning {
            self.context.notice(NoticeLevel::Warn, text.clone()).await;
        }
        // Merges and removals of the user run one at a time.
        let _turn = self.merges.user_turn().await;
        let now = self.context.now();
        // Checks again whether a task is in progress in the worktree.
        let removed = run_blocking(move || Ok(remove(&board, &trees, id, &confirmed, now))).await;
        let removed = removed.map_err(|e: StoreError| e.to_string())?;
        let text = removed.map_err(|why| teardown.refusal(why))?;
        drop(teardown);
        self.context.notice(NoticeLevel::Info, text).await;
        self.branches.read(ScanMode::Always).await;
        Ok(())
    }

    /// Runs the hooks for the removal of a task's worktree. First waits until no other merge or worktree removal of the
    /// user is running.
    ///
    /// # Errors
    /// Fails if the worktree is in use, or if the hooks were interrupted.
    async fn run_hooks(
        &self,
        (board, trees): (&Board, &Worktrees),
        id: TaskId,
        lead: Option<&AgentHandle>,
    ) -> Result<(), String> {
        let hooks = self.context.hooks.as_deref();
        let Some(hooks) = hooks.filter(|hooks| hooks.has_hooks(HookEvent::WorktreeRemove)) else {
            return Ok(());
        };
        let _turn = self.merges.user_turn().await;
        let (board, trees) = (board.clone(), trees.clone());
        let tree = run_blocking(move || Ok(unused_worktree(&board, &trees, id))).await;
        let tree = tree.map_err(|e: StoreError| e.to_string())??;
        let input = HookInput::WorktreeRemove { path: tree.path };
        hook_session::run_for_user(&self.context, hooks, (&Name::lead(), lead), &input, None)
            .await
            .map(drop)
            .ok_or_else(|| {
                format!(
                    "worktree {} was not removed: its WorktreeRemove hooks were interrupted",
                    tree.name
                )
            })
    }
}
