//! Merges of a viewer, and the merge status of the branches.

use std::sync::Arc;

use super::ViewerStores;
use crate::agent::driver::run_blocking;
use crate::checks::TaskChecks;
use crate::crew::branch_status::{branch_events, worktrees_of_tasks};
use crate::crew::merge_report::{MergeProgress, list_files, mergeable};
use crate::crew::merge_train::{TrainHost, TrainRunner};
use crate::crew::train_merger::TrainMerger;
use crate::domain::ids::TaskId;
use crate::domain::worktree::Merge;
use crate::protocol::event::EventKind;
use crate::store::{BranchSnapshot, ScanMode};

impl ViewerStores {
    /// Merges the branches of `tasks`. If checks could apply to one of the tasks, lets the branches land together.
    /// Otherwise merges one after another, and stops at the first branch that cannot be merged. First waits until no other
    /// merge or worktree removal of this viewer is running.
    ///
    /// # Errors
    /// Returns why a branch cannot be merged. The branches that were merged before it stay merged. If `tasks` has
    /// several entries, the error says how to undo these merges.
    pub(super) async fn merge_asked(&self, tasks: Vec<TaskId>) -> Result<(), String> {
        let _turn = self.merge_turn.lock().await;
        let (find, root, ids) = (self.merge_checks, self.root.clone(), tasks.clone());
        let checks = tokio::task::spawn_blocking(move || find(&root, &ids)).await;
        if let Some(checks) = checks.map_err(|error| error.to_string())?? {
            return self.merge_together(&tasks, checks).await;
        }
        let mut progress = MergeProgress::new(tasks.len());
        for id in tasks {
            let (mut text, before) = match self.merge(id).await {
                Ok(merged) => merged,
                Err(why) if progress.all == 1 => return Err(why),
                Err(why) => {
                    self.publish_branches().await;
                    return Err(progress.stopped_at(id, &why));
                }
            };
            progress.count_merge(before);
            if progress.all == 1 {
                text.push_str(&progress.undo_hint());
            }
            self.notice(text).await;
        }
        if progress.all > 1 {
            self.notice(progress.summary()).await;
        }
        // The viewer publishes the branches itself, because no crew may be running.
        self.publish_branches().await;
        Ok(())
    }

    /// Lets the branches of `tasks` land together after `checks` on their combination.
    async fn merge_together(&self, tasks: &[TaskId], checks: TaskChecks) -> Result<(), String> {
        let host = TrainHost {
            clock: self.clock,
            event_sender: Some(self.event_sender.clone()),
            session: None,
        };
        let runner = TrainRunner::new(host, self.worktrees.clone(), Arc::new(checks));
        let merger = TrainMerger::new(self.stores.board.clone(), runner);
        let merged = merger.merge(tasks, &self.stop).await?;
        for (level, text) in merged.lines {
            let event = EventKind::notice(level, text);
            self.event_sender.publish(event).await;
        }
        self.publish_branches().await;
        Ok(())
    }

    /// Publishes the merge status of all branches, and which tasks' worktrees no longer exist. Does nothing outside of
    /// a git repository.
    pub(super) async fn publish_branches(&self) {
        let mut known = Some(BranchSnapshot::default());
        while let Some(mut seen) = known.take() {
            let (worktrees, board) = (self.worktrees.clone(), self.stores.board.clone());
            let looked = run_blocking(move || {
                let named = board.query(worktrees_of_tasks)?;
                let changed = worktrees.branches(&mut seen, ScanMode::IfChanged, &named)?;
                Ok((seen, changed))
            });
            let Ok((seen, changed)) = looked.await else {
                return;
            };
            for event in branch_events(&changed) {
                self.event_sender.publish(event).await;
            }
            known = Some(seen).filter(BranchSnapshot::is_partial);
        }
    }

    /// Merges the branch of a task as `crewdeck worktree merge` does. Returns the message for the user, and the commit
    /// of the target branch before the merge (`None` if the merge did not change it). A conflict is an error and
    /// changes nothing: unlike a crew, a viewer does not create a task to resolve it.
    async fn merge(&self, id: TaskId) -> Result<(String, Option<String>), String> {
        let (board, worktrees, now) = (
            self.stores.board.clone(),
            self.worktrees.clone(),
            self.now(),
        );
        let reading = run_blocking(move || board.read()).await;
        let (_, name) = mergeable(&reading.map_err(|e| e.to_string())?.graph, id)?;
        let tree = name.clone();
        let merged = run_blocking(move || worktrees.merge(&tree, now)).await;
        let branch = name.branch();
        match merged.map_err(|e| e.to_string())? {
            Merge::Merged { into, before, .. } => {
                Ok((format!("{branch} is merged into {into}."), Some(before)))
            }
            Merge::AlreadyMerged { into } => {
                Ok((format!("{branch} is already merged into {into}."), None))
            }
            Merge::Conflict { into, files } => Err(format!(
                "{branch} does not merge into {into}: conflict in {}. Nothing was changed. To add a task that resolves the conflict, merge in the window of the crewdeck that runs this crew.",
                list_files(&files)
            )),
        }
    }
}
