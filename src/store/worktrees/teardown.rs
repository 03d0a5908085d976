//! Runs the teardown command in a worktree that is about to be removed, and keeps setup and teardown commands of one
//! worktree from running at the same time, also in different processes.
//!
//! Before the teardown command begins, the registry records that the worktree must be set up again. So a worktree that is
//! not removed after all, because a task continues in it or because crewdeck was killed, does not stay unusable.

use std::io;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Worktrees;
use super::commands::{WorktreeCommands, without_cache};
use crate::domain::redact::Redactor;
use crate::domain::worktree::{WorktreeError, WorktreeName, WorktreePhase};
use crate::process::ContentOrigin;
use crate::store::StoreError;
use crate::store::atomic::Lock;

/// The name of the lock file in the git folder of a worktree. Agents cannot write there.
const TURN_FILE: &str = "commands.crewdeck";
/// Time between two attempts to get the lock, while another process runs a command in the worktree.
const TURN_INTERVAL: Duration = Duration::from_millis(100);

/// As long as this value exists, no other setup or teardown command runs in the worktree.
#[derive(Debug)]
pub struct CommandTurn {
    _lock: Lock,
}

/// A teardown that has ended. Keep this value until the worktree is removed, so that its setup does not start before.
#[derive(Debug, Default)]
#[must_use]
pub struct Teardown {
    /// What the user must know: that the command failed or was not run, and why. `None` if there is nothing to say.
    pub warning: Option<String>,
    turn: Option<CommandTurn>,
}

impl Teardown {
    /// Returns the teardown of a worktree for which the settings have no command that may run.
    pub fn without_command(commands: &WorktreeCommands) -> Teardown {
        Teardown {
            warning: commands.withheld.clone(),
            turn: None,
        }
    }

    /// Returns whether the command has run.
    pub fn has_run(&self) -> bool {
        self.turn.is_some()
    }

    /// Returns why a worktree was not removed although its teardown command has run, with what happens next.
    pub fn refusal(&self, why: String) -> String {
        if self.has_run() {
            format!(
                "{why}. Its teardown command has run; its setup runs again when its task continues"
            )
        } else {
            why
        }
    }
}

impl Worktrees {
    /// Waits until no setup or teardown command runs in the worktree, and then keeps others from starting. Returns `None`
    /// if `cancel` is cancelled first.
    ///
    /// # Errors
    /// When such a command still runs after the time `within`, there is no such worktree, or the lock file cannot be used.
    pub async fn command_turn(
        &self,
        name: &WorktreeName,
        within: Duration,
        cancel: &CancellationToken,
    ) -> Option<Result<CommandTurn, StoreError>> {
        let until = Instant::now() + within;
        loop {
            let (store, wanted) = (self.clone(), name.clone());
            let tried = tokio::task::spawn_blocking(move || store.try_command_turn(&wanted)).await;
            let failed = |why: String| {
                let path = self.path_of(name);
                let why = io::Error::other(why);
                Some(Err(StoreError::File { path, why }))
            };
            match tried {
                Ok(Ok(Some(turn))) => return Some(Ok(turn)),
                Ok(Ok(None)) if Instant::now() < until => {}
                Ok(Ok(None)) => {
                    return failed("another setup or teardown command still runs there".into());
                }
                Ok(Err(error)) => return Some(Err(error)),
                Err(error) => return failed(error.to_string()),
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return None,
                () = tokio::time::sleep(TURN_INTERVAL) => {}
            }
        }
    }

    /// Returns `None` if a setup or teardown command runs in the worktree.
    fn try_command_turn(&self, name: &WorktreeName) -> Result<Option<CommandTurn>, StoreError> {
        let work = self.read()?;
        let name = work.index.find(name)?.name.clone();
        let (_, own) = work.valid_folder(&name)?;
        drop(work);
        let lock = Lock::take_within(&own.join(TURN_FILE), Duration::ZERO)?;
        Ok(lock.map(|lock| CommandTurn { _lock: lock }))
    }

    /// Runs the teardown command in a worktree that is about to be removed. Does nothing if there is no teardown command or
    /// no folder. If the command fails, the worktree is to be removed nevertheless.
    ///
    /// Call [`Worktrees::check_remove`] first, so that the command does not run before a removal that is refused. Check
    /// again afterwards whether a task is in progress in the worktree, because the command may run for minutes.
    ///
    /// # Errors
    /// Fails with the reason if the command was interrupted, could not begin, or its begin cannot be recorded. The worktree
    /// must then not be removed.
    pub async fn run_teardown(
        &self,
        name: &WorktreeName,
        commands: &WorktreeCommands,
        redactor: &Redactor,
        cancel: &CancellationToken,
    ) -> Result<Teardown, String> {
        let Some(command) = commands.settings.teardown.as_deref() else {
            return Ok(Teardown::without_command(commands));
        };
        let not_removed = |why: String| format!("worktree {name} was not removed: {why}");
        let interrupted = || not_removed("its teardown was interrupted".into());
        let limit = commands.settings.timeout();
        let turn = match self.command_turn(name, limit, cancel).await {
            None => return Err(interrupted()),
            Some(Ok(turn)) => turn,
            // There is nothing in which the command could run.
            Some(Err(StoreError::Worktree(
                WorktreeError::Missing(_) | WorktreeError::Foreign(_),
            ))) => return Ok(Teardown::default()),
            Some(Err(error)) => {
                return Err(not_removed(format!("its teardown cannot begin: {error}")));
            }
        };
        let (store, wanted) = (self.clone(), name.clone());
        let begun = tokio::task::spawn_blocking(move || {
            store.begin_teardown(&wanted)?;
            store.command_environment(&wanted)
        });
        let added = match begun.await {
            Ok(Ok((_, added))) => added,
            Ok(Err(error)) => {
                return Err(not_removed(format!("its teardown cannot begin: {error}")));
            }
            Err(error) => return Err(not_removed(format!("its teardown cannot begin: {error}"))),
        };
        let result = match without_cache(&added) {
            Some(failed) => Some(failed),
            None => {
                // Agents have worked in the worktree.
                let place = (self.path_of(name), ContentOrigin::Agents);
                Box::pin(commands.run(command, place, added, redactor, cancel)).await
            }
        };
        let result = result.ok_or_else(interrupted)?;
        let warning = result.failure_text().map(|why| {
            format!(
                "The teardown of worktree {name} failed ({why}). The worktree is removed nevertheless."
            )
        });
        Ok(Teardown {
            warning,
            turn: Some(turn),
        })
    }

    /// Records in the registry that the teardown command begins in a worktree, so that its setup runs again unless it is
    /// removed.
    fn begin_teardown(&self, name: &WorktreeName) -> Result<(), StoreError> {
        let mut work = self.begin_change()?;
        work.index.change(name, |tree| {
            tree.setup_pending = true;
            tree.phase = WorktreePhase::TornDown;
        })?;
        work.save()
    }
}
