//! Asked: which command an answer is to, without the words of it.

use serde::{Deserialize, Serialize};

use super::{Command, EventKind, TaskWish};
use crate::domain::ids::{JobId, Name, RequestId, TaskId};

/// What a command was about: enough for whoever gave it to know it again among the others on their way, and small enough to
/// travel with a refusal. Two that are alike are answered in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Asked {
    /// Words for an agent.
    Prompt {
        /// To whom.
        to: Name,
        /// The text; empty in journals of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// To stop.
    Interrupt {
        /// Who.
        agent: Name,
    },
    /// To summarise a conversation.
    Compact {
        /// Whose.
        agent: Name,
    },
    /// To end a background job.
    KillJob {
        /// Which one.
        job: JobId,
    },
    /// To decide a request, once or with a rule for more than this one.
    Decide {
        /// The request.
        request: RequestId,
    },
    /// To take a rule of the session back.
    TakeBack {
        /// Its number.
        rule: u64,
    },
    /// That a teammate shuts down.
    AskShutdown {
        /// Who.
        member: Name,
    },
    /// To end a teammate at once.
    Force {
        /// Who.
        member: Name,
    },
    /// Where a teammate stands.
    Nudge {
        /// Who.
        member: Name,
    },
    /// To take a task.
    ClaimTask {
        /// The task.
        task: TaskId,
    },
    /// To put a task back on the board.
    ReleaseTask {
        /// The task.
        task: TaskId,
    },
    /// To complete a task.
    CompleteTask {
        /// The task.
        task: TaskId,
    },
    /// To write a new task.
    AddTask,
    /// To change a task.
    EditTask {
        /// The task.
        task: TaskId,
    },
    /// To merge the branch of a task.
    Merge {
        /// The task.
        task: TaskId,
    },
    /// To merge the branches of several tasks.
    MergeAll,
    /// What the branch of a task changes.
    ShowDiff {
        /// The task.
        task: TaskId,
    },
    /// What would be lost with the worktree of a task.
    JudgeWorktree {
        /// The task.
        task: TaskId,
    },
    /// To remove the worktree of a task.
    RemoveWorktree {
        /// The task.
        task: TaskId,
    },
    /// Which models the server has.
    ListModels,
    /// To use another model.
    UseModel,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

impl Command {
    /// What it is about.
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
    /// That command could not be carried out.
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
    fn a_refusal_is_read_from_journals_of_every_version() {
        let told =
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
            let event: Event = serde_json::from_str(&told(asked)).unwrap();
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
