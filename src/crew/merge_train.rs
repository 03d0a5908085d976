//! Runs merge trains: combines the branches of completed tasks, runs the checks on the combination in the scratch
//! worktree, and lets the branches land. The decisions are made in `domain/merge_train`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::CrewContext;
use crate::agent::driver::run_blocking;
use crate::checks::{CombinationResult, TaskChecks};
use crate::domain::checks::CheckSpec;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{
    Combination, HeldBack, MergeTrain, ThrownOut, ThrownOutReason, TrainEnd, TrainFact, TrainStep,
    TrainVerdict, train_members,
};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::NoticeLevel;
use crate::store::{
    CombineOutcome, CombinedBranches, Landing, StoreError, TrainBranch, TrainPlan, Worktrees,
};

/// A task whose branch is to land, and the name of its worktree.
pub type TrainTask = (Arc<Task>, WorktreeName);

/// A task that was thrown out.
#[derive(Debug)]
pub struct TrainFailure {
    pub out: ThrownOut,
    pub name: WorktreeName,
    /// The failing part of the output; empty for a conflict.
    pub output: String,
}

/// What has become of the branches with the same base branch.
#[derive(Debug)]
pub struct TrainReport {
    /// The base branch.
    pub into: String,
    pub landed: Vec<TaskId>,
    /// The commit to which `git reset --keep` takes all back; `None` if nothing has landed in the user's checkout.
    pub undo: Option<String>,
    pub thrown_out: Vec<TrainFailure>,
    pub held_back: Vec<HeldBack>,
    /// The tasks that are still to land because the train has ended early.
    pub waiting: Vec<TaskId>,
    pub end: TrainEnd,
    /// The failing part of the output if the base branch itself is red.
    pub base_output: String,
}

/// What has become of all branches.
#[derive(Debug, Default)]
pub struct TrainReports {
    /// At least one for each base branch.
    pub trains: Vec<TrainReport>,
    /// The tasks whose branch was merged before, each with the base branch.
    pub merged: Vec<(TaskId, String)>,
    /// The tasks whose branch cannot be merged now, each with the reason.
    pub refused: Vec<(TaskId, String)>,
}

/// Runs trains, one at a time.
pub struct TrainRunner {
    context: Arc<CrewContext>,
    worktrees: Worktrees,
    checks: Arc<TaskChecks>,
    turn: tokio::sync::Mutex<()>,
}

/// The branches of one train, and what is known about their combinations.
struct RunningTrain {
    plan: TrainPlan,
    tasks: BTreeMap<TaskId, (Arc<Task>, TrainBranch)>,
    specs: Vec<CheckSpec>,
    /// The combinations by their commit.
    combined: BTreeMap<String, CombinedBranches>,
    /// The failing parts of the output by content.
    outputs: BTreeMap<String, String>,
    undo: Option<String>,
}

impl RunningTrain {
    fn tasks_of(&self, members: &[TaskId]) -> Vec<Arc<Task>> {
        let found = members.iter().filter_map(|id| self.tasks.get(id));
        found.map(|(task, _)| Arc::clone(task)).collect()
    }

    fn combination(&self, commit: &str) -> Result<CombinedBranches, String> {
        let known = self.combined.get(commit).cloned();
        known.ok_or_else(|| format!("the combination {commit} is unknown"))
    }
}

impl TrainRunner {
    pub fn new(
        context: Arc<CrewContext>,
        worktrees: Worktrees,
        checks: Arc<TaskChecks>,
    ) -> TrainRunner {
        TrainRunner {
            context,
            worktrees,
            checks,
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Returns whether checks could apply to `task`. Without checks, there is nothing that a train could find out.
    pub fn concerns(&self, task: &Task) -> bool {
        self.checks.concern(task)
    }

    /// Lets the branches of `tasks` land, as far as the checks are green. Waits while another train of this crew runs.
    ///
    /// # Errors
    /// Returns why no train can run: another process runs one, git is too old, or the repository cannot be used.
    pub async fn run(
        &self,
        graph: &TaskGraph,
        tasks: &[TrainTask],
    ) -> Result<TrainReports, String> {
        let _turn = self.turn.lock().await;
        let lock = self.with_store(|store, _| store.lock_train()).await?;
        let lock = lock.ok_or(
            "another crewdeck process lets branches of this project land: try again when it has ended",
        )?;
        let mut reports = TrainReports::default();
        let mut left: Vec<TrainTask> = tasks.to_vec();
        while !left.is_empty() && !self.context.stop.is_cancelled() {
            left = self.run_round(graph, &left, &mut reports).await?;
        }
        let removed = self.with_store(|store, _| store.remove_scratch()).await;
        if let Err(why) = removed {
            tracing::warn!("the scratch worktree of the merge train was not removed: {why}");
        }
        drop(lock);
        Ok(reports)
    }

    /// Runs one train for each base branch. Returns the tasks that had no room in it.
    async fn run_round(
        &self,
        graph: &TaskGraph,
        tasks: &[TrainTask],
        reports: &mut TrainReports,
    ) -> Result<Vec<TrainTask>, String> {
        let names: Vec<WorktreeName> = tasks.iter().map(|(_, name)| name.clone()).collect();
        let plans = self.with_store(move |store, now| store.plan_trains(&names, now));
        let plans = plans.await?;
        let task_of = |name: &WorktreeName| tasks.iter().find(|(_, other)| other == name);
        let with_id = |(name, text): (WorktreeName, String)| Some((task_of(&name)?.0.id, text));
        reports
            .merged
            .extend(plans.merged.into_iter().filter_map(with_id));
        reports
            .refused
            .extend(plans.refused.into_iter().filter_map(with_id));
        let mut left = Vec::new();
        for plan in plans.plans {
            let branches = plan.branches.iter();
            let found = branches.filter_map(|branch| {
                let (task, _) = task_of(&branch.name)?;
                Some((task.id, (Arc::clone(task), branch.clone())))
            });
            let found: BTreeMap<TaskId, (Arc<Task>, TrainBranch)> = found.collect();
            let ids: Vec<TaskId> = found.keys().copied().collect();
            let mut train = MergeTrain::new(&plan.base, &train_members(graph, &ids));
            let members: Vec<TaskId> = train.members().iter().map(|m| m.task).collect();
            let all: Vec<Arc<Task>> = found.values().map(|(task, _)| Arc::clone(task)).collect();
            for task in all.iter().filter(|task| !members.contains(&task.id)) {
                left.extend(tasks.iter().find(|(other, _)| other.id == task.id).cloned());
            }
            let mut running = RunningTrain {
                plan,
                specs: self.checks.train_specs(&all).await,
                tasks: found,
                combined: BTreeMap::new(),
                outputs: BTreeMap::new(),
                undo: None,
            };
            let end = self.run_to_end(&mut train, &mut running).await;
            // A train that cannot go on says why only once.
            if end != TrainEnd::Finished {
                left.clear();
            }
            reports.trains.push(report(&train, running, end));
        }
        Ok(left)
    }

    async fn run_to_end(&self, train: &mut MergeTrain, running: &mut RunningTrain) -> TrainEnd {
        loop {
            let step = train.step().clone();
            if let TrainStep::Done(end) = step {
                return end;
            }
            let fact = if self.context.stop.is_cancelled() {
                Err("the crew is stopping".into())
            } else {
                self.carry_out(step, running).await
            };
            train.apply(fact.unwrap_or_else(TrainFact::Stopped));
        }
    }

    async fn carry_out(
        &self,
        step: TrainStep,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        match step {
            TrainStep::Combine { base, members } => self.combine(base, members, running).await,
            TrainStep::Check {
                members,
                combination,
            } => self.check(&members, combination, running).await,
            TrainStep::Land { combination, .. } => self.land(&combination, running).await,
            TrainStep::Done(_) => Err("the train has ended".into()),
        }
    }

    async fn combine(
        &self,
        base: String,
        members: Vec<TaskId>,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        let branches = members.iter().filter_map(|id| running.tasks.get(id));
        let branches: Vec<TrainBranch> = branches.map(|(_, branch)| branch.clone()).collect();
        let combined = self.with_store(move |store, _| store.combine(&base, &branches));
        match combined.await? {
            CombineOutcome::Combined(combined) => {
                let tasks = running.tasks_of(&members);
                let checks = self
                    .checks
                    .combination(&running.specs, &tasks, &combined.tree);
                let commit = combined.commit.clone();
                running.combined.insert(commit.clone(), combined);
                let content = checks.content();
                Ok(TrainFact::Combined(Combination { commit, content }))
            }
            CombineOutcome::Conflict { index, files } => {
                let task = members.get(index).copied();
                let task = task.ok_or("the conflict is in an unknown branch")?;
                Ok(TrainFact::Conflict { task, files })
            }
        }
    }

    async fn check(
        &self,
        members: &[TaskId],
        combination: Combination,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        let Combination { commit, content } = combination;
        let tree = running.combination(&commit)?.tree;
        let tasks = running.tasks_of(members);
        let checks = self.checks.combination(&running.specs, &tasks, &tree);
        let result = match self.checks.find_combination(&checks).await {
            Some(known) => known,
            None => {
                let text = checking_text(members, &running.plan.into);
                self.context.notice(NoticeLevel::Info, text).await;
                let dir = self.with_store(move |store, now| store.check_out_scratch(&commit, now));
                let (dir, cancel) = (dir.await?, self.context.stop.child_token());
                self.checks.run_combination(&checks, &dir, &cancel).await
            }
        };
        match result {
            CombinationResult::Green => Ok(TrainFact::Checked(TrainVerdict::Green)),
            CombinationResult::Red(output) => {
                running.outputs.insert(content, output);
                Ok(TrainFact::Checked(TrainVerdict::Red))
            }
            CombinationResult::Unknown(why) => Err(why),
        }
    }

    async fn land(
        &self,
        combination: &Combination,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        let combined = running.combination(&combination.commit)?;
        let into = running.plan.into.clone();
        let landed = self.with_store(move |store, now| store.land(&into, &combined, now));
        match landed.await? {
            Landing::Landed {
                commit,
                before,
                is_checked_out,
            } => {
                if is_checked_out && running.undo.is_none() {
                    running.undo = Some(before);
                }
                Ok(TrainFact::Landed { base: commit })
            }
            Landing::BaseMoved(base) => Ok(TrainFact::BaseMoved { base }),
        }
    }

    /// Runs `work` on the worktree store, outside of the async threads.
    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Worktrees, Timestamp) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, String> {
        let (store, now) = (self.worktrees.clone(), self.context.now());
        let done = run_blocking(move || work(&store, now)).await;
        done.map_err(|error| error.to_string())
    }
}

fn report(train: &MergeTrain, running: RunningTrain, end: TrainEnd) -> TrainReport {
    let output = |content: &String| running.outputs.get(content).cloned().unwrap_or_default();
    let failures = train.thrown_out().iter().filter_map(|out| {
        let (_, branch) = running.tasks.get(&out.task)?;
        Some(TrainFailure {
            out: out.clone(),
            name: branch.name.clone(),
            output: match &out.reason {
                ThrownOutReason::Conflict(_) => String::new(),
                ThrownOutReason::Red(content) => output(content),
            },
        })
    });
    TrainReport {
        landed: train.landed().to_vec(),
        thrown_out: failures.collect(),
        held_back: train.held_back().to_vec(),
        waiting: train.waiting(),
        base_output: match &end {
            TrainEnd::BaseRed(content) => output(content),
            _ => String::new(),
        },
        end,
        into: running.plan.into,
        undo: running.undo,
    }
}

fn checking_text(members: &[TaskId], into: &str) -> String {
    match members {
        [] => format!("Merge train: checking {into} alone."),
        members => format!("Merge train: checking {} on {into}.", list_tasks(members)),
    }
}

/// Returns the numbers of tasks, separated by commas.
pub fn list_tasks(tasks: &[TaskId]) -> String {
    let shown: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    shown.join(", ")
}
