//! What a merge train wants to be done, and what the caller reports back.

use crate::domain::ids::TaskId;

/// A combination of branches with the base branch, as a commit that no branch refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combination {
    pub commit: String,
    /// Identifies what is checked, for example the git tree. Combinations with the same content are checked once.
    pub content: String,
}

/// The result of the checks on a combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainVerdict {
    Green,
    Red,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrainStep {
    /// Combine the branches of `members`, in this order, with the commit `base`. Without members, the combination is the
    /// base itself. The answer is [`TrainFact::Combined`] or [`TrainFact::Conflict`].
    Combine { base: String, members: Vec<TaskId> },
    /// Run the checks on a combination. The answer is [`TrainFact::Checked`] or [`TrainFact::Unchecked`].
    Check {
        members: Vec<TaskId>,
        combination: Combination,
    },
    /// Move the base branch from the commit `base` to the combination. The answer is [`TrainFact::Landed`] or
    /// [`TrainFact::BaseMoved`].
    Land {
        base: String,
        members: Vec<TaskId>,
        combination: Combination,
    },
    /// Nothing more is to be done.
    Done(TrainEnd),
}

/// What the caller reports about the current step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrainFact {
    Combined(Combination),
    /// The branch of `task` conflicts in `files` with the base branch, or with a member before it.
    Conflict {
        task: TaskId,
        files: Vec<String>,
    },
    Checked(TrainVerdict),
    /// The checks could not run on this combination, for the reason that the text gives.
    Unchecked(String),
    /// The base branch was moved to the combination. `base` is its commit now.
    Landed {
        base: String,
    },
    /// The base branch was not moved, because another program has moved it to the commit `base`.
    BaseMoved {
        base: String,
    },
    /// The current step cannot be done, for the reason that the text gives. Possible as the answer to each step.
    Stopped(String),
}

/// How a train has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrainEnd {
    /// Each member has landed or was thrown out.
    Finished,
    /// The checks are red on the base branch alone, and no member makes them green. No member was thrown out for this.
    /// The text is the content of the base branch, see [`Combination::content`].
    BaseRed(String),
    /// The limit [`RUNS_MAX`](super::RUNS_MAX) was reached before the breaking set was found.
    RunLimit,
    /// Another program has moved the base branch more than [`MOVES_MAX`](super::MOVES_MAX) times in a row.
    BaseKeepsMoving,
    /// A step could not be done, for the reason that the text gives.
    Stopped(String),
}

/// Why a member was thrown out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThrownOutReason {
    /// Its branch conflicts with the base branch in these files.
    Conflict(Vec<String>),
    /// The checks are red on a combination with this content, see [`Combination::content`].
    Red(String),
}

/// A member that was taken out of the train and did not land.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThrownOut {
    pub task: TaskId,
    /// The members with which it breaks, none of which breaks without it, or a task that has landed before. Empty if it
    /// breaks alone on the base branch.
    /// One if a pair breaks. More if no pair breaks, but all of them together.
    pub with: Vec<TaskId>,
    pub reason: ThrownOutReason,
}

/// A member that was not tried, because its branch contains the work of a member that was thrown out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBack {
    pub task: TaskId,
    /// The member that was thrown out.
    pub by: TaskId,
}
