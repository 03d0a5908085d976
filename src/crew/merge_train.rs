//! Runs merge trains: combines the branches of completed tasks, runs the checks on the combination, and lets the branches
//! land. The decisions are made in `domain/merge_train`.

mod acceptance;
mod partner;
mod reports;
mod unchecked;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agent::driver::run_blocking;
use crate::checks::{
    CombinationChecks, CombinationResult, CombinedContent, CombinedTask, TaskChecks,
};
use crate::domain::checks::CheckSpec;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::merge_train::{
    Combination, HeldBack, MergeTrain, ThrownOutReason, TrainEnd, TrainFact, TrainMember,
    TrainState, TrainStep, train_members,
};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use crate::protocol::EventSender;
use crate::protocol::event::{BoardEvent, EventKind};
use crate::store::{
    CombineOutcome, CombinedBranches, HostSession, LandedCommit, Landing, StoreError, TrainBranch,
    TrainLock, TrainPlan, Worktrees,
};

pub use reports::{TrainFailure, TrainReport, TrainReports};

/// What a host that has lost its session can no longer do.
pub const MERGE_ACT: &str = "merge branches";

/// A task whose branch is to land, and the name of its worktree.
pub type TrainTask = (Arc<Task>, WorktreeName);

/// The process in which trains run.
#[derive(Debug, Clone)]
pub struct TrainHost {
    pub clock: fn() -> Timestamp,
    /// Publishes what the trains do; `None` if nothing shows it.
    pub event_sender: Option<EventSender>,
    /// The session of this process as a host of the crew, without which nothing lands; `None` without hosts.
    pub session: Option<Arc<dyn HostSession>>,
}

/// Runs trains.
pub struct TrainRunner {
    host: TrainHost,
    worktrees: Worktrees,
    checks: Arc<TaskChecks>,
}

/// The branches of one train, and what is known about their combinations.
struct RunningTrain {
    plan: TrainPlan,
    tasks: BTreeMap<TaskId, (Arc<Task>, TrainBranch)>,
    /// The other tasks of the worktrees of `tasks`.
    others: BTreeMap<TaskId, Vec<Arc<Task>>>,
    cancel: CancellationToken,
    specs: Vec<CheckSpec>,
    /// The combinations by their commit.
    combined: BTreeMap<String, CombinedBranches>,
    /// The failing parts of the output by content.
    outputs: BTreeMap<String, String>,
    commit: Option<String>,
    undo: Option<String>,
    /// The number of members that were thrown out and whose partners were searched.
    searched: usize,
    landed_before: BTreeSet<TaskId>,
    /// The commits of the base branch with which members break that were thrown out alone.
    breaking: BTreeMap<TaskId, LandedCommit>,
}

impl RunningTrain {
    fn tasks_of(&self, members: &[TaskId]) -> Vec<CombinedTask> {
        let found = members.iter().filter_map(|id| self.tasks.get(id));
        found
            .map(|(task, branch)| CombinedTask {
                task: Arc::clone(task),
                others: self.others.get(&task.id).cloned().unwrap_or_default(),
                tree: branch.tree.clone(),
            })
            .collect()
    }

    fn combination(&self, commit: &str) -> Result<CombinedBranches, String> {
        let known = self.combined.get(commit).cloned();
        known.ok_or_else(|| format!("the combination {commit} is unknown"))
    }
}

impl TrainRunner {
    pub fn new(host: TrainHost, worktrees: Worktrees, checks: Arc<TaskChecks>) -> TrainRunner {
        TrainRunner {
            host,
            worktrees,
            checks,
        }
    }

    pub fn now(&self) -> Timestamp {
        (self.host.clock)()
    }

    /// Returns whether checks could apply to one of `tasks`.
    pub fn concerns(&self, tasks: &[TaskId]) -> bool {
        self.checks.concern_any(tasks)
    }

    /// Returns the right to run a train.
    ///
    /// # Errors
    /// Returns the reason if another process runs one, or the repository cannot be used.
    pub async fn lock(&self) -> Result<TrainLock, String> {
        let lock = self.with_store(|store, _| store.lock_train()).await?;
        lock.ok_or_else(|| {
            "another crewdeck process lets branches of this project land: try again when it has ended"
                .into()
        })
    }

    /// Lets the branches of `tasks` land, as far as the checks are green. `lock` is from [`TrainRunner::lock`]. If
    /// `cancel` is cancelled, the checks are stopped, and the branches that are left do not land.
    ///
    /// # Errors
    /// Returns why no train can run: git is too old, or the repository cannot be used.
    pub async fn run(
        &self,
        graph: &TaskGraph,
        tasks: &[TrainTask],
        (_lock, cancel): (&TrainLock, &CancellationToken),
    ) -> Result<TrainReports, String> {
        let mut reports = TrainReports::default();
        let ids: Vec<TaskId> = tasks.iter().map(|(task, _)| task.id).collect();
        let members = train_members(graph, &ids);
        let mut left: Vec<TrainTask> = tasks.to_vec();
        while !left.is_empty() {
            if cancel.is_cancelled() {
                let interrupted = |(task, _): &TrainTask| (task.id, "interrupted".to_string());
                reports.refused.extend(left.iter().map(interrupted));
                break;
            }
            left = self.run_round(graph, &left, cancel, &mut reports).await?;
            // In dependency order, so that those that build on a task that is held back are held back too.
            for TrainMember { task, needs } in &members {
                if left.iter().any(|(other, _)| other.id == *task)
                    && let Some(by) = reports.thrown_out_below(needs)
                {
                    reports.held_back.push(HeldBack { task: *task, by });
                    left.retain(|(other, _)| other.id != *task);
                }
            }
        }
        Ok(reports)
    }

    /// Runs one train for each base branch. Returns the tasks that had no room in it.
    async fn run_round(
        &self,
        graph: &TaskGraph,
        tasks: &[TrainTask],
        cancel: &CancellationToken,
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
            let mut running = RunningTrain {
                specs: Vec::new(),
                others: TrainRunner::others_of(graph, tasks),
                tasks: found.collect(),
                cancel: cancel.clone(),
                combined: BTreeMap::new(),
                outputs: BTreeMap::new(),
                commit: None,
                undo: None,
                searched: 0,
                landed_before: BTreeSet::new(),
                breaking: BTreeMap::new(),
                plan,
            };
            reports
                .refused
                .extend(self.refuse_members(graph, &mut running));
            if running.tasks.is_empty() {
                continue;
            }
            let mut train =
                MergeTrain::new(&running.plan.base, &self.first_members(graph, &running));
            let members: Vec<TaskId> = train.members().iter().map(|m| m.task).collect();
            let (riding, later): (BTreeMap<_, _>, BTreeMap<_, _>) = running
                .tasks
                .into_iter()
                .partition(|(id, _)| members.contains(id));
            running.tasks = riding;
            let end = self.run_to_end(&mut train, &mut running).await;
            // A train that cannot go on says why only once.
            if end == TrainEnd::Finished {
                let later = later.into_values();
                left.extend(later.map(|(task, branch)| (task, branch.name)));
            } else {
                let why = format!(
                    "the merge train before it has not landed on {}",
                    running.plan.into
                );
                reports.not_tried.extend(later.keys());
                reports
                    .refused
                    .extend(later.into_keys().map(|id| (id, why.clone())));
            }
            reports.trains.push(report(&train, running, end));
        }
        Ok(left)
    }

    /// Returns the members of the next train, in dependency order. A branch for which the user has overridden a red check
    /// gets a train of its own, after the others: what lands with it cannot be checked with this check. Branches that
    /// build on it come after it.
    fn first_members(&self, graph: &TaskGraph, running: &RunningTrain) -> Vec<TrainMember> {
        let ids: Vec<TaskId> = running.tasks.keys().copied().collect();
        let members = train_members(graph, &ids);
        let is_overridden = |id: TaskId| {
            let member = running.tasks_of(&[id]);
            member
                .iter()
                .any(|member| self.checks.is_overridden(member))
        };
        let overridden: Vec<TaskId> = ids.into_iter().filter(|id| is_overridden(*id)).collect();
        let is_free = |member: &&TrainMember| {
            let mut all = overridden.iter();
            !all.any(|id| *id == member.task || member.needs.contains(id))
        };
        let free: Vec<TrainMember> = members.iter().filter(is_free).cloned().collect();
        if free.is_empty() {
            members.into_iter().take(1).collect()
        } else {
            free
        }
    }

    async fn run_to_end(&self, train: &mut MergeTrain, running: &mut RunningTrain) -> TrainEnd {
        if let Err(why) = self.prepare(running).await {
            train.apply(TrainFact::Stopped(why));
        }
        let mut shown = None;
        loop {
            let state = train.state(&running.plan.into);
            if shown.as_ref() != Some(&state) {
                self.publish(state.clone()).await;
                shown = Some(state);
            }
            let step = train.step().clone();
            if let TrainStep::Done(end) = step {
                return end;
            }
            let fact = if running.cancel.is_cancelled() {
                Err("interrupted".into())
            } else {
                self.carry_out(step, train.base(), running).await
            };
            train.apply(fact.unwrap_or_else(TrainFact::Stopped));
            self.name_partners(train, running).await;
        }
    }

    /// Finds the checks of a train. Fails if nothing could land now, before any check runs.
    async fn prepare(&self, running: &mut RunningTrain) -> Result<(), String> {
        let into = running.plan.into.clone();
        self.with_store(move |store, _| store.check_landing(&into))
            .await?;
        let ids: Vec<TaskId> = running.tasks.keys().copied().collect();
        let members = running.tasks_of(&ids);
        let tasks = members.iter().flat_map(CombinedTask::tasks).cloned();
        let tasks: Vec<Arc<Task>> = tasks.collect();
        running.specs = self.checks.train_specs(&tasks, &self.worktrees).await;
        Ok(())
    }

    async fn publish(&self, train: TrainState) {
        if let Some(sender) = &self.host.event_sender {
            let event = EventKind::Board(BoardEvent::TrainChanged { train });
            sender.publish(event).await;
        }
    }

    async fn carry_out(
        &self,
        step: TrainStep,
        base: &str,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        match step {
            TrainStep::Combine { base, members } => self.combine(base, members, running).await,
            TrainStep::Check {
                members,
                combination,
            } => self.check(base, &members, combination, running).await,
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
                let content = self.checks_of(&members, running, &combined).content();
                let commit = combined.commit.clone();
                running.combined.insert(commit.clone(), combined);
                Ok(TrainFact::Combined(Combination { commit, content }))
            }
            CombineOutcome::Conflict { index, files } => {
                let task = members.get(index).copied();
                let task = task.ok_or("the conflict is in an unknown branch")?;
                Ok(TrainFact::Conflict { task, files })
            }
        }
    }

    fn checks_of(
        &self,
        members: &[TaskId],
        running: &RunningTrain,
        combined: &CombinedBranches,
    ) -> CombinationChecks {
        let content = CombinedContent {
            commit: combined.commit.clone(),
            tree: combined.tree.clone(),
        };
        let tasks = running.tasks_of(members);
        let (checks, store) = (&self.checks, &self.worktrees);
        checks.combination(&running.specs, &tasks, store, &content)
    }

    /// Runs the checks on a combination.
    async fn result_of(
        &self,
        members: &[TaskId],
        combination: &Combination,
        running: &RunningTrain,
    ) -> Result<CombinationResult, String> {
        let combined = running.combination(&combination.commit)?;
        let checks = self.checks_of(members, running, &combined);
        let result = self.checks.run_combination(&checks, &running.cancel).await;
        let is_unknown = matches!(result, CombinationResult::Unknown { .. });
        if is_unknown && running.cancel.is_cancelled() {
            return Err("interrupted".into());
        }
        Ok(result)
    }

    async fn land(
        &self,
        combination: &Combination,
        running: &mut RunningTrain,
    ) -> Result<TrainFact, String> {
        let combined = running.combination(&combination.commit)?;
        let into = running.plan.into.clone();
        let session = self.host.session.clone();
        let landed = self.with_store(move |store, now| {
            if session.is_some_and(|session| !session.is_valid()) {
                return Err(StoreError::HostLost(MERGE_ACT));
            }
            store.land(&into, &combined, now)
        });
        match landed.await? {
            Landing::Landed {
                commit,
                before,
                is_checked_out,
            } => {
                if is_checked_out && running.undo.is_none() {
                    running.undo = Some(before);
                }
                running.commit = Some(commit.clone());
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
        let (store, now) = (self.worktrees.clone(), self.now());
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
            commit: running.breaking.get(&out.task).cloned(),
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
        commit: running.commit,
        landed_before: running.landed_before,
        undo: running.undo,
    }
}

/// Returns the numbers of tasks, separated by commas.
pub fn list_tasks(tasks: &[TaskId]) -> String {
    let shown: Vec<String> = tasks.iter().map(ToString::to_string).collect();
    shown.join(", ")
}
