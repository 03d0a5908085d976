//! Errors of changes of the task graph.

use super::super::ids::{Name, TaskId};

/// Why a change of the task graph is rejected. Each message says what to do instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// The task does not exist. The second field ends the message: how many tasks the board has and the number of the
    /// last one, or that the board is empty.
    #[error("task {0} does not exist{1}")]
    Unknown(TaskId, String),
    /// A task was given by its subject (first field) instead of its number (second field).
    #[error("'{0}' is the subject of a task: use its number {1}")]
    Subject(String, u64),
    /// The given text (the field) is neither a task number nor the subject of a task.
    #[error("'{0}' is not the number of a task (list the tasks to see their numbers)")]
    NoNumber(String),
    /// The subject is empty or blank.
    #[error("a task needs a subject: one line that says what is to be done")]
    NoSubject,
    /// A text of a task is too long. The values are the name of the text, such as `subject`, its limit, and the unit of
    /// the limit.
    #[error("the {0} is too long ({1} {2} at most): put the rest into a file and name the file")]
    TooLong(&'static str, usize, &'static str),
    #[error("task {0} cannot wait for itself: name another task")]
    SelfBlock(TaskId),
    #[error(
        "task {task} cannot wait for {on}: {on} already waits for {task} ({path}): remove one of these dependencies first"
    )]
    Cycle {
        /// The task that should get the new blocker `on`.
        task: TaskId,
        /// The task that should become a blocker of `task`.
        on: TaskId,
        /// The chain of blockers through which `on` already waits for `task`, formatted for the message.
        path: String,
    },
    /// A completed task cannot become a blocker.
    #[error("task {0} is already completed: leave it out of the blockers")]
    CompletedBlocker(TaskId),
    /// A completed task cannot be changed.
    #[error("task {0} is completed and cannot be changed: add a new task for what is left")]
    Completed(TaskId),
    /// An agent or user who is not the task's owner requested the change. The second field names the owner.
    #[error(
        "task {0} belongs to {1}, and only {1} can complete or release it: send {1} a message or claim another task"
    )]
    OtherOwner(TaskId, String),
    /// The task cannot be deleted, because it has an owner (second field) and is not completed.
    #[error("task {0} is owned by {1}: release it before you delete it")]
    Owned(TaskId, String),
    /// The task cannot be claimed, because it already has an owner (second field) or is in progress without one.
    #[error(
        "task {0} has already been claimed by {1}: claim another (task_list shows what is ready)"
    )]
    Claimed(TaskId, String),
    /// The task has open blockers. The second field lists their numbers, separated by commas and cut to 120 characters.
    #[error("task {0} is blocked by {1}: its blockers must be completed first")]
    Blocked(TaskId, String),
    /// The claimer already has an open task.
    #[error("{who} already works on task {open}: complete or release it first")]
    Busy {
        who: Name,
        /// The open task of the claimer.
        open: TaskId,
    },
    /// The task has no owner from whom the user could take it.
    #[error("task {0} has no owner: agents can already claim it")]
    NoOwner(TaskId),
    /// The user took the task away from the agent that now wants to complete it.
    #[error("the user took task {0} away from you: stop working on it")]
    TakenByUser(TaskId),
    /// The claimer lacks a tag that the task requires. The second field lists the required tags.
    #[error("task {0} is for agents tagged {1}: claim another (task_list shows what is ready)")]
    Tags(TaskId, String),
}
