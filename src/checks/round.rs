//! One completion of a task: finds its content and the checks that apply, runs those without a result, and decides what
//! happens next.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::AcceptanceCheck;
use super::runner::{CheckRun, CheckRunner, CheckTarget};
use super::texts::{failed_text, no_changes_text, refusal_text, send_back_text};
use crate::domain::checks::{
    CHANGES, CheckOutcome, CheckRecord, CheckSpec, CheckState, CheckStep, REDS_MAX, applicable,
    asks_for_change, next_step, red_rounds, result_state, state_of,
};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::worktree::{TaskContent, WorktreeName};
use crate::store::{Board, StoreError, Worktrees};

/// What [`TaskChecks`] is created from.
pub struct TaskChecksParts {
    /// The project's root directory.
    pub root: PathBuf,
    /// The checks of the settings, as the user has approved them.
    pub specs: Vec<CheckSpec>,
    pub runner: CheckRunner,
    pub acceptance: Arc<dyn AcceptanceCheck>,
    pub board: Board,
    /// The worktree store; `None` if worktrees are not in use.
    pub worktrees: Option<Worktrees>,
}

/// The checks of the tasks of a project.
pub struct TaskChecks {
    parts: TaskChecksParts,
}

impl fmt::Debug for TaskChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskChecks")
            .field("specs", &self.parts.specs)
            .finish_non_exhaustive()
    }
}

/// What happens with a completion after its checks have run.
#[derive(Debug, Clone, PartialEq)]
pub enum RoundEnd {
    /// All checks are green, or none applies: the task may be completed.
    Complete,
    /// The task stays with its owner, who gets this text.
    SendBack(String),
    /// The checks were red too often: the user decides. The text lists the failed checks.
    AskUser(String),
}

/// The result of [`TaskChecks::run`].
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRound {
    pub end: RoundEnd,
    /// The results, to be stored with the task. Unless the task may be completed, they are stored already.
    pub records: Vec<CheckRecord>,
    /// The checks that have failed.
    pub failed: Vec<CheckSpec>,
    /// The hash of the content; empty if it is unknown.
    pub tree: String,
}

impl CheckRound {
    /// Returns the results after the user has decided that the task is completed for `reason`.
    pub fn overridden(&self, reason: &str) -> Vec<CheckRecord> {
        let override_failed = |record: &CheckRecord| CheckRecord {
            override_reason: if record.is_failed() {
                reason.to_string()
            } else {
                String::new()
            },
            ..record.clone()
        };
        self.records.iter().map(override_failed).collect()
    }
}

/// The folder with the content of a task, and the content if it is committed in a worktree.
struct TaskFolder {
    dir: PathBuf,
    worktree: Option<(WorktreeName, TaskContent)>,
}

impl TaskFolder {
    fn tree(&self) -> &str {
        self.worktree
            .as_ref()
            .map_or("", |(_, content)| content.tree.as_str())
    }
}

impl TaskChecks {
    pub fn new(parts: TaskChecksParts) -> TaskChecks {
        TaskChecks { parts }
    }

    pub(super) fn parts(&self) -> &TaskChecksParts {
        &self.parts
    }

    /// Returns whether a check could apply to `task`: checks are configured, or the task has an acceptance command.
    pub fn concern(&self, task: &Task) -> bool {
        !self.parts.specs.is_empty() || !task.acceptance.is_empty()
    }

    /// Runs the checks of a task that `by` wants to complete. The uncommitted files of its worktree must be committed
    /// before. While checks run, the task's file says so.
    ///
    /// # Errors
    /// Fails with text for the owner if the content cannot be determined, or has changed while the checks ran.
    pub async fn run(
        &self,
        task: &Task,
        by: &Name,
        cancel: &CancellationToken,
    ) -> Result<CheckRound, String> {
        let complete = |records| CheckRound {
            end: RoundEnd::Complete,
            records,
            failed: Vec::new(),
            tree: String::new(),
        };
        if !self.concern(task) {
            return Ok(complete(Vec::new()));
        }
        let place = self.place(task).await?;
        let changes = match self.questions_changes(task, by, &place) {
            Ok(record) => record,
            Err(record) => {
                let records = vec![record];
                self.record(task.id, &records).await?;
                let text = no_changes_text(task);
                return Ok(CheckRound {
                    end: RoundEnd::SendBack(text),
                    ..complete(records)
                });
            }
        };
        let specs = self.specs_for(task, &place);
        let target = CheckTarget {
            by: by.clone(),
            dir: place.dir.clone(),
            tree: place.tree().to_string(),
        };
        let runs = self.run_missing(task, &specs, &target, cancel).await?;
        if cancel.is_cancelled() {
            let records: Vec<CheckRecord> = runs.iter().map(|run| run.record.clone()).collect();
            self.record(task.id, &records).await?;
            return Err("the checks were interrupted: complete the task again to run them".into());
        }
        self.check_unchanged(task, &place).await?;
        self.finish(task, (specs, runs), changes, target.tree).await
    }

    /// Runs again what a killed crew has left running for a task, so that a later completion finds the results. Does not
    /// complete the task.
    pub async fn run_again(&self, task: &Task, by: &Name, cancel: &CancellationToken) {
        // Without committed content there is no result to find later.
        let place = match self.place(task).await {
            Ok(place) if !place.tree().is_empty() => place,
            Ok(_) | Err(_) => return self.mark_stopped(task).await,
        };
        let specs = self.specs_for(task, &place);
        let target = CheckTarget {
            by: by.clone(),
            dir: place.dir.clone(),
            tree: place.tree().to_string(),
        };
        match self.run_missing(task, &specs, &target, cancel).await {
            Ok(runs) => {
                let reds = red_rounds(&task.checks);
                let records: Vec<CheckRecord> = runs
                    .into_iter()
                    .map(|run| CheckRecord {
                        reds: if run.record.is_failed() { reds } else { 0 },
                        ..run.record
                    })
                    .collect();
                if let Err(why) = self.record(task.id, &records).await {
                    tracing::warn!("the results of task {} cannot be stored: {why}", task.id);
                }
                self.mark_stopped(task).await;
            }
            Err(_) => self.mark_stopped(task).await,
        }
    }

    /// Checks that the content of a completed task was checked: each check that applies is green on this content, or the
    /// user has overridden it. Runs nothing.
    ///
    /// # Errors
    /// Fails with a sentence about the first check that is not green, or with the reason why the content cannot be
    /// determined.
    pub async fn verify(&self, task: &Task) -> Result<(), String> {
        if !self.concern(task) {
            return Ok(());
        }
        let place = self.place(task).await?;
        let Ok(by) = Name::party(&task.owner) else {
            return Ok(());
        };
        let target = CheckTarget {
            by,
            dir: place.dir.clone(),
            tree: place.tree().to_string(),
        };
        for spec in self.specs_for(task, &place) {
            let found = self.parts.runner.find(&spec, &target).await;
            let mut stored = task.checks.iter().filter(|record| record.name == spec.name);
            let is_overridden =
                stored.any(|record| record.is_overridden() && record.tree == target.tree);
            let state = state_of(found.as_ref().map(|run| &run.record), &target.tree);
            if !is_overridden && state != CheckState::Green && !target.tree.is_empty() {
                return Err(format!(
                    "task {} was completed although its check {} is not green on the content of its branch",
                    task.id, spec.name
                ));
            }
        }
        Ok(())
    }

    /// Marks checks of a task as stopped that its file shows as running although they do not run.
    pub async fn mark_stopped(&self, task: &Task) {
        let board = self.parts.board.clone();
        let id = task.id;
        let current = tokio::task::spawn_blocking(move || board.get(id)).await;
        let Ok(Ok(current)) = current else { return };
        let stale = current
            .checks
            .iter()
            .filter(|r| r.outcome == CheckOutcome::Running);
        let stopped: Vec<CheckRecord> = stale
            .map(|record| CheckRecord {
                outcome: CheckOutcome::Stopped,
                ..record.clone()
            })
            .collect();
        if let Err(why) = self.record(id, &stopped).await {
            tracing::warn!("the stopped checks of task {id} cannot be stored: {why}");
        }
    }

    /// Lets the owner of a task try again after the user was asked: counts red completions from 0, and forgets the red
    /// results, so that the checks run again even if nothing changes.
    ///
    /// # Errors
    /// Fails if the task's file cannot be written.
    pub async fn start_over(&self, task: TaskId, round: &CheckRound) -> Result<(), String> {
        for spec in &round.failed {
            self.parts.runner.forget(spec, &round.tree).await;
        }
        let uncounted = |record: &CheckRecord| CheckRecord {
            reds: 0,
            ..record.clone()
        };
        let records: Vec<CheckRecord> = round.records.iter().map(uncounted).collect();
        self.record(task, &records).await
    }

    /// Determines where the content of a task is: in its worktree, else in the project directory.
    async fn place(&self, task: &Task) -> Result<TaskFolder, String> {
        let name = WorktreeName::new(&task.worktree).ok();
        let folder = |name: &WorktreeName| self.parts.root.join(".worktrees").join(name.as_str());
        let found = name.filter(|name| folder(name).is_dir());
        let Some((store, name)) = self.parts.worktrees.clone().zip(found) else {
            return Ok(TaskFolder {
                dir: self.parts.root.clone(),
                worktree: None,
            });
        };
        let dir = folder(&name);
        let content = content_of(store, name.clone()).await?;
        Ok(TaskFolder {
            dir,
            worktree: Some((name, content)),
        })
    }

    /// Fails if the content is not the one that was checked.
    async fn check_unchanged(&self, task: &Task, place: &TaskFolder) -> Result<(), String> {
        let (Some(store), Some((name, checked))) = (&self.parts.worktrees, &place.worktree) else {
            return Ok(());
        };
        let result = content_of(store.clone(), name.clone()).await;
        let result = result.map_err(|why| {
            format!("{why}. If a check writes these files, let git ignore them; then complete the task again")
        });
        let result = result.and_then(|now| {
            if now.tree == checked.tree {
                return Ok(());
            }
            Err(format!(
                "the branch of task {} changed while its checks ran: complete the task again to check the new content",
                task.id
            ))
        });
        if result.is_err() {
            self.mark_stopped(task).await;
        }
        result
    }

    /// Questions a branch without changes, once for each content. Returns the record about the changes, if there is
    /// anything to record. Returns a record as an error if the task must be sent back.
    fn questions_changes(
        &self,
        task: &Task,
        by: &Name,
        place: &TaskFolder,
    ) -> Result<Option<CheckRecord>, CheckRecord> {
        let Some((_, content)) = &place.worktree else {
            return Ok(None);
        };
        let known = task.checks.iter().find(|record| record.name == CHANGES);
        let now = self.parts.runner.now();
        let record = |outcome| CheckRecord {
            outcome,
            ..CheckRecord::running(CHANGES, by.as_str(), now, &content.tree)
        };
        if content.has_own_commits {
            return Ok(known.map(|_| record(CheckOutcome::Green)));
        }
        if !asks_for_change(&task.subject) {
            return Ok(None);
        }
        let is_questioned = known.is_some_and(|known| {
            known.outcome == CheckOutcome::NoChanges
                && known.tree == content.tree
                && known.by.eq_ignore_ascii_case(by.as_str())
        });
        if is_questioned {
            Ok(Some(record(CheckOutcome::NoChanges)))
        } else {
            Err(record(CheckOutcome::NoChanges))
        }
    }

    fn specs_for(&self, task: &Task, place: &TaskFolder) -> Vec<CheckSpec> {
        let content = place.worktree.as_ref().map(|(_, content)| content);
        let changed = content.and_then(|content| content.changed.as_deref());
        let found = applicable(&self.parts.specs, &task.tags, changed);
        let mut specs: Vec<CheckSpec> = found.into_iter().cloned().collect();
        if !task.acceptance.is_empty() {
            specs.push(CheckSpec::acceptance(&task.acceptance));
        }
        specs
    }

    /// Returns the result of each check. Runs those that have none, and says so in the task's file.
    async fn run_missing(
        &self,
        task: &Task,
        specs: &[CheckSpec],
        target: &CheckTarget,
        cancel: &CancellationToken,
    ) -> Result<Vec<CheckRun>, String> {
        let found = join_all(
            specs
                .iter()
                .map(|spec| self.parts.runner.find(spec, target)),
        )
        .await;
        let is_missing = |found: &Option<CheckRun>| {
            let record = found.as_ref().map(|run| &run.record);
            state_of(record, &target.tree) == CheckState::Pending
        };
        let missing = specs
            .iter()
            .zip(&found)
            .filter(|(_, found)| is_missing(found));
        let now = self.parts.runner.now();
        let reds = red_rounds(&task.checks);
        let running: Vec<CheckRecord> = missing
            .filter(|(spec, _)| self.refusal(task, spec, target).is_none())
            .map(|(spec, _)| CheckRecord {
                // The count survives a crash.
                reds,
                ..CheckRecord::running(&spec.name, target.by.as_str(), now, &target.tree)
            })
            .collect();
        self.record(task.id, &running).await?;
        let runs = specs.iter().zip(found).map(|(spec, found)| async move {
            match self.refusal(task, spec, target).or(found) {
                Some(run) => run,
                None => self.parts.runner.run(spec, target, cancel).await,
            }
        });
        Ok(join_all(runs).await)
    }

    /// Returns a result for an acceptance command that the user has not set; `None` for a check that may run.
    fn refusal(&self, task: &Task, spec: &CheckSpec, target: &CheckTarget) -> Option<CheckRun> {
        let is_own = spec.name == crate::domain::checks::ACCEPTANCE;
        if !is_own || self.parts.acceptance.is_approved(task.id, &spec.run) {
            return None;
        }
        let by = target.by.as_str();
        let now = self.parts.runner.now();
        Some(CheckRun {
            record: CheckRecord {
                outcome: CheckOutcome::NotStarted,
                ..CheckRecord::running(&spec.name, by, now, &target.tree)
            },
            excerpt: refusal_text(task.id, &spec.run),
        })
    }

    /// Decides what happens after the results `runs` of the checks `specs`, and stores the results unless the task may be
    /// completed.
    async fn finish(
        &self,
        task: &Task,
        (specs, runs): (Vec<CheckSpec>, Vec<CheckRun>),
        changes: Option<CheckRecord>,
        tree: String,
    ) -> Result<CheckRound, String> {
        let states: Vec<CheckState> = runs.iter().map(|run| result_state(&run.record)).collect();
        // Further completions ask the same question, so that one answer is enough.
        let reds = red_rounds(&task.checks).saturating_add(1).min(REDS_MAX);
        let step = next_step(&states, reds);
        let is_red = step != CheckStep::Complete;
        let failed: Vec<(&CheckSpec, &CheckRun)> = specs
            .iter()
            .zip(&runs)
            .filter(|(_, run)| result_state(&run.record) == CheckState::Red)
            .collect();
        let mut records: Vec<CheckRecord> = runs
            .iter()
            .map(|run| CheckRecord {
                reds: if is_red && run.record.is_failed() {
                    reds
                } else {
                    0
                },
                ..run.record.clone()
            })
            .collect();
        records.extend(changes);
        let end = match step {
            CheckStep::Complete => RoundEnd::Complete,
            // A check without a result was cut off; the owner completes the task again.
            CheckStep::SendBack | CheckStep::Run => {
                RoundEnd::SendBack(send_back_text(task, &failed, reds))
            }
            CheckStep::AskUser => RoundEnd::AskUser(failed_text(&failed)),
        };
        if is_red {
            self.record(task.id, &records).await?;
        }
        Ok(CheckRound {
            end,
            failed: failed.into_iter().map(|(spec, _)| spec.clone()).collect(),
            records,
            tree,
        })
    }

    /// Writes results to the task's file.
    async fn record(&self, id: TaskId, records: &[CheckRecord]) -> Result<(), String> {
        if records.is_empty() {
            return Ok(());
        }
        let (board, records) = (self.parts.board.clone(), records.to_vec());
        let written = tokio::task::spawn_blocking(move || board.record_checks(id, &records)).await;
        match written {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}

async fn content_of(store: Worktrees, name: WorktreeName) -> Result<TaskContent, String> {
    let content = tokio::task::spawn_blocking(move || store.content(&name)).await;
    let content: Result<TaskContent, StoreError> = content.map_err(|error| error.to_string())?;
    content.map_err(|error| error.to_string())
}
