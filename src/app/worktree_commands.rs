//! The commands for worktrees, for a process that runs no crew: `crewdeck worktree remove`, `crewdeck doctor` and a
//! viewer.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

use super::{block_on, check_tools, secrets, supervisor};
use crate::config::extensions::Extensions;
use crate::config::{self, ProjectPolicy};
use crate::domain::worktree::WorktreeName;
use crate::process::environment;
use crate::store::{Teardown, WorktreeCommands, Worktrees};

/// Returns why the teardown command of the project does not run, as a sentence for the user. Returns `None` if the project
/// has none, or the user has decided about it.
pub fn withheld_teardown(project: &ProjectPolicy) -> Option<String> {
    let ProjectPolicy::Waiting(found) = project else {
        return None;
    };
    let mut settings = found.settings.iter();
    let has_teardown = settings.any(|setting| setting.key == "worktree.teardown");
    has_teardown.then(|| {
        "The project's teardown command (worktree.teardown) was not run, because it needs your approval: run crewdeck trust."
            .into()
    })
}

/// Returns the commands that the settings name for the worktrees of the project `root`. Commands of the project are
/// included only if the user has approved them. Returns no commands if there is no teardown command, which is the only
/// one that runs without a crew.
///
/// # Errors
/// Fails if a settings file is invalid or cannot be read.
fn load(root: &Path) -> Result<WorktreeCommands> {
    let loaded = config::load(root, check_tools)?;
    let settings = loaded.settings;
    if settings.worktree.teardown.is_none() {
        return Ok(WorktreeCommands {
            withheld: withheld_teardown(&loaded.project),
            ..WorktreeCommands::default()
        });
    }
    environment::set_allowed(settings.pass_env.iter().flatten().cloned());
    environment::set_withheld(secrets::header_variables(&settings.models));
    let approved = Extensions::load(root).trust.approved_files();
    Ok(WorktreeCommands {
        supervisor: supervisor::supervisor(root, &settings, &approved).map(Arc::new),
        settings: settings.worktree,
        ..WorktreeCommands::default()
    })
}

/// As [`load`], but if the settings cannot be used, returns no commands, with the reason for the user.
pub fn load_or_none(root: &Path) -> WorktreeCommands {
    load(root).unwrap_or_else(|error| WorktreeCommands {
        withheld: Some(format!(
            "The teardown command was not run, because the settings cannot be used: {error:#}"
        )),
        ..WorktreeCommands::default()
    })
}

/// Runs the teardown command in a worktree of the project `root` that is about to be removed. If the settings cannot be
/// used, only the warning of the result says so.
///
/// # Errors
/// Fails with the reason if the worktree must not be removed; see [`Worktrees::run_teardown`].
pub fn tear_down(root: &Path, trees: &Worktrees, name: &WorktreeName) -> Result<Teardown, String> {
    let commands = load_or_none(root);
    if commands.settings.teardown.is_none() {
        return Ok(Teardown::without_command(&commands));
    }
    let (redactor, cancel) = (secrets::redactor(), CancellationToken::new());
    let ran = block_on(async {
        let ran = Box::pin(trees.run_teardown(name, &commands, &redactor, &cancel));
        Ok(ran.await)
    });
    ran.unwrap_or_else(|error| Err(format!("worktree {name} was not removed: {error:#}")))
}
