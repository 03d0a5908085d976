//! Command: what the person wants. The front ends send nothing else down.

use serde::{Deserialize, Serialize};

use crate::domain::graph::{NewTask, TaskEdit};
use crate::domain::ids::{JobId, Name, RequestId, TaskId};
use crate::domain::request::Decision;
use crate::domain::rule::Scope;
use crate::domain::worktree::Losses;

/// What the person wants. Each says which event answers it; a refusal is [`super::EventKind::Refused`], which names it
/// ([`Command::asked`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// A prompt for an agent. `Prompted` when the agent takes it up, between two steps of its turn or at the start of the
    /// next one, also after an interrupt; until then it waits on disk. For a teammate it is a message from `user`, so
    /// `LetterMoved`, too.
    Prompt {
        /// To whom.
        to: Name,
        /// The words.
        text: String,
    },
    /// Stop what the agent does now, keep what it has. `TurnEnded`.
    Interrupt {
        /// Whom.
        agent: Name,
    },
    /// Summarise the agent's conversation and go on with the summary. `Compacted`.
    Compact {
        /// Whose.
        agent: Name,
        /// What the summary should give most room to; may be empty.
        focus: String,
    },
    /// End a background job. `JobChanged`.
    KillJob {
        /// Which one.
        job: JobId,
    },
    /// Decide a request. `RequestChanged`.
    Decide(Decision),
    /// Approve a permission, and everything in `scope` for the whole team until crewdeck ends.
    /// `RequestChanged`, `RulesChanged`.
    Allow {
        /// The request.
        request: RequestId,
        /// One of those that the request offers.
        scope: Scope,
    },
    /// Take a rule of the session back. `RulesChanged`.
    TakeBack {
        /// Its number.
        rule: u64,
    },
    /// Ask a teammate to shut down, by the person's own wish (so nobody else is asked). `RequestChanged`.
    AskShutdown {
        /// Whom.
        member: Name,
    },
    /// End a teammate at once, wherever it stands; its task goes back to the board. `TeamChanged`.
    Force {
        /// Whom.
        member: Name,
    },
    /// Ask a teammate where it stands. `LetterMoved`.
    Nudge {
        /// Whom.
        member: Name,
    },
    /// Change the board by the person's own hand. `PersonActed` and `BoardChanged`.
    Task(Box<TaskWish>),
    /// Merge the branch of a completed task. A `Notice` tells what came of it.
    Merge {
        /// The task.
        task: TaskId,
    },
    /// Merge the branches of completed tasks in this order; the first that does not merge ends it. A `Notice` tells of
    /// each one, and the last one of all of them.
    MergeAll {
        /// The tasks.
        tasks: Vec<TaskId>,
    },
    /// Show what the branch of a task changes. `DiffShown`.
    ShowDiff {
        /// The task.
        task: TaskId,
    },
    /// Look what would be lost with the worktree of a task. `WorktreeJudged`.
    JudgeWorktree {
        /// The task.
        task: TaskId,
    },
    /// Remove the worktree of a task. Where more would be lost than the person was told, nothing is done. A `Notice` tells
    /// what came of it.
    RemoveWorktree {
        /// The task.
        task: TaskId,
        /// What the person was told would be lost.
        told: Losses,
    },
    /// Ask the server which models it has. `ModelsListed`.
    ListModels,
    /// Use another model from the next call on. `CrewReady`.
    UseModel {
        /// Its name.
        name: String,
    },
}

/// What the person wants of the board: what the verbs of `crewdeck task` do, by the same rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum TaskWish {
    /// Take a task: the person works on it, agents leave it alone.
    Claim {
        /// The task.
        task: TaskId,
    },
    /// Put a task back on the board. A teammate whose task it is is stopped, and told by a letter.
    Release {
        /// The task.
        task: TaskId,
        /// Whose it is: where it is somebody else's by now, nothing is done.
        from: Name,
    },
    /// Complete a task that is the person's, or nobody's.
    Complete {
        /// The task.
        task: TaskId,
    },
    /// Write a new task.
    Add {
        /// What it is to be.
        new: NewTask,
    },
    /// Change the words, the tags or the edges of a task.
    Edit {
        /// The task.
        task: TaskId,
        /// What is to be other.
        edit: TaskEdit,
    },
}
