//! What the dashboard shows of a merge train.

use serde::{Deserialize, Serialize};

use super::machine::MergeTrain;
use super::step::{HeldBack, ThrownOut, ThrownOutReason, TrainEnd, TrainStep};
use crate::domain::ids::TaskId;
use crate::domain::text::{clip, one_line};

/// Maximum length of the text that says why a train has ended early, in characters.
const WHY_MAX: usize = 300;

/// A merge train at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainState {
    /// The base branch.
    pub into: String,
    pub phase: TrainPhase,
    /// The tasks whose branches are to land, in dependency order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<TaskId>,
    /// The tasks whose branches are checked or land together now. While the train is checking, an empty list means the
    /// base branch alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub current: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub landed: Vec<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thrown_out: Vec<TrainRemoval>,
    /// The tasks that were not tried, because they build on a task that was thrown out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<TaskId>,
    /// Why the train has ended before each task has landed or was thrown out. Empty if it did not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

/// What a merge train does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainPhase {
    /// Branches are combined and the checks run.
    Checking,
    /// The base branch is moved to a combination that is green.
    Landing,
    Ended,
    /// A phase of a newer version.
    #[serde(other)]
    Unknown,
}

/// A task that was thrown out of a merge train.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrainRemoval {
    pub task: TaskId,
    /// The tasks with which it breaks; empty if it breaks alone on the base branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<TaskId>,
    /// Whether the branch conflicts with the base branch. Otherwise the checks are red.
    #[serde(
        rename = "conflict",
        default,
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_conflict: bool,
}

impl TrainState {
    pub fn has_ended(&self) -> bool {
        self.phase == TrainPhase::Ended
    }
}

impl TrainRemoval {
    fn of(out: &ThrownOut) -> TrainRemoval {
        TrainRemoval {
            task: out.task,
            with: out.with.clone(),
            is_conflict: matches!(out.reason, ThrownOutReason::Conflict(_)),
        }
    }
}

impl MergeTrain {
    /// Returns what the dashboard shows. `into` is the base branch.
    pub fn state(&self, into: &str) -> TrainState {
        let (phase, current, why) = match self.step() {
            TrainStep::Combine { members, .. } | TrainStep::Check { members, .. } => {
                (TrainPhase::Checking, members.clone(), None)
            }
            TrainStep::Land { members, .. } => (TrainPhase::Landing, members.clone(), None),
            TrainStep::Done(end) => (TrainPhase::Ended, Vec::new(), end.reason(into)),
        };
        TrainState {
            into: into.into(),
            phase,
            waiting: self.waiting(),
            current,
            landed: self.landed().to_vec(),
            thrown_out: self.thrown_out().iter().map(TrainRemoval::of).collect(),
            held_back: self.held_back().iter().map(held_task).collect(),
            why: why.unwrap_or_default(),
        }
    }
}

fn held_task(held: &HeldBack) -> TaskId {
    held.task
}

impl TrainEnd {
    /// Returns why a train has ended before each member has landed or was thrown out; `None` if it did not. `into` is the
    /// base branch.
    pub fn reason(&self, into: &str) -> Option<String> {
        match self {
            TrainEnd::Finished => None,
            TrainEnd::BaseRed(_) => Some(format!(
                "the checks are red on {into} itself. Fix {into} first."
            )),
            TrainEnd::RunLimit => Some(format!(
                "after {} checked combinations it is not known which branches break the checks. Merge them one by one.",
                super::RUNS_MAX
            )),
            TrainEnd::BaseKeepsMoving => Some(format!(
                "other programs move {into} all the time. Try again later."
            )),
            TrainEnd::Stopped(why) => Some(one_line(&clip(why, WHY_MAX))),
        }
    }
}
