//! One completion of a task: finds its content and the checks that apply, runs those without a result, and decides what
//! happens next.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::AcceptanceCheck;
use super::content::{ContentScope, FoundContent, check_may_complete};
use super::runner::{CheckRun, CheckRunner, CheckTarget};
use super::texts::{failed_text, no_changes_text, refusal_text, send_back_text};
use crate::domain::checks::{
    CHANGES, CheckOutcome, CheckRecord, CheckSpec, CheckState, CheckStep, REDS_MAX, applicable,
    asks_for_change, next_step, red_rounds, result_state, state_of,
};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::store::{Board, Worktrees};

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
        let is_open =
            |record: &CheckRecord| record.is_failed() || record.outcome == CheckOutcome::NoChanges;
        let override_failed = |record: &CheckRecord| CheckRecord {
            override_reason: if is_open(record) {
                reason.to_string()
            } else {
                String::new()
            },
            ..record.clone()
        };
        self.records.iter().map(override_failed).collect()
    }
}

impl TaskChecks {
    pub fn new(parts: TaskChecksParts) -> TaskChecks {
        TaskChecks { parts }
    }

    pub(super) fn parts(&self) -> &TaskChecksParts {
        &self.parts
    }

    /// Returns whether a check could apply to `task`: checks are configured, or the user has set an acceptance command for
    /// the task.
    pub fn concern(&self, task: &Task) -> bool {
        !self.parts.specs.is_empty() || self.parts.acceptance.is_set(task.id)
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
        check_may_complete(task, by)?;
        let found = self.find_content(task, ContentScope::Complete).await?;
        let changes = match self.questions_changes(task, by, &found) {
            Ok(record) => record,
            Err(record) => {
                let records = vec![*record];
                self.record(task.id, by, &records).await?;
                let text = no_changes_text(task);
                return Ok(CheckRound {
                    end: RoundEnd::SendBack(text),
                    ..complete(records)
                });
            }
        };
        let specs = self.specs_for(task, &found);
        let target = found.to_target(by);
        let runs = self.run_missing(task, &specs, &target, cancel).await?;
        if cancel.is_cancelled() {
            let records: Vec<CheckRecord> = runs.iter().map(|run| run.record.clone()).collect();
            self.record(task.id, by, &records).await?;
            return Err("the checks were interrupted: complete the task again to run them".into());
        }
        self.check_unchanged(task, &found).await?;
        self.finish(task, (specs, runs), changes, &target).await
    }

    /// Runs again what a killed crew has left running for a task, so that a later completion finds the results. Does not
    /// complete the task.
    pub async fn run_again(&self, task: &Task, by: &Name, cancel: &CancellationToken) {
        // Without committed content there is no result to find later.
        let found = match self.find_content(task, ContentScope::Branch).await {
            Ok(found @ FoundContent::Branch { .. }) => found,
            Ok(FoundContent::Root(_)) | Err(_) => return self.mark_stopped(task).await,
        };
        let specs = self.specs_for(task, &found);
        let target = found.to_target(by);
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
                if let Err(why) = self.record(task.id, by, &records).await {
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
        let content = self.find_content(task, ContentScope::Branch).await?;
        if content.branch().is_none() {
            // There is nothing to merge.
            return Ok(());
        }
        // The name is not used: nothing runs.
        let target = content.to_target(&Name::user());
        for spec in self.specs_for(task, &content) {
            let found = self.parts.runner.find(&spec, &target).await;
            let mut stored = task.checks.iter().filter(|record| record.name == spec.name);
            let is_overridden =
                stored.any(|record| record.is_overridden() && record.tree == target.tree);
            let state = state_of(found.as_ref().map(|run| &run.record), &target.tree);
            if !is_overridden && state != CheckState::Green {
                let why = if found.is_some() {
                    "is not green on the content of its branch"
                } else {
                    "has no result for the content of its branch"
                };
                return Err(format!(
                    "task {} was completed although its check {} {why}",
                    task.id, spec.name
                ));
            }
        }
        Ok(())
    }

    /// Returns the results for a task that the user completes for `reason` although its checks cannot run: all checks
    /// that could apply are overridden, for the content that the branch has now.
    pub async fn overridden_without_run(&self, task: &Task, reason: &str) -> Vec<CheckRecord> {
        let content = self.find_content(task, ContentScope::Branch).await.ok();
        let branch = content.as_ref().and_then(FoundContent::branch);
        let tree = branch.map(|content| content.tree.clone());
        let tree = tree.unwrap_or_default();
        // Whatever the branch changes.
        let found = FoundContent::Root(self.parts.root.clone());
        let (now, by) = (self.parts.runner.now(), Name::user());
        let specs = self.specs_for(task, &found).into_iter();
        let record = |spec: CheckSpec| CheckRecord {
            outcome: CheckOutcome::NotStarted,
            override_reason: reason.to_string(),
            ..CheckRecord::running(&spec.name, by.as_str(), now, &tree)
        };
        specs.map(record).collect()
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
        if let Err(why) = self.record(id, &Name::lead(), &stopped).await {
            tracing::warn!("the stopped checks of task {id} cannot be stored: {why}");
        }
    }

    /// Lets the owner `by` of a task try again after the user was asked: counts red completions from 0, and forgets the red
    /// results, so that the checks run again even if nothing changes.
    ///
    /// # Errors
    /// Fails if the task's file cannot be written.
    pub async fn start_over(
        &self,
        task: TaskId,
        by: &Name,
        round: &CheckRound,
    ) -> Result<(), String> {
        for spec in &round.failed {
            self.parts.runner.forget(spec, &round.tree).await;
        }
        let uncounted = |record: &CheckRecord| CheckRecord {
            reds: 0,
            ..record.clone()
        };
        let records: Vec<CheckRecord> = round.records.iter().map(uncounted).collect();
        self.record(task, by, &records).await
    }

    async fn find_content(&self, task: &Task, scope: ContentScope) -> Result<FoundContent, String> {
        let worktrees = self.parts.worktrees.as_ref();
        FoundContent::of(task, (&self.parts.root, worktrees), scope).await
    }

    /// Fails if the content of the task is not the one that was checked, because the owner has changed it meanwhile.
    async fn check_unchanged(&self, task: &Task, checked: &FoundContent) -> Result<(), String> {
        let FoundContent::Branch { name, content, .. } = checked else {
            return Ok(());
        };
        let now = self.find_content(task, ContentScope::Complete).await;
        let result = now.and_then(|now| {
            if now.branch().is_some_and(|now| now.tree == content.tree) {
                return Ok(());
            }
            Err(format!(
                "{} changed while the checks of task {} ran: complete the task again to check the new content",
                name.branch(),
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
        found: &FoundContent,
    ) -> Result<Option<CheckRecord>, Box<CheckRecord>> {
        let Some(content) = found.branch() else {
            return Ok(None);
        };
        let known = task.checks.iter().find(|record| record.name == CHANGES);
        let now = self.parts.runner.now();
        let record = |outcome| CheckRecord {
            outcome,
            ..CheckRecord::running(CHANGES, by.as_str(), now, &content.tree)
        };
        if content.has_own_changes {
            return Ok(known.map(|_| record(CheckOutcome::Green)));
        }
        // The owner of the task may have changed its subject.
        let mut subjects = [&task.subject, &content.subject].into_iter();
        if !subjects.any(|subject| !subject.is_empty() && asks_for_change(subject)) {
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
            Err(Box::new(record(CheckOutcome::NoChanges)))
        }
    }

    fn specs_for(&self, task: &Task, found: &FoundContent) -> Vec<CheckSpec> {
        let changed = found
            .branch()
            .and_then(|content| content.changed.as_deref());
        let found = applicable(&self.parts.specs, &task.tags, changed);
        let mut specs: Vec<CheckSpec> = found.into_iter().cloned().collect();
        // A command that the user has never seen neither runs nor blocks the task.
        if self.parts.acceptance.is_set(task.id) {
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
        self.record(task.id, &target.by, &running).await?;
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
            is_external: true,
        })
    }

    /// Decides what happens after the results `runs` of the checks `specs`, and stores the results unless the task may be
    /// completed.
    async fn finish(
        &self,
        task: &Task,
        (specs, runs): (Vec<CheckSpec>, Vec<CheckRun>),
        changes: Option<CheckRecord>,
        target: &CheckTarget,
    ) -> Result<CheckRound, String> {
        let (by, tree) = (&target.by, target.tree.clone());
        let states: Vec<CheckState> = runs.iter().map(|run| result_state(&run.record)).collect();
        let known = red_rounds(&task.checks);
        // Further completions ask the same question, so that one answer is enough. A completion of the user does not
        // count, because the user need not try three times.
        let reds = if by.is_user() {
            known
        } else {
            known.saturating_add(1).min(REDS_MAX)
        };
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
            self.record(task.id, by, &records).await?;
        }
        Ok(CheckRound {
            end,
            failed: failed.into_iter().map(|(spec, _)| spec.clone()).collect(),
            records,
            tree,
        })
    }

    /// Writes results to the task's file, on behalf of `by`.
    async fn record(&self, id: TaskId, by: &Name, records: &[CheckRecord]) -> Result<(), String> {
        if records.is_empty() {
            return Ok(());
        }
        let (board, records) = (self.parts.board.clone(), records.to_vec());
        let by = by.clone();
        let written = tokio::task::spawn_blocking(move || board.record_checks(id, &by, &records));
        match written.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }
}
