//! Merges the branches of tasks with merge trains, and adds tasks for the branches that were thrown out.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::merge_report::{conflict_task, conflict_text, mergeable};
use super::merge_train::{TrainFailure, TrainReport, TrainReports, TrainRunner, TrainTask};
use super::train_texts::{TrainLine, held_back_line, repair_task, report_lines, thrown_out_text};
use crate::agent::driver::run_blocking;
use crate::domain::graph::{NewTask, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{ThrownOutReason, TrainEnd};
use crate::domain::task::Task;
use crate::domain::worktree::{Merge, WorktreeName};
use crate::protocol::event::NoticeLevel;
use crate::store::Board;

/// What has become of the branches of tasks.
#[derive(Debug, Default)]
pub struct TrainMerge {
    /// The lines to publish.
    pub lines: Vec<TrainLine>,
    /// The tasks that were added for branches that were thrown out.
    pub added: BTreeSet<TaskId>,
    /// The tasks that are still to land although nothing is wrong with their branches themselves: those that build on a
    /// branch that was thrown out, and those of trains that have ended early.
    pub left: BTreeSet<TaskId>,
}

/// Merges branches with merge trains, one train at a time.
pub struct TrainMerger {
    board: Board,
    runner: TrainRunner,
    turn: tokio::sync::Mutex<()>,
}

impl TrainMerger {
    pub fn new(board: Board, runner: TrainRunner) -> TrainMerger {
        TrainMerger {
            board,
            runner,
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Returns whether checks could apply to one of `tasks`. Without checks, there is nothing that a train could find out.
    pub fn concerns(&self, tasks: &[TaskId]) -> bool {
        self.runner.concerns(tasks)
    }

    /// Lets the branches of `tasks` land together after checks on their combination, and adds tasks for those that were
    /// thrown out. Waits while another train of this process runs. Stops when `cancel` is cancelled.
    ///
    /// # Errors
    /// Returns why nothing could be tried, for example that another process runs a train.
    pub async fn merge(
        &self,
        tasks: &[TaskId],
        cancel: &CancellationToken,
    ) -> Result<TrainMerge, String> {
        let _turn = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err("interrupted".into()),
            turn = self.turn.lock() => turn,
        };
        let trains = self.runner.lock().await?;
        // Read under the lock: the train before may have added a task for one of the branches.
        let board = self.board.clone();
        let read = run_blocking(move || board.read()).await;
        let graph = read.map_err(|error| error.to_string())?.graph;
        let mut found: Vec<TrainTask> = Vec::new();
        let mut merged = TrainMerge::default();
        for id in tasks {
            match mergeable(&graph, *id) {
                Ok((task, name)) if !found.iter().any(|(_, other)| *other == name) => {
                    found.push((task, name));
                }
                Ok(_) => {}
                Err(why) if tasks.len() == 1 => return Err(why),
                Err(why) => {
                    let text = format!("{id} is not merged: {why}");
                    merged.lines.push((NoticeLevel::Warn, text));
                }
            }
        }
        let reports = self.runner.run(&graph, &found, (&trains, cancel)).await?;
        self.follow(&graph, reports, &mut merged).await;
        Ok(merged)
    }

    /// Lets the branch of one worktree land after checks on its combination with the base branch. Adds no task. `task` is
    /// the task of the worktree; `None` if it is not on the board.
    ///
    /// # Errors
    /// Returns why the branch is not merged, if it is not because of a conflict.
    pub async fn merge_branch(
        &self,
        task: Option<Arc<Task>>,
        name: &WorktreeName,
        cancel: &CancellationToken,
    ) -> Result<Merge, String> {
        let trains = self.runner.lock().await?;
        // Has the other tasks of the worktree.
        let board = self.board.clone();
        let read = run_blocking(move || board.read()).await;
        let mut graph = TaskGraph::clone(&read.map_err(|error| error.to_string())?.graph);
        let task = match task {
            Some(task) => task,
            None => {
                // Without a task, the checks that apply to all tasks or to the changed files run.
                let new = NewTask {
                    subject: name.branch(),
                    worktree: name.to_string(),
                    ..NewTask::default()
                };
                let (id, now) = (TaskId::default(), self.runner.now());
                graph.create(id, new, now).map_err(|e| e.to_string())?;
                Arc::clone(graph.require(id).map_err(|e| e.to_string())?)
            }
        };
        let found = [(task, name.clone())];
        let reports = self.runner.run(&graph, &found, (&trains, cancel)).await?;
        one_merge(reports)
    }

    /// Creates the tasks for the branches that were thrown out, and adds the lines about all trains.
    async fn follow(&self, graph: &TaskGraph, reports: TrainReports, merged: &mut TrainMerge) {
        let held_back = reports.trains.iter().flat_map(|train| &train.held_back);
        let held_back = held_back.chain(&reports.held_back).map(|held| held.task);
        let waiting = reports.trains.iter().flat_map(|train| &train.waiting);
        let waiting = waiting.chain(&reports.not_tried).copied();
        merged.left.extend(held_back.chain(waiting));
        for (task, into) in reports.merged {
            let text = format!("{task} is already merged into {into}.");
            merged.lines.push((NoticeLevel::Info, text));
        }
        for (task, why) in reports.refused {
            let text = format!("{task} is not merged: {why}");
            merged.lines.push((NoticeLevel::Warn, text));
        }
        for report in &reports.trains {
            merged.lines.extend(report_lines(report));
            for failure in &report.thrown_out {
                let text = match self.add_task_for(graph, report, failure).await {
                    Ok((task, text)) => {
                        merged.added.insert(task);
                        text
                    }
                    Err(why) => format!(
                        "{} was taken out of the merge train, but no task was added for it: {why}",
                        failure.out.task
                    ),
                };
                merged.lines.push((NoticeLevel::Warn, text));
            }
        }
        merged
            .lines
            .extend(reports.held_back.iter().map(held_back_line));
    }

    /// Creates the task for a branch that was thrown out. Returns its number and the text about it.
    async fn add_task_for(
        &self,
        graph: &TaskGraph,
        report: &TrainReport,
        failure: &TrainFailure,
    ) -> Result<(TaskId, String), String> {
        let (into, name) = (&report.into, &failure.name);
        match &failure.out.reason {
            ThrownOutReason::Conflict(files) => {
                let task = graph.require(failure.out.task).map_err(|e| e.to_string())?;
                let id = self.add(conflict_task(task, name, into, files)).await?;
                Ok((id, conflict_text(name, into, files, id)))
            }
            ThrownOutReason::Red(_) => {
                let id = self.add(repair_task(graph, failure, report)).await?;
                Ok((id, thrown_out_text(failure, into, id)))
            }
        }
    }

    async fn add(&self, new: NewTask) -> Result<TaskId, String> {
        let (board, now) = (self.board.clone(), self.runner.now());
        let made = run_blocking(move || board.create(new, now)).await;
        Ok(made.map_err(|error| error.to_string())?.id)
    }
}

/// Returns what has become of the only branch of a train.
fn one_merge(reports: TrainReports) -> Result<Merge, String> {
    if let Some((_, into)) = reports.merged.into_iter().next() {
        return Ok(Merge::AlreadyMerged { into });
    }
    if let Some((_, why)) = reports.refused.into_iter().next() {
        return Err(why);
    }
    let Some(report) = reports.trains.into_iter().next() else {
        return Err("the merge train has not started".into());
    };
    let into = report.into;
    if let Some(failure) = report.thrown_out.into_iter().next() {
        return match failure.out.reason {
            ThrownOutReason::Conflict(files) => Ok(Merge::Conflict { into, files }),
            ThrownOutReason::Red(_) => Err(format!(
                "{} is not merged and nothing was changed: the checks are red on {into} with it.\n{}",
                failure.name.branch(),
                failure.output
            )),
        };
    }
    match (report.commit, report.end) {
        (Some(commit), TrainEnd::Finished) => Ok(Merge::Merged {
            into,
            commit,
            before: report.undo.unwrap_or_default(),
        }),
        (_, end) => {
            let why = end.reason(&into);
            let why = why.unwrap_or_else(|| "the merge train has ended".into());
            Err(format!("{why}\n{}", report.base_output).trim_end().into())
        }
    }
}
