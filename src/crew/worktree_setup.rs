//! Prepares the worktrees of tasks for work: runs the setup command of the settings in each new worktree before the first
//! turn of its owner. The owner is informed about a failure and works nevertheless.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::agent::prompt;
use crate::domain::worktree::{Worktree, WorktreeName};
use crate::process::AddedEnvironment;
use crate::protocol::event::NoticeLevel;
use crate::store::{WorktreeCommands, Worktrees};

/// Runs the setup command in worktrees.
pub struct WorktreeSetup {
    context: Arc<CrewContext>,
    store: Worktrees,
    commands: WorktreeCommands,
    /// Held while the setup command runs in a worktree, so that it runs there only once at a time. An entry is removed
    /// when it is no longer in use.
    turns: Mutex<BTreeMap<WorktreeName, Arc<tokio::sync::Mutex<()>>>>,
}

impl WorktreeSetup {
    pub fn new(
        context: Arc<CrewContext>,
        store: Worktrees,
        commands: WorktreeCommands,
    ) -> WorktreeSetup {
        WorktreeSetup {
            context,
            store,
            commands,
            turns: Mutex::default(),
        }
    }

    /// Returns whether new worktrees are to be prepared.
    pub fn is_configured(&self) -> bool {
        self.commands.settings.setup.is_some()
    }

    /// Returns whether the setup command is still to be run in the worktree `name`, because crewdeck ended before it had
    /// ended there. Reads nothing if there is no setup command.
    pub async fn is_pending(&self, name: &WorktreeName) -> bool {
        self.is_configured() && self.find(name).await.is_some_and(|tree| tree.setup_pending)
    }

    /// Runs the setup command in the worktree `name` if it has not run there, and shows the user how it ended. `added` are
    /// the additions to the environment of commands in the worktree. Returns a text about it for the model of the
    /// owner: about this run, or about a failure of an earlier one.
    pub async fn prepare(&self, name: &WorktreeName, added: AddedEnvironment) -> String {
        let Some(command) = &self.commands.settings.setup else {
            return String::new();
        };
        let turn = self.turn_of(name);
        let _turn = turn.lock().await;
        let Some(tree) = self.find(name).await else {
            return String::new();
        };
        if !tree.setup_pending {
            return match tree.setup_error.as_str() {
                "" => String::new(),
                why => self.failure_text(name, why).await,
            };
        }
        let text = format!("Worktree {name}: the setup command is running.");
        self.context.notice(NoticeLevel::Info, text).await;
        let started = Instant::now();
        let cancel = self.context.stop.child_token();
        let redactor = self.context.event_sender.redactor();
        let ran = Box::pin(
            self.store
                .run_setup(name, &self.commands, added, redactor, &cancel),
        );
        let Some(result) = ran.await else {
            // The crew stops. The mark in the registry stays, so that the command runs again when the task continues.
            return String::new();
        };
        let failure = result.failure_text();
        let (store, finished, why) = (self.store.clone(), name.clone(), failure.clone());
        let saved = run_blocking(move || store.finish_setup(&finished, why.as_deref())).await;
        if let Err(error) = saved {
            let text = format!(
                "Worktree {name}: the end of the setup cannot be recorded, so it may run again: {error}"
            );
            self.context.notice(NoticeLevel::Warn, text).await;
        }
        let seconds = started.elapsed().as_secs();
        let (level, text) = match &failure {
            None if result.had_leftovers => (
                NoticeLevel::Warn,
                format!(
                    "Worktree {name}: the setup command ended after {seconds} s and left a program running, which was killed."
                ),
            ),
            None => (
                NoticeLevel::Info,
                format!("Worktree {name}: the setup command ended after {seconds} s."),
            ),
            Some(why) => (
                NoticeLevel::Warn,
                format!(
                    "Worktree {name}: the setup command failed ({why}). The work goes on without it. Log: .worktrees/{}",
                    self.log_name(name)
                ),
            ),
        };
        self.context.notice(level, text).await;
        match &failure {
            None => prompt::setup_done(command, result.had_leftovers),
            Some(why) => self.failure_text(name, why).await,
        }
    }

    async fn failure_text(&self, name: &WorktreeName, why: &str) -> String {
        let (store, wanted) = (self.store.clone(), name.clone());
        let end = run_blocking(move || Ok(store.setup_log_end(&wanted))).await;
        let log = self.store.setup_log(name).display().to_string();
        prompt::setup_failed(why, &end.unwrap_or_default(), &log)
    }

    fn log_name(&self, name: &WorktreeName) -> String {
        let path = self.store.setup_log(name);
        let file = path.file_name().unwrap_or_default();
        file.to_string_lossy().into_owned()
    }

    /// Returns the registry's entry of a worktree; `None` if there is none or the registry cannot be read.
    async fn find(&self, name: &WorktreeName) -> Option<Worktree> {
        let (store, wanted) = (self.store.clone(), name.clone());
        let found = run_blocking(move || store.find(wanted.as_str())).await;
        found
            .inspect_err(|error| tracing::warn!("worktree {name} is not set up: {error}"))
            .ok()
    }

    fn turn_of(&self, name: &WorktreeName) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = lock(&self.turns);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(name.clone()).or_default())
    }
}
