//! The decisions of a merge train. The next step follows from what is known about combinations; whatever is unknown and
//! needed for the decision is the next step.

use std::collections::BTreeMap;

use super::order::TrainMember;
use super::step::{
    Combination, HeldBack, ThrownOut, ThrownOutReason, TrainEnd, TrainFact, TrainStep, TrainVerdict,
};
use crate::domain::ids::TaskId;

/// Maximum number of members of one train. Further tasks get the next train.
pub const MEMBERS_MAX: usize = 16;
/// Maximum number of combinations that are checked between two landings.
pub const RUNS_MAX: usize = 64;
/// Maximum number of times that another program may move the base branch between two landings.
pub const MOVES_MAX: usize = 10;

/// A train of branches that are to land on one base branch.
///
/// What lands was checked as a whole on the base branch as it is at that moment. If the whole is red, the shortest red
/// prefix and then its shortest red rest are found by halves, which names one member, alone or together with another
/// one. The later member of a pair is thrown out. Members that build on a member that was thrown out contain its work,
/// so they are held back.
#[derive(Debug, Clone)]
pub struct MergeTrain {
    /// The commit of the base branch.
    base: String,
    /// All members, in dependency order.
    members: Vec<TrainMember>,
    /// The members that are to land next, in dependency order.
    queue: Vec<TaskId>,
    /// Members that conflict with an earlier member. They are tried again when the members before them have landed or
    /// were thrown out.
    later: Vec<TaskId>,
    landed: Vec<TaskId>,
    thrown_out: Vec<ThrownOut>,
    held_back: Vec<HeldBack>,
    /// The known combinations with the current base; `None` for one that conflicts or on which the checks cannot run.
    combined: BTreeMap<Vec<TaskId>, Option<Combination>>,
    /// The results of the checks by content. They hold for every base.
    verdicts: BTreeMap<String, TrainVerdict>,
    /// The number of checked combinations since the last landing.
    runs: usize,
    /// How often the base branch was moved by another program since the last landing.
    moves: usize,
    step: TrainStep,
}

impl MergeTrain {
    /// Creates a train of the first [`MEMBERS_MAX`] of `members`, which are in dependency order. `base` is the commit of
    /// the base branch.
    pub fn new(base: &str, members: &[TrainMember]) -> MergeTrain {
        let members: Vec<TrainMember> = members.iter().take(MEMBERS_MAX).cloned().collect();
        let mut train = MergeTrain {
            base: base.into(),
            queue: members.iter().map(|member| member.task).collect(),
            members,
            later: Vec::new(),
            landed: Vec::new(),
            thrown_out: Vec::new(),
            held_back: Vec::new(),
            combined: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            runs: 0,
            moves: 0,
            step: TrainStep::Done(TrainEnd::Finished),
        };
        train.settle();
        train
    }

    pub fn step(&self) -> &TrainStep {
        &self.step
    }

    /// Returns the commit of the base branch.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Returns all members, in dependency order.
    pub fn members(&self) -> &[TrainMember] {
        &self.members
    }

    /// Returns the members that are still to land, in dependency order.
    pub fn waiting(&self) -> Vec<TaskId> {
        let is_waiting = |task: &TaskId| self.queue.contains(task) || self.later.contains(task);
        let all = self.members.iter().map(|member| member.task);
        all.filter(is_waiting).collect()
    }

    /// Returns the members that have landed, in the order in which they did.
    pub fn landed(&self) -> &[TaskId] {
        &self.landed
    }

    /// Returns the members that were thrown out, in the order in which they were.
    pub fn thrown_out(&self) -> &[ThrownOut] {
        &self.thrown_out
    }

    /// Returns the members that were not tried, because they build on a member that was thrown out.
    pub fn held_back(&self) -> &[HeldBack] {
        &self.held_back
    }

    /// Records that `task`, which was thrown out alone, breaks together with `partner`, which has landed before.
    pub fn add_partner(&mut self, task: TaskId, partner: TaskId) {
        let mut all = self.thrown_out.iter_mut();
        if let Some(out) = all.find(|out| out.task == task) {
            out.with.push(partner);
        }
    }

    /// Takes the result of the current step and determines the next one. A fact that does not answer the current step is
    /// ignored.
    pub fn apply(&mut self, fact: TrainFact) {
        if matches!(self.step, TrainStep::Done(_)) {
            return;
        }
        match (self.step.clone(), fact) {
            (_, TrainFact::Stopped(why)) => {
                self.step = TrainStep::Done(TrainEnd::Stopped(why));
                return;
            }
            (TrainStep::Combine { members, .. }, TrainFact::Combined(combination)) => {
                self.combined.insert(members, Some(combination));
            }
            (TrainStep::Combine { members, .. }, TrainFact::Conflict { task, files }) => {
                if !members.contains(&task) {
                    return;
                }
                self.on_conflict(members, task, files);
            }
            (TrainStep::Check { combination, .. }, TrainFact::Checked(verdict)) => {
                self.verdicts.insert(combination.content, verdict);
                self.runs += 1;
            }
            (TrainStep::Check { members, .. }, TrainFact::Unchecked(why)) => {
                if members == self.queue {
                    // Nothing lands unchecked.
                    self.step = TrainStep::Done(TrainEnd::Stopped(why));
                    return;
                }
                // A part of the queue can lack what the checks need, such as a script that another member adds. As one
                // that cannot be combined, it says nothing about the others.
                self.combined.insert(members, None);
                self.runs += 1;
            }
            (TrainStep::Land { members, .. }, TrainFact::Landed { base }) => {
                self.queue.retain(|task| !members.contains(task));
                self.landed.extend(members);
                self.moves = 0;
                self.runs = 0;
                self.start_on(base);
            }
            (TrainStep::Land { .. }, TrainFact::BaseMoved { base }) => {
                self.moves += 1;
                if self.moves > MOVES_MAX {
                    self.step = TrainStep::Done(TrainEnd::BaseKeepsMoving);
                    return;
                }
                self.start_on(base);
            }
            (_, _) => return,
        }
        self.settle();
    }

    /// Continues on another commit of the base branch, with all members that are left.
    fn start_on(&mut self, base: String) {
        self.base = base;
        self.combined.clear();
        self.queue = self.waiting();
        self.later.clear();
    }

    fn on_conflict(&mut self, members: Vec<TaskId>, task: TaskId, files: Vec<String>) {
        if members != self.queue {
            // One half of a bisection cannot be combined without the other: it says nothing about the checks.
            self.combined.insert(members, None);
            return;
        }
        if members.first() == Some(&task) {
            let reason = ThrownOutReason::Conflict(files);
            let with = Vec::new();
            self.remove(ThrownOut { task, with, reason });
        } else {
            self.later.push(task);
            self.queue.retain(|other| *other != task);
        }
    }

    fn remove(&mut self, out: ThrownOut) {
        let waiting = self.waiting();
        let builds_on = |member: &&TrainMember| {
            waiting.contains(&member.task) && member.needs.contains(&out.task)
        };
        let held = self
            .members
            .iter()
            .filter(builds_on)
            .map(|member| HeldBack {
                task: member.task,
                by: out.task,
            });
        let held: Vec<HeldBack> = held.collect();
        let is_out =
            |task: &TaskId| *task == out.task || held.iter().any(|held| held.task == *task);
        self.queue.retain(|task| !is_out(task));
        self.later.retain(|task| !is_out(task));
        self.held_back.extend(held);
        self.thrown_out.push(out);
        if self.queue.is_empty() {
            self.queue = self.waiting();
            self.later.clear();
        }
    }

    /// Throws members out until the next step needs the caller.
    fn settle(&mut self) {
        loop {
            match self.search() {
                Ok(out) => self.remove(out),
                Err(step) => {
                    self.step = step;
                    return;
                }
            }
        }
    }

    /// Returns the next member to throw out. If something else comes first, returns this step as an error.
    fn search(&self) -> Result<ThrownOut, TrainStep> {
        if self.queue.is_empty() {
            return Err(TrainStep::Done(TrainEnd::Finished));
        }
        if !self.is_red(&self.queue)? {
            return Err(self.land(&self.queue));
        }
        if self.is_red(&[])? {
            // Whether another member breaks something cannot be seen on a base that is red itself. One that repairs it
            // is needed first.
            for task in &self.queue {
                if self.verdict(&[*task])? == Some(TrainVerdict::Green) {
                    return Err(self.land(&[*task]));
                }
            }
            let content = self.content(&[]);
            return Err(TrainStep::Done(TrainEnd::BaseRed(content)));
        }
        self.bisect()
    }

    /// Finds the smallest set that breaks. The queue as a whole is red, and the base is green.
    fn bisect(&self) -> Result<ThrownOut, TrainStep> {
        let (mut green, mut red) = (self.green_prefix(), self.queue.len());
        while red - green > 1 {
            let middle = usize::midpoint(green, red);
            if self.is_red(&self.queue[..middle])? {
                red = middle;
            } else {
                green = middle;
            }
        }
        // The first `red` members break, all but the last of them do not.
        let (before, last) = (&self.queue[..red - 1], self.queue[red - 1]);
        if before.is_empty() || self.is_red(&[last])? {
            return Ok(self.thrown_out_with(&[], last));
        }
        let (mut green, mut red) = (0, before.len());
        while red - green > 1 {
            let middle = usize::midpoint(green, red);
            if self.is_red(&joined(&before[..middle], last))? {
                red = middle;
            } else {
                green = middle;
            }
        }
        let pair = [before[red - 1], last];
        if self.is_red(&pair)? {
            Ok(self.thrown_out_with(&pair[..1], last))
        } else {
            Ok(self.thrown_out_with(&before[..red], last))
        }
    }

    fn thrown_out_with(&self, with: &[TaskId], task: TaskId) -> ThrownOut {
        ThrownOut {
            task,
            with: with.to_vec(),
            reason: ThrownOutReason::Red(self.content(&joined(with, task))),
        }
    }

    /// Returns the number of members at the start of the queue that are known to be green together.
    fn green_prefix(&self) -> usize {
        let is_green = |length: &usize| {
            let known = self.combined.get(&self.queue[..*length]);
            let known = known.and_then(Option::as_ref);
            known.and_then(|c| self.verdicts.get(&c.content)) == Some(&TrainVerdict::Green)
        };
        (1..self.queue.len()).rev().find(is_green).unwrap_or(0)
    }

    /// Returns whether the checks are red on the combination of `members`. False if it conflicts. If this is not known
    /// yet, returns as an error the step that finds it out.
    fn is_red(&self, members: &[TaskId]) -> Result<bool, TrainStep> {
        Ok(self.verdict(members)? == Some(TrainVerdict::Red))
    }

    /// Returns the result of the checks on the combination of `members`; `None` if it conflicts. If this is not known
    /// yet, returns as an error the step that finds it out.
    fn verdict(&self, members: &[TaskId]) -> Result<Option<TrainVerdict>, TrainStep> {
        let combination = match self.combined.get(members) {
            None => return Err(self.combine(members)),
            Some(None) => return Ok(None),
            Some(Some(combination)) => combination,
        };
        match self.verdicts.get(&combination.content) {
            Some(verdict) => Ok(Some(*verdict)),
            None if self.runs >= RUNS_MAX => Err(match self.green_prefix() {
                0 => TrainStep::Done(TrainEnd::RunLimit),
                length => self.land(&self.queue[..length]),
            }),
            None => Err(TrainStep::Check {
                members: members.to_vec(),
                combination: combination.clone(),
            }),
        }
    }

    fn combine(&self, members: &[TaskId]) -> TrainStep {
        TrainStep::Combine {
            base: self.base.clone(),
            members: members.to_vec(),
        }
    }

    /// Returns the step that lands `members`. If they were found to conflict as a half of a bisection, they are combined
    /// again, now as the whole queue.
    fn land(&self, members: &[TaskId]) -> TrainStep {
        match self.combined.get(members) {
            Some(Some(combination)) => TrainStep::Land {
                base: self.base.clone(),
                members: members.to_vec(),
                combination: combination.clone(),
            },
            Some(None) | None => self.combine(members),
        }
    }

    /// Returns the content of the combination of `members`; empty if it is not known.
    fn content(&self, members: &[TaskId]) -> String {
        let known = self.combined.get(members).and_then(Option::as_ref);
        known.map(|c| c.content.clone()).unwrap_or_default()
    }
}

fn joined(members: &[TaskId], last: TaskId) -> Vec<TaskId> {
    let mut all = members.to_vec();
    all.push(last);
    all
}
