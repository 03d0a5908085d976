//! Commands that a front end sends to the crew. They are the only way in which a front end can affect the crew.

use serde::{Deserialize, Serialize};

use crate::domain::checkpoint::{CheckpointId, RewindScope};
use crate::domain::graph::{NewTask, TaskEdit};
use crate::domain::ids::{JobId, Name, RequestId, TaskId};
use crate::domain::mention::Mention;
use crate::domain::permission::PermissionScope;
use crate::domain::request::Decision;
use crate::domain::server_offers::split_prompt;
use crate::domain::worktree::Losses;

/// Identifies a command within the front end that sent it. Every front end counts from 1, so commands of two front ends
/// can have the same id. Readers of a journal therefore skip replies to commands
/// ([`super::EventKind::is_command_reply`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandId(pub u64);

/// Assigns ids to the commands of one front end: 1, 2, 3, …
#[derive(Debug, Default)]
pub struct CommandIds {
    last: u64,
}

impl CommandIds {
    pub fn assign(&mut self, command: Command) -> SentCommand {
        self.last += 1;
        let id = CommandId(self.last);
        SentCommand { id, command }
    }
}

/// A command with its id, as it is sent to the crew.
#[derive(Debug, Clone, PartialEq)]
pub struct SentCommand {
    /// The id that a rejection of this command contains.
    pub id: CommandId,
    pub command: Command,
}

/// A command of the user. The documentation of each variant names the events that answer the command. A command that
/// fails is answered by `CommandRejected` instead, which contains its [`CommandId`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Sends a prompt to an agent. Answered by `Prompted` when the agent reads the prompt: before the next model call
    /// of its turn, or at the start of its next turn. Until then, the prompt is kept on disk, also after an interrupt.
    /// If the agent is a teammate, the prompt is sent as a message from `user`, so `MessageMoved` is published too.
    /// Rejected if the text is blank.
    Prompt {
        to: Name,
        text: String,
        /// The files, directories and resources of MCP servers to attach. If one cannot be attached, the prompt is
        /// rejected; a missing file is left out instead if its mention is not required ([`Mention::is_required`]).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Mention>,
    },
    /// Removes the newest prompt with this text from the lead's queue, so that the user can edit it. Rejected if the
    /// lead has already read the prompt. Also answered by `CommandRejected` if the prompt was removed from the queue
    /// but not from disk. No event reports a success.
    RecallPrompt { text: String },
    /// Runs a shell command of the user in the directory where an agent works. Answered by `UserCommandStarted` and
    /// `UserCommandEnded`. The agent gets the command and its output with its next model call.
    RunShell { agent: Name, command: String },
    /// Interrupts the shell command that the user runs in an agent's conversation. If no shell command is running,
    /// interrupts the agent's current turn and rejects the prompts to the agent for which attachments are still being
    /// read or hooks still run. Partial work is kept. Answered by `UserCommandEnded` or `TurnEnded`.
    Interrupt { agent: Name },
    /// Replaces the conversation of an agent with a summary of it. Answered by `Compacted`.
    Compact {
        agent: Name,
        /// What the summary should focus on; may be empty.
        focus: String,
    },
    /// Empties the conversation of an agent. A running turn is interrupted first. The old conversation stays on disk.
    /// Answered by `Cleared`.
    Clear { agent: Name },
    /// Asks for the checkpoints of an agent. Answered by `CheckpointsListed`.
    ListCheckpoints { agent: Name },
    /// Asks what a rewind of an agent to a checkpoint would change. Answered by `CheckpointShown`.
    ShowCheckpoint {
        agent: Name,
        checkpoint: CheckpointId,
    },
    /// Restores the files of an agent's work directory, the agent's conversation, or both, to a checkpoint. Answered by
    /// `Rewound`. Rejected while the agent works, or while another agent or a background job works in the same
    /// directory.
    Rewind {
        agent: Name,
        checkpoint: CheckpointId,
        scope: RewindScope,
    },
    /// Ends a background job. Answered by `JobChanged`.
    KillJob { job: JobId },
    /// Approves or rejects a request, or answers a question. Answered by `RequestChanged`.
    Decide(Decision),
    /// Approves a permission request, and allows everything in `scope` for the whole team until crewdeck ends. Answered
    /// by `RequestChanged` and `PermissionsChanged`.
    Allow {
        request: RequestId,
        /// One of the scopes that the request offers.
        scope: PermissionScope,
    },
    /// Revokes a session permission, given by its number. Answered by `PermissionsChanged`.
    #[serde(rename = "take_back")]
    RevokePermission { rule: u64 },
    /// Asks a teammate to shut down. No approval is needed, because the user asks. Answered by `RequestChanged`.
    AskShutdown { member: Name },
    /// Ends a teammate immediately, even in the middle of a turn, and releases its task. Answered by `RosterChanged`.
    Force { member: Name },
    /// Asks a teammate for its status. Answered by `MessageMoved`.
    Nudge { member: Name },
    /// Changes the board. Answered by `UserActed` and `BoardChanged`.
    Task(Box<TaskCommand>),
    /// Merges the branch of a completed task. Answered by a `Notice` with the result.
    Merge { task: TaskId },
    /// Merges the branches of the completed tasks `tasks`, in this order, and stops at the first branch that cannot be
    /// merged. Answered by a `Notice` for each merge or conflict. If there are several tasks, a `Notice` with a summary
    /// follows. If a merge cannot be tried, `CommandRejected` says how many branches were merged before.
    MergeAll { tasks: Vec<TaskId> },
    /// Asks for the diff of a task's branch. Answered by `DiffShown`.
    ShowDiff { task: TaskId },
    /// Asks what would be lost if a task's worktree were removed. Answered by `WorktreeInspected`. Rejected if the
    /// worktree is in use or could not be removed even after a confirmation.
    #[serde(rename = "judge_worktree")]
    InspectWorktree { task: TaskId },
    /// Removes the worktree of a task. Rejected if the worktree is in use, or if something would be lost and the losses
    /// are not exactly those that the user has confirmed. Answered by a `Notice` with the result.
    RemoveWorktree {
        task: TaskId,
        /// What the user has agreed to lose.
        #[serde(rename = "told")]
        confirmed: Losses,
    },
    /// Asks for the texts that an agent was given: project memory, role, instructions of MCP servers, output of hooks.
    /// Answered by `MemoryShown`.
    ShowMemory {
        #[serde(default = "Name::lead")]
        agent: Name,
    },
    /// Starts the teammates of a team preset. Answered by `RosterChanged`, and by a `Notice` for each teammate that
    /// cannot start.
    StartTeam { preset: String },
    /// Asks for the names of the models that the user can choose: the named models of the settings, and the models that
    /// the model server offers. Answered by `ModelsListed` once the server has answered. If there are named models, a
    /// first `ModelsListed` with only these is sent before that. Rejected if the server does not answer with a list.
    ListModels,
    /// Acts on an MCP server. Answered by `ServersChanged`; `Show` also by `ServerShown`, `LogIn` by a `Notice` with
    /// the address of the login page and one with the result, `LogOut` by a `Notice` with the result.
    Server { name: String, action: ServerAction },
    /// Asks for the resources and prompts of all connected MCP servers, and of the server `start`, which is started if
    /// necessary. Answered by one `OffersListed` for each server whose offers have changed since they were last
    /// published. If nothing has changed or no MCP server is configured, there is no answer. After this command, an
    /// `OffersListed` is sent whenever the offers of a server change.
    ListOffers {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<String>,
    },
    /// Changes the model, from the next model call on. With `agent`, changes the model of this teammate; answered by
    /// `ModelChanged`. Without `agent`, changes the model of all agents that have no model of their own; answered by
    /// `Ready`.
    UseModel {
        name: String,
        /// The teammate; `None` for the model that all agents without a model of their own share.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<Name>,
    },
}

/// An action of the user on an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerAction {
    /// Asks for the server's state and the end of its log.
    Show,
    /// Ends the server if it runs, then starts it.
    Restart,
    Disable,
    /// Makes a disabled server available again, and starts it.
    Enable,
    LogIn,
    /// Deletes the tokens of the server's login, and ends its connection.
    LogOut,
}

impl Command {
    /// Returns a prompt without attachments.
    pub fn prompt(to: Name, text: impl Into<String>) -> Command {
        Command::Prompt {
            to,
            text: text.into(),
            attachments: Vec::new(),
        }
    }

    /// Returns whether later commands run without waiting for this one. True for commands that can take long: git may
    /// be slow, may run the user's hooks, and merges one branch at a time; the model server may not answer; a shell
    /// command of the user may run for an hour.
    pub fn is_slow(&self) -> bool {
        match self {
            Command::Merge { .. }
            | Command::MergeAll { .. }
            | Command::ShowDiff { .. }
            | Command::InspectWorktree { .. }
            | Command::RemoveWorktree { .. }
            | Command::ListModels
            | Command::ListCheckpoints { .. }
            | Command::ShowCheckpoint { .. }
            | Command::Rewind { .. }
            | Command::RunShell { .. } => true,
            // Completing a task commits the worktree's uncommitted files first.
            Command::Task(change) => matches!(**change, TaskCommand::Complete { .. }),
            _ => false,
        }
    }

    /// Returns whether the command is a prompt that has attachments or may call a prompt of an MCP server. Reading
    /// these can take a second for a large image, and longer for a prompt of a server. Later commands run in the
    /// meantime, except those for which [`Command::agent_of_prompts`] returns the same agent.
    pub fn reads_attachments(&self) -> bool {
        matches!(self, Command::Prompt { attachments, text, .. }
            if !attachments.is_empty() || split_prompt(text).is_some())
    }

    /// Returns the agent whose earlier prompts must be carried out before this command. Returns `None` if the command
    /// does not wait for earlier prompts.
    pub fn agent_of_prompts(&self) -> Option<&Name> {
        match self {
            Command::Prompt { to: agent, .. }
            | Command::Clear { agent }
            | Command::Compact { agent, .. } => Some(agent),
            _ => None,
        }
    }
}

/// A change of the board by the user. The same rules apply as for the subcommands of `crewdeck task`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "wish", rename_all = "snake_case")]
pub enum TaskCommand {
    /// Claims a task for the user, so that no agent works on it.
    Claim { task: TaskId },
    /// Returns a task to the board. If a teammate owns the task, the teammate is stopped and gets a message.
    Release {
        task: TaskId,
        /// The owner of the task when the user gave the command. If the task has another owner by now, nothing changes.
        from: Name,
    },
    /// Completes a task that the user owns or that has no owner.
    Complete { task: TaskId },
    /// Adds a pending task without owner.
    Add { new: NewTask },
    /// Changes the text, the tags or the dependencies of a task.
    Edit {
        task: TaskId,
        /// The changes; fields that are `None` or empty are left as they are.
        edit: TaskEdit,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn attachments_of_a_prompt_are_optional_in_json() {
        let read = |json: &str| serde_json::from_str::<Command>(json).unwrap();
        let plain = r#"{"type":"prompt","to":"lead","text":"hi"}"#;
        assert_eq!(read(plain), Command::prompt(Name::lead(), "hi"));
        assert_eq!(serde_json::to_string(&read(plain)).unwrap(), plain);
        let json = r#"{"type":"prompt","to":"lead","text":"hi","attachments":[{"path":"a.md"}]}"#;
        let Command::Prompt { attachments, .. } = read(json) else {
            panic!("no prompt");
        };
        let path = "a.md".into();
        assert_eq!(
            attachments,
            [Mention {
                path,
                is_required: true
            }]
        );
    }
}
