//! Prepares the worktrees of tasks for work before the first turn of their owners: clones the folders that the settings
//! name, and runs their setup command. The owner is informed about a failure and works nevertheless.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::context::{CrewContext, lock};
use crate::agent::driver::run_blocking;
use crate::agent::prompt;
use crate::domain::ids::Name;
use crate::domain::team::Activity;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{RemovalMode, Worktree, WorktreeName, WorktreePhase};
use crate::process::AddedEnvironment;
use crate::protocol::event::{AgentEvent, NoticeLevel};
use crate::store::{CommandTurn, WorktreeCommands, Worktrees};

/// Clones folders into new worktrees, and runs the setup command in them.
///
/// The setup of a worktree runs in a task of its own, whose result its callers share. A caller that is dropped, because
/// its agent is interrupted, does not end it, and the next caller gets the result.
pub struct WorktreeSetup {
    context: Arc<CrewContext>,
    store: Worktrees,
    commands: WorktreeCommands,
    /// Held while a setup command runs, so that only a limited number runs at the same time. That of a spare worktree does not
    /// count.
    slots: Semaphore,
    /// The setups that run, and those that have ended and whose result no caller has got yet.
    runs: Mutex<BTreeMap<WorktreeName, SetupRun>>,
    /// The warnings about cloned folders and missing content that the user has seen. Each is shown once.
    shown_warnings: Mutex<BTreeSet<String>>,
}

/// The setup of one worktree.
struct SetupRun {
    /// The owner of the worktree's task, for whom the setup runs.
    owner: Name,
    /// Cancelling this token interrupts the setup.
    cancel: CancellationToken,
    /// The text for the model of the owner; `None` as long as the setup runs.
    result: watch::Receiver<Option<String>>,
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
            slots: Semaphore::new(commands.at_once.max(1)),
            commands,
            runs: Mutex::default(),
            shown_warnings: Mutex::default(),
        }
    }

    /// Returns whether new worktrees are to be prepared.
    pub fn is_configured(&self) -> bool {
        self.commands.settings.prepares()
    }

    /// Returns whether a caller of [`WorktreeSetup::prepare`] would wait for the setup of the worktree `name` or get its
    /// result: it runs, it has ended without a waiting caller, or it is still to run. Reads nothing if the settings name
    /// nothing to do.
    pub async fn is_pending(&self, name: &WorktreeName) -> bool {
        self.is_configured()
            && (lock(&self.runs).contains_key(name)
                || self.find(name).await.is_some_and(|tree| tree.setup_pending))
    }

    /// Returns a text for the model of a new owner about an earlier failure of the setup command in the worktree `name`;
    /// empty if it has not failed.
    pub async fn earlier_failure(&self, name: &WorktreeName) -> String {
        match self.find(name).await {
            Some(tree) if !tree.setup_pending && !tree.setup_error.is_empty() => {
                self.failure_text(name, &tree.setup_error).await
            }
            Some(_) | None => String::new(),
        }
    }

    /// Prepares the worktree `name` if that was not done yet, and shows the user the result. If it is being prepared,
    /// waits for the end. `added` are the additions to the environment of commands in the worktree. Returns a text for the
    /// model of `owner`, the owner of the worktree's task.
    pub async fn prepare(
        self: &Arc<Self>,
        name: &WorktreeName,
        owner: &Name,
        added: AddedEnvironment,
    ) -> String {
        let mut result = self.start(name, owner, added);
        if !owner.is_user() {
            let activity = Activity::Tool {
                tool: "setup".into(),
                on: name.to_string(),
            };
            let shown = AgentEvent::ActivityChanged { activity }.of(owner.clone());
            self.context.publish(shown).await;
        }
        // Fails only if the task was aborted at the end of the process.
        let text = match result.wait_for(Option::is_some).await {
            Ok(text) => text.clone().unwrap_or_default(),
            Err(_) => String::new(),
        };
        let mut runs = lock(&self.runs);
        if runs
            .get(name)
            .is_some_and(|run| run.result.same_channel(&result))
        {
            runs.remove(name);
        }
        text
    }

    /// Waits until the setup of the worktree `name` has ended, if it runs. It runs for `owner` from now on. The next caller
    /// of [`WorktreeSetup::prepare`] gets its result.
    pub async fn wait_for(&self, name: &WorktreeName, owner: &Name) {
        let result = lock(&self.runs).get_mut(name).map(|run| {
            run.owner = owner.clone();
            run.result.clone()
        });
        if let Some(mut result) = result {
            // Fails only if the task was aborted at the end of the process.
            let _ = result.wait_for(Option::is_some).await;
        }
    }

    /// Removes a worktree in which no agent has worked, after its teardown. Interrupts its setup.
    ///
    /// # Errors
    /// Fails with the reason if the worktree is not removed, because it has content of its own, or its teardown or the
    /// removal failed.
    pub async fn discard(&self, name: &WorktreeName, now: Timestamp) -> Result<(), String> {
        if let Some(run) = lock(&self.runs).get(name) {
            run.cancel.cancel();
        }
        let (store, wanted) = (self.store.clone(), name.clone());
        let checked = run_blocking(move || store.check_remove(&wanted, RemovalMode::OnlyIfSafe));
        checked.await.map_err(|e| e.to_string())?;
        let redactor = self.context.event_sender.redactor();
        let stop = &self.context.stop;
        // Waits for the end of the interrupted setup.
        let ran = Box::pin(
            self.store
                .run_teardown(name, &self.commands, redactor, stop),
        );
        let teardown = ran.await?;
        if let Some(text) = &teardown.warning {
            self.context.notice(NoticeLevel::Warn, text.clone()).await;
        }
        let (store, wanted) = (self.store.clone(), name.clone());
        let removed = run_blocking(move || store.remove(&wanted, RemovalMode::OnlyIfSafe, now));
        let removed = removed.await.map(drop);
        removed.map_err(|e| teardown.refusal(e.to_string()))
    }

    /// Starts the setup of a worktree in a task of its own, unless there is one already. Returns where its result arrives.
    pub fn start(
        self: &Arc<Self>,
        name: &WorktreeName,
        owner: &Name,
        added: AddedEnvironment,
    ) -> watch::Receiver<Option<String>> {
        let mut runs = lock(&self.runs);
        if let Some(run) = runs.get_mut(name) {
            // A spare worktree is prepared in the name of the user.
            if !owner.is_user() {
                run.owner = owner.clone();
            }
            return run.result.clone();
        }
        let (sender, result) = watch::channel(None);
        let cancel = self.context.stop.child_token();
        let run = SetupRun {
            owner: owner.clone(),
            cancel: cancel.clone(),
            result: result.clone(),
        };
        runs.insert(name.clone(), run);
        let (own, name) = (Arc::clone(self), name.clone());
        self.context.spawn(async move {
            let text = own.run(&name, added, &cancel).await;
            if text.is_none() {
                // The setup runs again for the next caller.
                lock(&own.runs).remove(&name);
            }
            let text = text.unwrap_or_else(|| own.interrupted_text());
            sender.send_replace(Some(text));
        });
        result
    }

    /// Interrupts the setups that run for `owner`, without waiting for their end. Their worktrees stay marked, so that the
    /// setup runs again when the work continues. Returns whether there were any.
    pub fn interrupt(&self, owner: &Name) -> bool {
        let runs = lock(&self.runs);
        let is_running = |run: &&SetupRun| run.owner.same(owner) && run.result.borrow().is_none();
        let mut running = runs.values().filter(is_running).peekable();
        let are_running = running.peek().is_some();
        running.for_each(|run| run.cancel.cancel());
        are_running
    }

    /// Forgets the result of the setup of an earlier worktree with the name of a new one.
    pub fn forget(&self, name: &WorktreeName) {
        lock(&self.runs).remove(name);
    }

    /// Prepares a worktree unless that was done before. Returns the text for the model of the owner; `None` if `cancel` was
    /// cancelled first.
    async fn run(
        &self,
        name: &WorktreeName,
        added: AddedEnvironment,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let _turn = match self.turn(name, cancel).await? {
            Ok(turn) => turn,
            Err(why) => {
                let text =
                    format!("Worktree {name} is not set up: {why}. The work goes on without it.");
                self.context.notice(NoticeLevel::Warn, text).await;
                // Not again later, in the middle of the work.
                self.finish(name, Some(why.clone())).await;
                return Some(prompt::setup_failed(&why, "", ""));
            }
        };
        let is_spare = |tree: Worktree| tree.phase == WorktreePhase::Spare;
        let _slot = if self.find(name).await.is_some_and(is_spare) {
            // Otherwise the owners of claimed tasks would wait for a setup that is done ahead of time. There is only one.
            None
        } else {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return None,
                slot = self.slots.acquire() => slot.ok(),
            }
        };
        // Another process may have prepared or removed the worktree.
        let tree = self.find(name).await;
        if !tree.is_some_and(|tree| tree.setup_pending) {
            return Some(self.earlier_failure(name).await);
        }
        let mut text = self.clone_folders(name).await;
        if cancel.is_cancelled() {
            return None;
        }
        match &self.commands.settings.setup {
            Some(_) => text.push_str(&self.run_setup(name, added, cancel).await?),
            None => self.finish(name, None).await,
        }
        Some(text)
    }

    /// Waits until no other setup or teardown command runs in a worktree, in any process. Returns `None` if `cancel` was
    /// cancelled first, and the reason as an error if that takes too long.
    async fn turn(
        &self,
        name: &WorktreeName,
        cancel: &CancellationToken,
    ) -> Option<Result<CommandTurn, String>> {
        let limit = self.commands.settings.timeout();
        let turn = self.store.command_turn(name, limit, cancel).await?;
        Some(turn.map_err(|error| error.to_string()))
    }

    /// Returns the text for the model of an owner whose setup was interrupted; empty if the crew stops.
    fn interrupted_text(&self) -> String {
        if self.context.stop.is_cancelled() {
            String::new()
        } else {
            prompt::setup_interrupted()
        }
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
    /// owner; `None` if `cancel` was cancelled. The mark in the registry then stays, so that the command runs again.
    async fn run_setup(
        &self,
        name: &WorktreeName,
        added: AddedEnvironment,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let text = format!("Worktree {name}: the setup command is running.");
        self.context.notice(NoticeLevel::Info, text).await;
        let started = Instant::now();
        let redactor = self.context.event_sender.redactor();
        let ran = Box::pin(
            self.store
                .run_setup(name, &self.commands, added, redactor, cancel),
        );
        let Some(result) = ran.await else {
            if !self.context.stop.is_cancelled() {
                let text = format!(
                    "Worktree {name}: the setup command was interrupted. It runs again before the work there continues."
                );
                self.context.notice(NoticeLevel::Warn, text).await;
            }
            return None;
        };
        let failure = result.failure_text();
        self.finish(name, failure.clone()).await;
        let (seconds, limits) = (started.elapsed().as_secs(), result.limits_text());
        let (level, text) = match &failure {
            None if result.had_leftovers => (
                NoticeLevel::Warn,
                format!(
                    "Worktree {name}: the setup command ended after {seconds} s{limits} and left a program running, which was killed."
                ),
            ),
            None => (
                NoticeLevel::Info,
                format!("Worktree {name}: the setup command ended after {seconds} s{limits}."),
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
        Some(text + &prompt::setup_changes(changed))
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
}
