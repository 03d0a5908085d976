//! The checks of several branches that were combined.

use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::round::TaskChecks;
use super::runner::{CheckPlace, CheckRun, CheckTarget};
use super::texts::failed_text;
use crate::domain::checks::{ACCEPTANCE, CheckOutcome, CheckSpec, applicable};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::worktree::WorktreeName;
use crate::store::Worktrees;

/// A task whose branch is part of a combination.
#[derive(Debug, Clone)]
pub struct CombinedTask {
    pub task: Arc<Task>,
    /// The git tree of the branch.
    pub tree: String,
}

/// A combination of branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CombinedContent {
    pub commit: String,
    /// The git tree of `commit`.
    pub tree: String,
}

/// The checks that must be green on one combination.
#[derive(Debug, Clone)]
pub struct CombinationChecks {
    specs: Vec<CheckSpec>,
    target: CheckTarget,
}

impl CombinedTask {
    /// Returns whether the user has overridden the check `name` for this content of the branch, or for any content because
    /// the check could not run.
    fn overrides(&self, name: &str) -> bool {
        let mut records = self.task.checks.iter();
        records.any(|record| {
            let is_this = record.tree == self.tree || record.tree.is_empty();
            record.name == name && record.is_overridden() && is_this
        })
    }
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
    /// Returns whether a check could apply to one of `tasks`. Reads no board.
    pub fn concern_any(&self, tasks: &[TaskId]) -> bool {
        let acceptance = &self.parts().acceptance;
        !self.parts().specs.is_empty() || tasks.iter().any(|task| acceptance.is_set(*task))
    }

    /// Returns the checks of the settings that apply to at least one of `tasks`. They run on all combinations of these
    /// tasks, and on the base branch alone.
    pub async fn train_specs(&self, tasks: &[Arc<Task>], store: &Worktrees) -> Vec<CheckSpec> {
        let mut specs: Vec<CheckSpec> = Vec::new();
        for task in tasks {
            let changed = changed_files(task, store).await;
            for spec in applicable(&self.parts().specs, &task.tags, changed.as_deref()) {
                if !specs.contains(spec) {
                    specs.push(spec.clone());
                }
            }
        }
        specs
    }

    /// Returns whether the user has overridden a check that could apply to the task, so that the base branch can become
    /// red by its branch.
    pub fn is_overridden(&self, member: &CombinedTask) -> bool {
        let mut specs = self.parts().specs.iter();
        specs.any(|spec| member.overrides(&spec.name)) || member.overrides(ACCEPTANCE)
    }

    /// Returns the checks for the combination of `members`: those of `specs`, and the acceptance commands of the members
    /// that the user has set. Leaves out what the user has overridden for one of the members.
    pub fn combination(
        &self,
        specs: &[CheckSpec],
        members: &[CombinedTask],
        store: &Worktrees,
        content: &CombinedContent,
    ) -> CombinationChecks {
        let applies = |spec: &&CheckSpec| !members.iter().any(|task| task.overrides(&spec.name));
        let mut all: Vec<CheckSpec> = specs.iter().filter(applies).cloned().collect();
        for member in members {
            let (id, run) = (member.task.id, &member.task.acceptance);
            let may_run = !run.is_empty()
                && !member.overrides(ACCEPTANCE)
                && self.parts().acceptance.is_approved(id, run);
            if may_run && !all.iter().any(|spec| spec.run == *run) {
                all.push(CheckSpec::acceptance(run));
            }
        }
        CombinationChecks {
            specs: all,
            target: CheckTarget {
                by: Name::lead(),
                place: CheckPlace::Checkout {
                    worktrees: store.clone(),
                    commit: content.commit.clone(),
                },
                tree: content.tree.clone(),
            },
        }
    }

    /// Returns the result of the checks on a combination. Runs those that have no result for this content yet, each in a
    /// checkout of its own.
    pub async fn run_combination(
        &self,
        checks: &CombinationChecks,
        cancel: &CancellationToken,
    ) -> CombinationResult {
        let runner = &self.parts().runner;
        let runs = checks.specs.iter();
        let runs = join_all(runs.map(|spec| async move {
            // A known result is found without a place among the checks that run.
            match runner.find(spec, &checks.target).await {
                Some(known) => known,
                None => runner.run(spec, &checks.target, cancel).await,
            }
        }));
        result_of(&checks.specs, &runs.await)
    }
}

/// Returns the files that the branch of a task changes; `None` if they are not known.
async fn changed_files(task: &Task, store: &Worktrees) -> Option<Vec<String>> {
    let (store, name) = (store.clone(), WorktreeName::new(&task.worktree).ok()?);
    let content = tokio::task::spawn_blocking(move || store.branch_content(&name)).await;
    content.ok()?.ok()?.changed
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
