//! Identifies the command that a [`EventKind::Refused`] event answers.

use serde::{Deserialize, Serialize};

use super::{Command, EventKind, TaskCommand};
use crate::domain::ids::{JobId, Name, RequestId, TaskId};

/// A short identification of a command, sent with its refusal so that the sender can match the two. Equal commands
/// are answered in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum CommandRef {
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
    pub fn to_ref(&self) -> CommandRef {
        match self {
            Command::Prompt { to, text } => CommandRef::Prompt {
                to: to.clone(),
                text: text.clone(),
            },
            Command::Interrupt { agent } => CommandRef::Interrupt {
                agent: agent.clone(),
            },
            Command::Compact { agent, .. } => CommandRef::Compact {
                agent: agent.clone(),
            },
            Command::KillJob { job } => CommandRef::KillJob { job: job.clone() },
            Command::Decide(decision) => CommandRef::Decide {
                request: decision.id.clone(),
            },
            Command::Allow { request, .. } => CommandRef::Decide {
                request: request.clone(),
            },
            Command::TakeBack { rule } => CommandRef::TakeBack { rule: *rule },
            Command::AskShutdown { member } => CommandRef::AskShutdown {
                member: member.clone(),
            },
            Command::Force { member } => CommandRef::Force {
                member: member.clone(),
            },
            Command::Nudge { member } => CommandRef::Nudge {
                member: member.clone(),
            },
            Command::Task(wish) => wish.asked(),
            Command::Merge { task } => CommandRef::Merge { task: *task },
            Command::MergeAll { .. } => CommandRef::MergeAll,
            Command::ShowDiff { task } => CommandRef::ShowDiff { task: *task },
            Command::JudgeWorktree { task } => CommandRef::JudgeWorktree { task: *task },
            Command::RemoveWorktree { task, .. } => CommandRef::RemoveWorktree { task: *task },
            Command::ListModels => CommandRef::ListModels,
            Command::UseModel { .. } => CommandRef::UseModel,
        }
    }
}

impl TaskCommand {
    fn asked(&self) -> CommandRef {
        match self {
            TaskCommand::Claim { task } => CommandRef::ClaimTask { task: *task },
            TaskCommand::Release { task, .. } => CommandRef::ReleaseTask { task: *task },
            TaskCommand::Complete { task } => CommandRef::CompleteTask { task: *task },
            TaskCommand::Add { .. } => CommandRef::AddTask,
            TaskCommand::Edit { task, .. } => CommandRef::EditTask { task: *task },
        }
    }
}

impl EventKind {
    /// Returns the event for a command that could not be carried out.
    pub fn refused(asked: CommandRef, why: impl Into<String>) -> EventKind {
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
                Some(CommandRef::Prompt {
                    to: Name::lead(),
                    text: String::new(),
                }),
            ),
            (
                r#","asked":{"command":"edit_task","task":4}"#,
                Some(CommandRef::EditTask { task: TaskId(4) }),
            ),
            (
                r#","asked":{"command":"what comes later","of":1}"#,
                Some(CommandRef::Other),
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
