//! Removes the worktree of a task in a viewer.

use super::super::worktree_removal;
use super::ViewerStores;
use crate::agent::driver::run_blocking;
use crate::domain::ids::TaskId;
use crate::domain::worktree::Losses;
use crate::protocol::event::{EventKind, NoticeLevel};
use crate::store::{StoreError, Teardown};

impl ViewerStores {
    pub(super) async fn judge_worktree(&self, id: TaskId) -> Result<(), String> {
        let (board, worktrees) = (self.stores.board.clone(), self.worktrees.clone());
        let judged =
            run_blocking(move || Ok(worktree_removal::losses_event(&board, &worktrees, id))).await;
        let event = judged.map_err(|e: StoreError| e.to_string())??;
        self.event_sender.publish(event).await;
        Ok(())
    }

    pub(super) async fn remove_worktree(
        &self,
        id: TaskId,
        confirmed: Losses,
    ) -> Result<(), String> {
        let teardown = self.tear_down(id, &confirmed).await?;
        if let Some(text) = teardown.warning.clone() {
            let event = EventKind::notice(NoticeLevel::Warn, text);
            self.event_sender.publish(event).await;
        }
        let _turn = self.merge_turn.lock().await;
        let (board, worktrees, now) = (
            self.stores.board.clone(),
            self.worktrees.clone(),
            self.now(),
        );
        // Checks again whether a task is in progress in the worktree.
        let removed = run_blocking(move || {
            Ok(worktree_removal::remove(
                &board, &worktrees, id, &confirmed, now,
            ))
        })
        .await;
        let removed = removed.map_err(|e: StoreError| e.to_string())?;
        let text = removed.map_err(|why| teardown.refusal(why))?;
        drop(teardown);
        self.notice(text).await;
        self.publish_branches().await;
        Ok(())
    }

    /// Runs the teardown command in the worktree of a task that is about to be removed.
    ///
    /// # Errors
    /// Fails with the reason if the worktree must not be removed, or if the viewer was closed meanwhile.
    async fn tear_down(&self, id: TaskId, confirmed: &Losses) -> Result<Teardown, String> {
        let (root, commands) = (self.root.clone(), self.worktree_commands);
        let commands = run_blocking(move || Ok(commands(&root))).await;
        let commands = commands.map_err(|e: StoreError| e.to_string())?;
        if commands.settings.teardown.is_none() {
            return Ok(Teardown::without_command(&commands));
        }
        let (board, trees) = (&self.stores.board, &self.worktrees);
        let name = worktree_removal::removable(board, trees, (id, confirmed)).await?;
        self.notice(worktree_removal::teardown_notice(&name)).await;
        let redactor = self.event_sender.redactor();
        Box::pin(trees.run_teardown(&name, &commands, redactor, &self.stop)).await
    }
}

#[cfg(test)]
#[path = "removal_tests.rs"]
mod tests;
