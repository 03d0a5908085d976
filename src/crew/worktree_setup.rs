//! Prepares the worktrees of tasks for work before the first turn of their owners: clones the folders that the settings
//! name, and runs their setup command. The owner is informed about a failure and works nevertheless.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::agent::prompt;
use crate::domain::worktree::{Worktree, WorktreeName};
use crate::process::AddedEnvironment;
use crate::protocol::event::NoticeLevel;
use crate::store::{WorktreeCommands, Worktrees};

/// Clones folders into new worktrees, and runs the setup command in them.
pub struct WorktreeSetup {
    context: Arc<CrewContext>,
    store: Worktrees,
    commands: WorktreeCommands,
    /// Held while the setup command runs in a worktree, so that it runs there only once at a time. An entry is removed
    /// when it is no longer in use.
    turns: Mutex<BTreeMap<WorktreeName, Arc<tokio::sync::Mutex<()>>>>,
    /// The warnings about cloned folders and missing content that the user has seen. Each is shown once.
    shown_warnings: Mutex<BTreeSet<String>>,
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
            shown_warnings: Mutex::default(),
        }
    }

    /// Returns whether new worktrees are to be prepared.
    pub fn is_configured(&self) -> bool {
        self.commands.settings.prepares()
    }

    /// Returns whether the worktree `name` is still to be prepared, because crewdeck ended before that was done. Reads
    /// nothing if the settings name nothing to do.
    pub async fn is_pending(&self, name: &WorktreeName) -> bool {
        self.is_configured() && self.find(name).await.is_some_and(|tree| tree.setup_pending)
    }

    /// Prepares the worktree `name` if that was not done yet, and shows the user the result. `added` are the additions to
    /// the environment of commands in the worktree. Returns a text for the model of the owner: about what was done now, or
    /// about an earlier failure of the setup command.
    pub async fn prepare(&self, name: &WorktreeName, added: AddedEnvironment) -> String {
        if !self.is_configured() {
            return String::new();
        }
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
        let mut text = self.clone_folders(name).await;
        match &self.commands.settings.setup {
            Some(_) => text.push_str(&self.run_setup(name, added).await),
            None => self.finish(name, None).await,
        }
        text
    }

    /// Returns a text for the model of a worktree's owner about submodules and files of Git LFS that are missing in the
    /// worktree `name`. Shows the user each such warning once.
    pub async fn missing_content(&self, name: &WorktreeName) -> String {
        let (store, wanted) = (self.store.clone(), name.clone());
        let missing = match run_blocking(move || store.missing_content(&wanted)).await {
            Ok(missing) => missing,
            Err(error) => {
                tracing::warn!("worktree {name} is not checked for submodules and LFS: {error}");
                return String::new();
            }
        };
        // Once for each kind, because each branch may lack others.
        self.warn_once(missing.warnings()).await;
        prompt::missing_content(&missing)
    }

    /// Shows the user those texts whose keys were not shown before.
    async fn warn_once(&self, warnings: Vec<(impl Into<String>, String)>) {
        for (key, text) in warnings {
            let is_new = lock(&self.shown_warnings).insert(key.into());
            if is_new {
                self.context.notice(NoticeLevel::Warn, text).await;
            }
        }
    }

    /// Clones the folders of the settings into the worktree `name`. Returns a text for the model of the owner.
    async fn clone_folders(&self, name: &WorktreeName) -> String {
        let settings = self.commands.settings.clone();
        if settings.clone_folders.iter().flatten().next().is_none() {
            return String::new();
        }
        let (store, wanted) = (self.store.clone(), name.clone());
        let cloned = run_blocking(move || store.clone_folders(&wanted, &settings)).await;
        let cloned = match cloned {
            Ok(cloned) => cloned,
            Err(error) => {
                let text =
                    format!("Worktree {name}: no folders are copied (worktree.clone): {error}");
                self.context.notice(NoticeLevel::Warn, text).await;
                return String::new();
            }
        };
        if let Some(summary) = cloned.summary() {
            let text = format!("Worktree {name}: {summary}.");
            self.context.notice(NoticeLevel::Info, text).await;
        }
        let warnings = cloned.warnings().into_iter();
        self.warn_once(warnings.map(|text| (text.clone(), text)).collect())
            .await;
        prompt::cloned_folders(&cloned.names)
    }

    /// Runs the setup command in the worktree `name`, and shows the user how it ended. Returns a text for the model of the
    /// owner.
    async fn run_setup(&self, name: &WorktreeName, added: AddedEnvironment) -> String {
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
        self.finish(name, failure.clone()).await;
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
        let changed = &result.changed;
        if changed.count > 0 {
            let text = format!(
                "The setup command has changed or created files that git does not ignore: {}. They become part of the task's branch. Use a command that leaves them alone, such as npm ci instead of npm install, or add them to .gitignore.",
                changed.list()
            );
            self.warn_once(vec![(text.clone(), text)]).await;
        }
        let text = match &failure {
            None => prompt::setup_done(result.had_leftovers),
            Some(why) => self.failure_text(name, why).await,
        };
        text + &prompt::setup_changes(changed)
    }

    /// Records in the registry that the worktree `name` is prepared. `failure` says why the setup command failed.
    async fn finish(&self, name: &WorktreeName, failure: Option<String>) {
        let (store, finished) = (self.store.clone(), name.clone());
        let saved = run_blocking(move || store.finish_setup(&finished, failure.as_deref())).await;
        if let Err(error) = saved {
            let text = format!(
                "Worktree {name}: the end of the setup cannot be recorded, so it may run again: {error}"
            );
            self.context.notice(NoticeLevel::Warn, text).await;
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
