//! Prepares the worktrees of tasks through [`WorktreeSetup`](super::super::worktree_setup::WorktreeSetup): at a claim,
//! before a turn, and before the claim of a task that is next in line.

use std::path::Path;

use super::super::context::lock;
use super::TaskWorktrees;
use crate::agent::driver::run_blocking;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::worktree::{Worktree, WorktreeName};
use crate::protocol::event::NoticeLevel;
use crate::store::{NewWorktree, StoreError};

impl TaskWorktrees {
    /// Returns whether the settings name something to do in new worktrees.
    pub fn prepares(&self) -> bool {
        let setup = self.setup.as_ref();
        setup.is_some_and(|setup| setup.is_configured())
    }

    /// Creates the spare worktree of a task, and starts its setup. Does nothing if there is a spare worktree, if the task has
    /// a worktree, or if the disk usage is above its limit.
    ///
    /// # Errors
    /// Fails if git or the state files fail.
    pub async fn create_spare(&self, new: NewWorktree) -> Result<(), StoreError> {
        let Some(store) = self.store.clone() else {
            return Ok(());
        };
        if self.enforce_disk_limit().await {
            // The worktree of a claimed task is created nevertheless.
            return Ok(());
        }
        let (now, id) = (self.context.now(), new.task);
        let created = run_blocking(move || store.create_spare(&new, now)).await?;
        let Some(created) = created else {
            return Ok(());
        };
        let name = created.worktree.name.clone();
        self.forget_earlier(&name);
        self.report_included(&created).await;
        let text = format!("Worktree {name} is prepared for task {id}, which is next in line.");
        self.context.notice(NoticeLevel::Info, text).await;
        self.prepare_spare(&name).await;
        Ok(())
    }

    /// Starts the setup of a spare worktree in the background, if that is still to be done and does not run yet.
    pub async fn prepare_spare(&self, name: &WorktreeName) {
        let (Some(setup), Some(store)) = (&self.setup, &self.store) else {
            return;
        };
        if setup.is_pending(name).await {
            let added = self.environment_of(&store.path_of(name)).await.1;
            setup.start(name, &Name::user(), added);
        }
    }

    /// Removes the spare worktree of a task that no agent claims any more, after its teardown. If it has content of its own,
    /// keeps it and shows the user the reason.
    pub async fn discard_spare(&self, tree: &Worktree) {
        let (Some(setup), Some(store)) = (&self.setup, self.store.clone()) else {
            return;
        };
        let Err(why) = setup.discard(&tree.name, self.context.now()).await else {
            return self.forget_earlier(&tree.name);
        };
        let name = tree.name.clone();
        let kept = run_blocking(move || store.keep_spare(&name)).await;
        if let Err(error) = kept {
            tracing::warn!("the spare worktree {} stays: {error}", tree.name);
        }
        let text = format!("Worktree {} of a task that is gone stays: {why}", tree.name);
        self.context.notice(NoticeLevel::Warn, text).await;
    }

    /// Forgets what is known of an earlier worktree with the name of a new one.
    pub(super) fn forget_earlier(&self, name: &WorktreeName) {
        lock(&self.environments).remove(name);
        if let Some(setup) = &self.setup {
            setup.forget(name);
        }
    }

    /// Interrupts the setups that run for `owner`. Returns whether there were any. They run again when the work in their
    /// worktrees continues.
    pub fn interrupt_setup(&self, owner: &Name) -> bool {
        let setup = self.setup.as_ref();
        setup.is_some_and(|setup| setup.interrupt(owner))
    }

    /// Prepares the worktree in `dir` if that is still to be done, or waits until it is done. Returns a text for the model
    /// of `owner` about what was done; empty if nothing was to be done. Called before each turn of a teammate: a setup that
    /// was interrupted runs again, and the owner gets the result of one that has ended without a waiting caller.
    pub async fn resume_setup(&self, dir: &Path, owner: &Name) -> String {
        let (Some(setup), Some(name)) = (&self.setup, self.name_of(dir)) else {
            return String::new();
        };
        if !setup.is_pending(&name).await {
            return String::new();
        }
        let added = self.environment_of(dir).await.1;
        setup.prepare(&name, owner, added).await
    }

    /// Prepares the worktree of a task of the user if that is still to be done. If the settings name nothing to do, forgets
    /// that it was.
    pub async fn resume_user_setup(&self, task: &Task) {
        let Some(dir) = self.dir_of(task) else { return };
        self.forget_setup(&dir).await;
        self.resume_setup(&dir, &Name::user()).await;
    }

    /// Forgets that the worktree in `dir` is still to be prepared, if the settings name nothing to do.
    pub(super) async fn forget_setup(&self, dir: &Path) {
        let (Some(store), Some(name)) = (self.store.clone(), self.name_of(dir)) else {
            return;
        };
        if self.prepares() {
            return;
        }
        let forgotten = run_blocking(move || store.forget_setup(&name)).await;
        if let Err(error) = forgotten {
            tracing::warn!(
                "the worktree in {} may be set up later: {error}",
                dir.display()
            );
        }
    }

    /// Waits until the setup in the spare worktree of a task has ended, if it runs, because the claim changes the worktree.
    pub(super) async fn await_spare(&self, task: TaskId, owner: &Name) {
        let (Some(setup), Some(store)) = (&self.setup, self.store.clone()) else {
            return;
        };
        if !self.prepares() {
            return;
        }
        let spares = run_blocking(move || store.spares())
            .await
            .unwrap_or_default();
        for tree in spares.iter().filter(|tree| tree.task_id == Some(task)) {
            setup.wait_for(&tree.name, owner).await;
        }
    }

    /// Prepares the worktree in `dir` for work, if that is still to be done. Returns a text for the model of `owner` about
    /// it, about an earlier failure of the setup, and about what is missing in the worktree.
    pub(super) async fn prepare(&self, dir: &Path, owner: &Name) -> String {
        let (Some(setup), Some(name)) = (&self.setup, self.name_of(dir)) else {
            return String::new();
        };
        let text = if setup.is_pending(&name).await {
            self.resume_setup(dir, owner).await
        } else if setup.is_configured() {
            setup.earlier_failure(&name).await
        } else {
            String::new()
        };
        // Afterwards, because the setup command may have fetched it.
        text + &setup.missing_content(&name).await
    }
}
