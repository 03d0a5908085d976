//! Identifies the command that a [`EventKind::Refused`] event answers.

use serde::{Deserialize, Serialize};

use super::{Command, EventKind, TaskWish};
use crate::domain::ids::{JobId, Name, RequestId, TaskId};

/// A short identification of a command, sent with its refusal so that the sender can match the two. Equal commands
/// are answered in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Asked {
    /// Send a prompt to an agent.
    Prompt {
        to: Name,
        /// Empty in journals of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// Interrupt an agent.
    Interrupt { agent: Name },
    /// Summarise a conversation.
    Compact { agent: Name },
    /// End a background job.
    KillJob { job: JobId },
    /// Decide a request, once or together with a session permission.
    Decide { request: RequestId },
    /// Revoke a session permission.
    TakeBack {
        /// The number of the session permission.
        rule: u64,
    },
    /// Ask a teammate to shut down.
    AskShutdown { member: Name },
    /// End a teammate at once.
    Force { member: Name },
    /// Ask a teammate for its status.
    Nudge { member: Name },
    /// Claim a task.
    ClaimTask { task: TaskId },
    /// Return a task to the board.
    ReleaseTask { task: TaskId },
    /// Complete a task.
    CompleteTask { task: TaskId },
    /// Add a task.
    AddTask,
    /// Change a task.
    EditTask { task: TaskId },
    /// Merge the branch of a task.
    Merge { task: TaskId },
    /// Merge the branches of several tasks.
    MergeAll,
    /// Show the diff of a task's branch.
    ShowDiff { task: TaskId },
    /// Show what would be lost if a task's worktree were removed.
    JudgeWorktree { task: TaskId },
    /// Remove the worktree of a task.
    RemoveWorktree { task: TaskId },
    /// List the models of the server.
    ListModels,
    /// Switch to another model.
    UseModel,
    /// A command that this version does not know.
    #[serde(other)]
    Other,
}

impl Command {
    /// Returns the identification of this command.
    pub fn asked(&self) -> Asked {
        match self {
            Command::Prompt { to, text } => Asked::Prompt {
                to: to.clone(),
                text: text.clone(),
            },
            Command::Interrupt { agent } => Asked::Interrupt {
                agent: agent.clone(),
            },
            Command::Compact { agent, .. } => Asked::Compact {
                agent: agent.clone(),
            },
            Command::KillJob { job } => Asked::KillJob { job: job.clone() },
            Command::Decide(decision) => Asked::Decide {
                request: decision.id.clone(),
            },
            Command::Allow { request, .. } => Asked::Decide {
                request: request.clone(),
            },
            Command::TakeBack { rule } => Asked::TakeBack { rule: *rule },
            Command::AskShutdown { member } => Asked::AskShutdown {
                member: member.clone(),
            },
            Command::Force { member } => Asked::Force {
                member: member.clone(),
            },
            Command::Nudge { member } => Asked::Nudge {
                member: member.clone(),
            },
            Command::Task(wish) => wish.asked(),
            Command::Merge { task } => Asked::Merge { task: *task },
            Command::MergeAll { .. } => Asked::MergeAll,
            Command::ShowDiff { task } => Asked::ShowDiff { task: *task },
            Command::JudgeWorktree { task } => Asked::JudgeWorktree { task: *task },
            Command::RemoveWorktree { task, .. } => Asked::RemoveWorktree { task: *task },
            Command::ListModels => Asked::ListModels,
            Command::UseModel { .. } => Asked::UseModel,
        }
    }
}

impl TaskWish {
    fn asked(&self) -> Asked {
        match self {
            TaskWish::Claim { task } => Asked::ClaimTask { task: *task },
            TaskWish::Release { task, .. } => Asked::ReleaseTask { task: *task },
            TaskWish::Complete { task } => Asked::CompleteTask { task: *task },
            TaskWish::Add { .. } => Asked::AddTask,
            TaskWish::Edit { task, .. } => Asked::EditTask { task: *task },
        }
    }
}

impl EventKind {
    /// Returns the event for a command that could not be carried out.
    pub fn refused(asked: Asked, why: impl Into<String>) -> EventKind {
        EventKind::Refused {
            asked: Some(asked),
            why: why.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::protocol::Event;

    #[test]
    fn refusals_in_journals_of_all_versions_are_read() {
        let line =
            |asked: &str| format!(r#"{{"seq":1,"at":2.0,"type":"refused"{asked},"why":"no"}}"#);
        for (asked, expected) in [
            ("", None),
            (r#","asked":null"#, None),
            (
                r#","asked":{"command":"prompt","to":"lead"}"#,
                Some(Asked::Prompt {
                    to: Name::lead(),
                    text: String::new(),
                }),
            ),
            (
                r#","asked":{"command":"edit_task","task":4}"#,
                Some(Asked::EditTask { task: TaskId(4) }),
            ),
            (
                r#","asked":{"command":"what comes later","of":1}"#,
                Some(Asked::Other),
            ),
        ] {
            let event: Event = serde_json::from_str(&line(asked)).unwrap();
            let why = "no".to_string();
            let kind = EventKind::Refused {
                asked: expected,
                why,
            };
            assert_eq!(event.kind, kind, "{asked}");
            let written = serde_json::to_string(&event).unwrap();
            assert_eq!(serde_json::from_str::<Event>(&written).unwrap(), event);
        }
    }
}
