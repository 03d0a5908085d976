//! The subcommands that read and write the state files: `task`, `mail`, `agents`, `team`, `worktree` and
//! `checkpoint`.

mod agents;
mod checkpoint;
mod host_client;
mod issue_client;
mod mail;
mod pull_request_client;
mod ssh_alias;
mod table;
mod task;
mod task_import;
mod team;
mod worktree;
mod worktree_pr;

use std::any::Any;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use serde::Serialize;

use crate::cli::FileVerb;
use crate::domain::checks::{CheckRecord, CheckSpec};
use crate::domain::external_agent::ExternalAgentInfo;
use crate::domain::ids::{Name, TaskId};
use crate::domain::redact::Redactor;
use crate::domain::task::Task;
use crate::domain::text::{escape_control_chars, escape_json, one_line};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{Merge, Worktree, WorktreeName};
use crate::store::{self, Board, Roles, Stores, Teardown, Worktrees};

/// What every subcommand needs in addition to its arguments.
pub struct CommandContext<'a> {
    /// The root of the project, in which the state folders are.
    pub root: &'a Path,
    /// The tasks, messages and roster that the subcommand uses.
    pub stores: Stores,
    /// Whether `stores` are on a hub, so that the subcommand uses no state files of the project.
    pub is_on_hub: bool,
    pub format: OutputFormat,
    /// The roles of the project and of the user, and the built-in ones.
    pub roles: Roles,
    /// Finds the external agents of the settings and the presets. Also returns notices for the user.
    pub external_agents: &'a dyn Fn() -> (Vec<ExternalAgentInfo>, Vec<String>),
    /// Runs the checks of a task before it is completed.
    pub gate: &'a dyn TaskGate,
    /// Runs the teardown command of the settings in a worktree that is about to be removed. Fails with the reason if the
    /// worktree must not be removed.
    pub teardown: &'a dyn Fn(&Worktrees, &WorktreeName) -> Result<Teardown, String>,
    /// Reads the settings for a subcommand that publishes work, and listens for Ctrl-C. Programs that are started afterwards
    /// get the variables that the settings allow.
    pub publishing: &'a dyn Fn() -> Result<Publishing>,
    /// Finds out whether a crew runs in the project. If none runs, none can start while the result exists.
    pub crew: &'a dyn Fn() -> Result<CrewStatus>,
    pub now: Timestamp,
    pub new_id: fn() -> String,
}

/// Whether a crew runs in the project.
pub enum CrewStatus {
    /// A crew runs. The text names its process, as ` (process 4711)`; it is empty if the process is unknown.
    Running(String),
    /// No crew runs. The value is the crew lock: no crew can start until it is dropped.
    Stopped(Box<dyn Any>),
}

/// What a subcommand that publishes work needs from the settings.
pub struct Publishing {
    /// Finds the secrets of the environment and of the settings.
    pub redactor: Redactor,
    pub checks: Vec<CheckSpec>,
    /// Returns whether the user has set the command as the acceptance command of the task.
    pub is_acceptance_set: fn(&Path, TaskId, &str) -> bool,
    /// Becomes true when the user interrupts the command.
    pub stop: Arc<AtomicBool>,
}

/// A task that a subcommand is about to complete.
pub struct CompletionRequest<'a> {
    pub board: &'a Board,
    pub task: &'a Task,
    /// The agent or user under whose name the subcommand runs.
    pub by: &'a Name,
    /// Why the task is completed even if its checks are red; `None` if it is not.
    pub override_reason: Option<&'a str>,
}

/// Runs the checks of tasks and stores which acceptance commands the user has set. Declared here, implemented by the
/// application, which knows the settings.
pub trait TaskGate {
    /// Runs the checks of a task. Returns their results, to be stored with the completed task.
    ///
    /// # Errors
    /// Fails with the reason if the task must not be completed.
    fn check(&self, request: &CompletionRequest<'_>) -> Result<Vec<CheckRecord>>;

    /// Checks that this command may set acceptance commands.
    ///
    /// # Errors
    /// Fails in a command of an agent.
    fn check_may_set_acceptance(&self) -> Result<()>;

    /// Stores that the user has set `command` as the acceptance command of a task. Returns a notice for the user, if
    /// there is one.
    ///
    /// # Errors
    /// Fails in a command of an agent, or if the approval cannot be stored.
    fn approve_acceptance(&self, task: TaskId, command: &str) -> Result<Option<String>>;

    /// Merges the branch of a worktree after the checks of the merged state. Returns `None`, and does nothing, if no check
    /// could apply.
    ///
    /// # Errors
    /// Fails with the reason if the branch is not merged, if it is not because of a conflict.
    fn merge(&self, tree: &Worktree) -> Result<Option<Merge>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    Text,
    Json,
}

/// The result of a subcommand that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// The subcommand succeeded (exit status 0), even if nothing had to be changed or listed.
    Done,
    /// There was nothing to do (exit status 3): no task to claim or to import, or nothing to push.
    Nothing,
    /// The user has interrupted the subcommand (exit status 130).
    Interrupted,
}

/// Runs a subcommand that reads or writes the state files, and prints its result to stdout. Creates the state folders
/// if they are missing and used.
///
/// # Errors
/// Returns an error for the user that says what failed and, in most cases, what to do.
pub fn run(verb: &FileVerb, context: &CommandContext<'_>) -> Result<CommandOutcome> {
    // Warnings are not shown here. The dashboard and `crewdeck run` show them.
    if !context.is_on_hub {
        store::prepare(context.root)?;
    }
    match verb {
        FileVerb::Task(verb) => task::run(verb, context),
        FileVerb::Mail(verb) => mail::run(verb, context),
        FileVerb::Agents(verb) => agents::run(verb, context),
        FileVerb::Team(verb) => team::run(verb, context),
        FileVerb::Worktree(verb) => worktree::run(verb, context),
        FileVerb::Checkpoint(verb) => checkpoint::run(verb, context),
    }
}

impl CommandContext<'_> {
    /// Prints the result of a subcommand to stdout: `value` as JSON or `text`, depending on the output format. Escapes
    /// control characters. Prints nothing if `text` is empty.
    ///
    /// # Errors
    /// Fails if stdout cannot be written. A pipe that its reader has closed is not an error.
    fn print(&self, value: &impl Serialize, text: impl FnOnce() -> String) -> Result<()> {
        let out = match self.format {
            OutputFormat::Json => escape_json(&serde_json::to_string_pretty(value)?),
            OutputFormat::Text => escape_control_chars(&text()),
        };
        if out.is_empty() {
            return Ok(());
        }
        match writeln!(std::io::stdout().lock(), "{out}") {
            // The program that reads the output, such as `head`, has closed the pipe and wants no more.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            result => Ok(result?),
        }
    }

    /// Prints notices about state files to stderr, for example that a file cannot be read or that a damaged file was
    /// renamed.
    fn warn(notices: &[String]) {
        for notice in notices {
            // If a notice cannot be printed, the subcommand does not fail.
            let notice = one_line(notice);
            let _ = writeln!(std::io::stderr().lock(), "crewdeck: {notice}");
        }
    }
}

/// Parses an argument that names an agent or the user: a teammate's name, `lead` or `user`. Checks only the characters
/// and the length, not whether the agent exists.
fn parse_name(text: &str) -> Result<Name> {
    Ok(Name::party(text)?)
}
