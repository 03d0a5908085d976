//! Checks of tasks: runs the commands that must succeed before a task is completed, keeps their results by content, and
//! says what happens with the completion.

mod cache;
mod combination;
mod content;
mod round;
mod runner;
mod texts;

use std::fmt;

use crate::domain::ids::TaskId;

pub use combination::{CombinationChecks, CombinationResult, CombinedContent, CombinedTask};
pub use round::{CheckRound, RoundEnd, TaskChecks, TaskChecksParts};
pub use runner::{CheckPlace, CheckRun, CheckRunner, CheckTarget};

/// Says whether the user has set the acceptance command of a task. A task file of the project may contain a command that
/// the user has never seen; such a command does not run.
pub trait AcceptanceCheck: fmt::Debug + Send + Sync {
    /// Returns whether the user has set an acceptance command for the task, whatever is in its file.
    fn is_set(&self, task: TaskId) -> bool;

    fn is_approved(&self, task: TaskId, command: &str) -> bool;
}

/// Approves no acceptance command.
#[derive(Debug)]
pub struct NoAcceptance;

impl AcceptanceCheck for NoAcceptance {
    fn is_set(&self, _task: TaskId) -> bool {
        false
    }

    fn is_approved(&self, _task: TaskId, _command: &str) -> bool {
        false
    }
}
