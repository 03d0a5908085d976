//! Why the graph refuses a change. Each text says what to do instead.

use super::super::ids::{Name, TaskId};

/// Why the graph refused a change. Each text says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// No such task.
    #[error("task {0} does not exist{1}")]
    Unknown(TaskId, String),
    /// A subject where a number belongs.
    #[error("'{0}' is the subject of a task: use its number {1}")]
    Subject(String, u64),
    /// Other words where a number belongs.
    #[error("'{0}' is not the number of a task (list the tasks to see them)")]
    NoNumber(String),
    /// No subject.
    #[error("a task needs a subject: one line that says what is to be done")]
    NoSubject,
    /// Too long.
    #[error("the {0} is too long ({1} at most): put the rest into a file and name it")]
    TooLong(&'static str, usize),
    /// A task can not wait for itself.
    #[error("task {0} can not wait for itself: name another task")]
    SelfBlock(TaskId),
    /// The edge would close a circle.
    #[error(
        "task {task} can not wait for {on}: {on} already waits for {task} ({path}): take one of these edges away first"
    )]
    Cycle {
        /// The task that was to wait.
        task: TaskId,
        /// For which one.
        on: TaskId,
        /// The way back, as text.
        path: String,
    },
    /// A finished task blocks nothing.
    #[error("task {0} is already completed: nothing has to wait for it")]
    FinishedBlocker(TaskId),
    /// A completed task takes no new blockers.
    #[error(
        "task {0} is completed: it can not be changed any more, write a new task for what is left"
    )]
    Finished(TaskId),
    /// Somebody else's.
    #[error(
        "task {0} belongs to {1}: only its owner can do that, send {1} a message or take another task"
    )]
    Foreign(TaskId, String),
    /// Somebody was faster.
    #[error(
        "task {0} has already been claimed by {1}: take another (task_list shows what is ready)"
    )]
    Claimed(TaskId, String),
    /// Open blockers.
    #[error("task {0} is blocked by {1}: complete that first")]
    Blocked(TaskId, String),
    /// The claimer has something open.
    #[error("{who} already works on task {open}: complete or release it first")]
    Busy {
        /// The claimer.
        who: Name,
        /// What is open.
        open: TaskId,
    },
    /// Nobody has it.
    #[error("task {0} is nobody's: it is on the board already")]
    Unowned(TaskId),
    /// The person has taken it from who wants to complete it.
    #[error("the user has taken task {0} from you: leave it to the next one that claims it")]
    Taken(TaskId),
    /// The claimer lacks tags.
    #[error("task {0} is for agents tagged {1}: take another (task_list shows what is ready)")]
    Tags(TaskId, String),
}
