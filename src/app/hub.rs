//! The shared state on a hub, for subcommands with `--hub`.

use std::path::Path;

use anyhow::{Result, bail};

use super::check_tools;
use crate::cli::{FileVerb, GlobalOptions, Verb};
use crate::commands::{CompletionRequest, TaskGate};
use crate::config::{self, Settings};
use crate::domain::checks::CheckRecord;
use crate::domain::ids::TaskId;
use crate::domain::worktree::{Merge, Worktree};
use crate::store::{Hub, Stores};

/// Returns the shared state on the hub of the option `--hub`; `None` without the option. Does not connect yet.
///
/// # Errors
/// When the address, the settings or the login are invalid.
pub fn stores(global: &GlobalOptions, root: &Path) -> Result<Option<Stores>> {
    let Some(url) = &global.hub else {
        return Ok(None);
    };
    let settings = config::load(root, check_tools)?.settings;
    let hub = settings
        .hub
        .settings(url, |name| std::env::var(name).ok())?;
    Ok(Some(Hub::new(hub).stores(root)))
}

/// Fails if `--hub` is given for a mode that does not use it.
///
/// # Errors
/// Names the subcommands that use it.
pub fn check_verb(global: &GlobalOptions, verb: Option<&Verb>) -> Result<()> {
    let is_supported = matches!(
        verb,
        Some(Verb::Files(
            FileVerb::Task(_) | FileVerb::Mail(_) | FileVerb::Team(_)
        ))
    );
    if global.hub.is_some() && !is_supported {
        bail!("--hub works with crewdeck task, mail and team only: leave it out");
    }
    Ok(())
}

/// Decides about the completion of tasks on a hub. Their checks cannot run here, because the worktrees of a hub's tasks are
/// not here.
pub struct HubGate<'a> {
    pub root: &'a Path,
}

const NO_ACCEPTANCE: &str =
    "--accept does not work with --hub: describe in the task what its owner must run";

impl TaskGate for HubGate<'_> {
    /// Fails if the project has checks: a task must not be completed without them.
    fn check(&self, request: &CompletionRequest<'_>) -> Result<Vec<CheckRecord>> {
        let Settings { checks, .. } = config::load(self.root, check_tools)?.settings;
        let id = request.task.id;
        if request.override_reason.is_some() {
            bail!("--override does not work with --hub");
        }
        if !checks.is_empty() || !request.task.acceptance.is_empty() {
            bail!(
                "task {id} was not completed, because its checks do not run with --hub: a task of a project with checks cannot be completed on a hub yet"
            );
        }
        Ok(Vec::new())
    }

    fn check_may_set_acceptance(&self) -> Result<()> {
        bail!(NO_ACCEPTANCE)
    }

    fn approve_acceptance(&self, _task: TaskId, _command: &str) -> Result<Option<String>> {
        bail!(NO_ACCEPTANCE)
    }

    fn merge(&self, _tree: &Worktree) -> Result<Option<Merge>> {
        bail!("worktrees cannot be merged with --hub")
    }
}
