//! The commands for worktrees, for a process that runs no crew: `crewdeck worktree remove`, `crewdeck doctor` and a
//! viewer.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::{block_on, check_tools, secrets, supervisor};
use crate::config;
use crate::config::extensions::Extensions;
use crate::domain::worktree::WorktreeName;
use crate::process::environment;
use crate::store::{WorktreeCommands, Worktrees};

/// Returns the commands that the settings name for the worktrees of the project `root`. Commands of the project are
/// included only if the user has approved them. Returns no commands if there is no teardown command, which is the only
/// one that runs without a crew.
///
/// # Errors
/// Fails if a settings file is invalid or cannot be read.
fn load(root: &Path) -> Result<WorktreeCommands> {
    let settings = config::load(root, check_tools)?.settings;
    if settings.worktree.teardown.is_none() {
        return Ok(WorktreeCommands::default());
    }
    environment::set_allowed(settings.pass_env.iter().flatten().cloned());
    environment::set_withheld(secrets::header_variables(&settings.models));
    let approved = Extensions::load(root).trust.approved_files();
    Ok(WorktreeCommands {
        supervisor: supervisor::supervisor(root, &settings, &approved).map(Arc::new),
        settings: settings.worktree,
    })
}

/// As [`load`], but returns no commands if the settings cannot be used.
pub fn load_or_none(root: &Path) -> WorktreeCommands {
    load(root).unwrap_or_else(|error| {
        tracing::warn!("no teardown command runs, because the settings cannot be used: {error:#}");
        WorktreeCommands::default()
    })
}

/// Runs the teardown command in a worktree of the project `root` that is about to be removed. Returns a warning for the
/// user if it failed or could not run.
pub fn tear_down(root: &Path, trees: &Worktrees, name: &WorktreeName) -> Option<String> {
    let run = || -> Result<Option<String>> {
        let commands = load(root)?;
        if commands.settings.teardown.is_none() {
            return Ok(None);
        }
        let (redactor, cancel) = (secrets::redactor(), CancellationToken::new());
        block_on(async {
            let ran = trees.run_teardown(name, &commands, &redactor, &cancel);
            Ok(ran.await)
        })
    };
    run().unwrap_or_else(|error| {
        Some(format!(
            "The teardown of worktree {name} was not run: {error:#}"
        ))
    })
}
