//! The checks of several branches that were combined.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::round::TaskChecks;
use super::runner::{CheckRun, CheckTarget};
use super::texts::failed_text;
use crate::domain::checks::{ACCEPTANCE, CheckOutcome, CheckSpec, applicable};
use crate::domain::ids::Name;
use crate::domain::task::Task;
use crate::domain::worktree::WorktreeName;

/// The checks that must be green on one combination.
#[derive(Debug, Clone)]
pub struct CombinationChecks {
    specs: Vec<CheckSpec>,
    target: CheckTarget,
}

impl CombinationChecks {
    /// Returns a text that is the same for combinations with the same git tree and the same checks.
    pub fn content(&self) -> String {
        let runs = self.specs.iter().map(|spec| spec.run.as_str());
        let parts: Vec<&str> = std::iter::once(self.target.tree.as_str())
            .chain(runs)
            .collect();
        parts.join("\n")
    }
}

/// The result of the checks on a combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CombinationResult {
    Green,
    /// A check has failed or ran too long. The text has the failing part of the output.
    Red(String),
    /// A check was stopped or could not be started, which says nothing about the combination. The text says why.
    Unknown(String),
}

impl TaskChecks {
    /// Returns the checks of the settings that apply to at least one of `tasks`. They run on all combinations of these
    /// tasks, and on the base branch alone.
    pub async fn train_specs(&self, tasks: &[Arc<Task>]) -> Vec<CheckSpec> {
        let mut specs: Vec<CheckSpec> = Vec::new();
        for task in tasks {
            let changed = self.changed_files(task).await;
            for spec in applicable(&self.parts().specs, &task.tags, changed.as_deref()) {
                if !specs.contains(spec) {
                    specs.push(spec.clone());
                }
            }
        }
        specs
    }

    /// Returns the files that the branch of a task changes; `None` if they are not known.
    async fn changed_files(&self, task: &Task) -> Option<Vec<String>> {
        let store = self.parts().worktrees.clone()?;
        let name = WorktreeName::new(&task.worktree).ok()?;
        let content = tokio::task::spawn_blocking(move || store.content(&name)).await;
        content.ok()?.ok()?.changed
    }

    /// Returns the checks for the combination of `members` with the git tree `tree`: those of `specs`, and the acceptance
    /// commands of the members that the user has set. Leaves out what the user has overridden for one of the members.
    pub fn combination(
        &self,
        specs: &[CheckSpec],
        members: &[Arc<Task>],
        tree: &str,
    ) -> CombinationChecks {
        let overrides = |task: &Arc<Task>, name: &str| {
            let mut records = task.checks.iter();
            records.any(|record| record.name == name && record.is_overridden())
        };
        let applies = |spec: &&CheckSpec| !members.iter().any(|task| overrides(task, &spec.name));
        let mut all: Vec<CheckSpec> = specs.iter().filter(applies).cloned().collect();
        for task in members {
            let run = &task.acceptance;
            let may_run = !run.is_empty()
                && !overrides(task, ACCEPTANCE)
                && self.parts().acceptance.is_approved(task.id, run);
            if may_run && !all.iter().any(|spec| spec.run == *run) {
                all.push(CheckSpec::acceptance(run));
            }
        }
        CombinationChecks {
            specs: all,
            target: CheckTarget {
                by: Name::lead(),
                dir: PathBuf::new(),
                tree: tree.into(),
            },
        }
    }

    /// Returns the result if all checks have run on this content before; otherwise `None`. Runs nothing.
    pub async fn find_combination(&self, checks: &CombinationChecks) -> Option<CombinationResult> {
        let runner = &self.parts().runner;
        let found = checks.specs.iter();
        let found = join_all(found.map(|spec| runner.find(spec, &checks.target))).await;
        let runs: Option<Vec<CheckRun>> = found.into_iter().collect();
        Some(result_of(&checks.specs, &runs?))
    }

    /// Runs the checks that have no result yet in `dir`, in which the combination is checked out.
    pub async fn run_combination(
        &self,
        checks: &CombinationChecks,
        dir: &Path,
        cancel: &CancellationToken,
    ) -> CombinationResult {
        let target = CheckTarget {
            dir: dir.to_path_buf(),
            ..checks.target.clone()
        };
        let runner = &self.parts().runner;
        let runs = checks.specs.iter();
        let runs = join_all(runs.map(|spec| runner.run(spec, &target, cancel))).await;
        result_of(&checks.specs, &runs)
    }
}

fn result_of(specs: &[CheckSpec], runs: &[CheckRun]) -> CombinationResult {
    let mut red = Vec::new();
    let mut unknown = Vec::new();
    for (spec, run) in specs.iter().zip(runs) {
        match run.record.outcome {
            CheckOutcome::Green => {}
            CheckOutcome::Red | CheckOutcome::TimedOut => red.push((spec, run)),
            CheckOutcome::Running
            | CheckOutcome::Stopped
            | CheckOutcome::NotStarted
            | CheckOutcome::NoChanges
            | CheckOutcome::Unknown => unknown.push((spec, run)),
        }
    }
    if !red.is_empty() {
        CombinationResult::Red(failed_text(&red))
    } else if !unknown.is_empty() {
        CombinationResult::Unknown(failed_text(&unknown))
    } else {
        CombinationResult::Green
    }
}
