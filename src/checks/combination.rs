//! The checks of several branches that were combined.

use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::round::TaskChecks;
use super::runner::{CheckPlace, CheckRun, CheckTarget};
use super::texts::{changed_acceptance_text, failed_text};
use crate::domain::checks::{ACCEPTANCE, CheckOutcome, CheckRecord, CheckSpec, applicable};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::worktree::WorktreeName;
use crate::store::Worktrees;

/// A task whose branch is part of a combination.
#[derive(Debug, Clone)]
pub struct CombinedTask {
    pub task: Arc<Task>,
    /// The other tasks of the worktree, whose work is on the branch too.
    pub others: Vec<Arc<Task>>,
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
    /// Why acceptance commands cannot run that the user has set. Without them, nothing is green.
    refused: Vec<String>,
    target: CheckTarget,
}

impl CombinedTask {
    /// Returns all tasks whose work is on the branch.
    pub fn tasks(&self) -> impl Iterator<Item = &Arc<Task>> {
        std::iter::once(&self.task).chain(&self.others)
    }

    /// Returns whether the user has overridden the check `name` of the settings for this content of the branch.
    fn overrides(&self, name: &str) -> bool {
        self.tasks().any(|task| overrides(task, name, &self.tree))
    }

    /// Returns whether the user has overridden the acceptance command of `task`, which is one of [`CombinedTask::tasks`].
    fn overrides_acceptance(&self, task: &Task) -> bool {
        overrides(task, ACCEPTANCE, &self.tree)
    }
}

/// Returns whether the user has overridden the check `name` of a task for the content `tree`. An override without a content
/// counts for none: the user has not seen what the branch has now.
fn overrides(task: &Task, name: &str, tree: &str) -> bool {
    let is_this =
        |record: &CheckRecord| record.name == name && record.is_overridden() && record.tree == tree;
    task.checks.iter().any(is_this)
}

impl CombinationChecks {
    /// Returns a text that is the same for combinations with the same git tree and the same checks.
    pub fn content(&self) -> String {
        let runs = self.specs.iter().map(|spec| spec.run.as_str());
        let parts: Vec<&str> = std::iter::once(self.target.tree.as_str())
            .chain(runs)
            .chain(self.refused.iter().map(String::as_str))
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
    /// A check was stopped or could not be started. `why` says why. `specs` are the checks for which the combination itself
    /// can be the reason; empty if the reason of one is outside of it.
    Unknown {
        why: String,
        specs: Vec<CheckSpec>,
    },
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
        let mut tasks = member.tasks();
        specs.any(|spec| member.overrides(&spec.name))
            || tasks.any(|task| member.overrides_acceptance(task))
    }

    /// Returns why acceptance commands of a branch cannot run: the file of a task does not have the command that the user
    /// has set. Empty if all can run.
    pub fn refused_acceptance(&self, member: &CombinedTask) -> Vec<String> {
        let acceptance = &self.parts().acceptance;
        let is_refused = |task: &&Arc<Task>| {
            let run = &task.acceptance;
            !member.overrides_acceptance(task)
                && acceptance.is_set(task.id)
                && (run.is_empty() || !acceptance.is_approved(task.id, run))
        };
        let refused = member.tasks().filter(is_refused);
        refused
            .map(|task| changed_acceptance_text(task.id))
            .collect()
    }

    /// Returns the checks for the combination of `members`: those of `specs`, and the acceptance commands that the user has
    /// set for the tasks whose work is on the branches. Leaves out what the user has overridden for one of the members.
    pub fn combination(
        &self,
        specs: &[CheckSpec],
        members: &[CombinedTask],
        store: &Worktrees,
        content: &CombinedContent,
    ) -> CombinationChecks {
        let applies = |spec: &&CheckSpec| !members.iter().any(|task| task.overrides(&spec.name));
        let mut all: Vec<CheckSpec> = specs.iter().filter(applies).cloned().collect();
        let mut refused = Vec::new();
        for member in members {
            refused.extend(self.refused_acceptance(member));
            for task in member.tasks() {
                let run = &task.acceptance;
                let may_run = !run.is_empty()
                    && !member.overrides_acceptance(task)
                    && self.parts().acceptance.is_approved(task.id, run);
                if may_run && !all.iter().any(|spec| spec.run == *run) {
                    all.push(CheckSpec::acceptance(run));
                }
            }
        }
        CombinationChecks {
            specs: all,
            refused,
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
        if !checks.refused.is_empty() {
            return CombinationResult::Unknown {
                why: checks.refused.join("\n"),
                specs: Vec::new(),
            };
        }
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

    /// Returns whether all of `specs`, which are not empty, can run on a commit now and end, green or red. They run even if
    /// their results are known: such a result says nothing about what the network or the machine allow now.
    pub async fn can_run(
        &self,
        specs: &[CheckSpec],
        (store, commit): (&Worktrees, &str),
        cancel: &CancellationToken,
    ) -> bool {
        let target = CheckTarget {
            by: Name::lead(),
            place: CheckPlace::Checkout {
                worktrees: store.clone(),
                commit: commit.to_string(),
            },
            // No result is looked for, and none is kept.
            tree: String::new(),
        };
        let (runner, target) = (&self.parts().runner, &target);
        let runs = specs.iter().map(|spec| runner.run(spec, target, cancel));
        let runs = join_all(runs).await;
        let has_ended =
            |run: &CheckRun| matches!(run.record.outcome, CheckOutcome::Green | CheckOutcome::Red);
        !runs.is_empty() && runs.iter().all(has_ended)
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
        let is_external = unknown.iter().any(|(_, run)| run.is_external);
        let specs = unknown.iter().map(|(spec, _)| CheckSpec::clone(spec));
        CombinationResult::Unknown {
            why: failed_text(&unknown),
            specs: if is_external {
                Vec::new()
            } else {
                specs.collect()
            },
        }
    } else {
        CombinationResult::Green
    }
}
