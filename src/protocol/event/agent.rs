//! What happens in one agent: its turns, answers, tool calls and usage.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Compaction, EventKind, TurnEnd};
use crate::domain::attachment::PromptImage;
use crate::domain::chat::Outcome;
use crate::domain::checkpoint::{
    Checkpoint, CheckpointId, RestoredFiles, RewindPreview, RewindScope,
};
use crate::domain::ids::{CallId, Name};
use crate::domain::role::{RoleColor, RoleEffort};
use crate::domain::subagent::SubagentKind;
use crate::domain::team::Activity;
use crate::domain::todo::TodoList;
use crate::domain::usage::Usage;

/// An event of one agent. The enclosing [`EventKind::Agent`] names the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A prompt of the user entered an agent's conversation. Until then, the prompt waited in the queue. Answers
    /// [`crate::protocol::Command::Prompt`].
    Prompted {
        text: String,
        /// The attached files, directories and resources, one line each: `README.md · 120 lines`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
        /// The images among the attached files. Absent in journals of older versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<PromptImage>,
    },
    /// Text that is not a prompt of the user entered an agent's conversation: messages, a claimed task, a reminder.
    #[serde(rename = "injected")]
    ContextAdded {
        /// A summary of the added text, in one line.
        what: String,
        /// The full text. Empty if `what` is complete, and in journals of older versions.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// An agent began a turn, which lasts until its next `TurnEnded`.
    TurnStarted,
    /// A piece of an answer, as it arrives. May be merged or dropped; [`AgentEvent::AnswerFinished`] has the full text.
    TextDelta { text: String },
    /// A piece of the model's thinking, as it arrives. May be merged or dropped.
    ThinkingDelta { text: String },
    /// The stream of an answer failed, and the model call is repeated. Consumers must discard the deltas of the failed
    /// attempt.
    StreamReset,
    /// An answer is complete. Its tool calls follow as separate events.
    #[serde(rename = "said")]
    AnswerFinished {
        /// The text of the answer; may be empty.
        text: String,
        /// The model's thinking before the answer; may be empty.
        thinking: String,
        /// Duration of the thinking in milliseconds; 0 if unknown.
        #[serde(default)]
        thought_ms: u64,
    },
    /// A tool call begins. Also sent for a call that is then denied.
    ToolStarted {
        call: CallId,
        tool: String,
        /// What the tool works on, such as a path or a command, in one line.
        on: String,
        /// The input of the tool call. An input of more than 16 KiB of JSON is shortened to about this size.
        input: Value,
    },
    /// Output of a running tool, as it arrives. May be merged or dropped.
    ToolOutput { call: CallId, chunk: String },
    /// A tool call has ended, successfully or not.
    ToolFinished {
        call: CallId,
        tool: String,
        outcome: Outcome,
        /// The result as the model reads it, cut to at most 64 KiB.
        output: String,
        /// The unified diff of the changed file; empty if no file was changed.
        diff: String,
        took_ms: u64,
    },
    /// A command that the user runs in the conversation has started. Its output follows as `ToolOutput`.
    UserCommandStarted { call: CallId, command: String },
    UserCommandEnded {
        call: CallId,
        outcome: Outcome,
        /// The output as the agent reads it, cut to its start and its end, about 16,000 bytes in total.
        output: String,
        took_ms: u64,
    },
    /// A turn has ended and the agent is idle.
    TurnEnded {
        #[serde(flatten)]
        end: TurnEnd,
    },
    /// An agent's activity has changed, for example from thinking to running a tool.
    ActivityChanged { activity: Activity },
    /// The token usage of an agent or the size of its conversation has changed.
    UsageChanged {
        /// All tokens that the agent has used so far.
        total: Usage,
        /// Number of tokens in the conversation. All of them must fit into the model's context window.
        context: u64,
        /// Size of the context window in tokens, if known.
        window: Option<u64>,
        /// Whether `window` is only assumed, for example derived from the model's name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        assumed: bool,
        /// Cost of all tokens in US dollars, if the price is known.
        cost: Option<f64>,
        /// Whether a part of the cost is an estimate, from a price of the built-in table instead of the settings.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        estimated: bool,
        /// Number of model calls so far; 0 if not counted.
        #[serde(default)]
        calls: u64,
    },
    /// An agent uses another model or another reasoning effort from now on. Also sent before an agent's first model
    /// call, and before a call for which the size of the context window is newly known.
    ModelChanged {
        /// The model, by the name that its server uses.
        model: String,
        /// The reasoning effort; `None` for the default of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<RoleEffort>,
        /// Size of the model's context window in tokens, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// Whether `window` is only assumed, for example derived from the model's name.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        assumed: bool,
    },
    /// An agent's conversation was shortened, automatically or to answer [`crate::protocol::Command::Compact`].
    Compacted {
        #[serde(flatten)]
        compaction: Compaction,
    },
    /// An agent's conversation was emptied. Answers [`crate::protocol::Command::Clear`].
    Cleared {
        /// The file that contains the old conversation, relative to the project's root.
        transcript: String,
    },
    /// The checkpoints of an agent, newest first. Answers [`crate::protocol::Command::ListCheckpoints`].
    CheckpointsListed {
        checkpoints: Vec<Checkpoint>,
        /// Why no new checkpoints are recorded, as a clause; empty if they are.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        off: String,
    },
    /// What a rewind to a checkpoint would change. Answers [`crate::protocol::Command::ShowCheckpoint`].
    CheckpointShown {
        checkpoint: CheckpointId,
        preview: RewindPreview,
    },
    /// The user restored an agent's files, conversation or both to a checkpoint. Answers
    /// [`crate::protocol::Command::Rewind`].
    Rewound {
        checkpoint: CheckpointId,
        scope: RewindScope,
        /// What happened to the files; empty if `scope` does not include them.
        #[serde(default)]
        files: RestoredFiles,
        /// The file that contains the conversation before the rewind, relative to the project's root; empty if the
        /// conversation is unchanged.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        transcript: String,
        /// The number of messages in the conversation now, if it was restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        messages: Option<u64>,
        /// The events that show the restored conversation in place of all earlier ones. Of a long conversation, only the
        /// end.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown: Vec<AgentEvent>,
        /// The prompt of the user that the rewind removed from the end of the lead's conversation; empty if there is
        /// none. The front end offers it for editing.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prompt: String,
    },
    /// An agent replaced its todo list.
    TodoChanged { list: TodoList },
    /// An agent started a subagent. The events of the subagent carry the subagent's name, and `TurnEnded` with this
    /// name reports that the subagent has ended.
    SubagentStarted {
        parent: Name,
        /// The parent's tool call, which returns the subagent's result.
        call: CallId,
        /// The kind of the subagent, which decides what it may do.
        kind: SubagentKind,
        prompt: String,
        /// The colour of the subagent's role, in which the subagent's name is shown; `None` if the subagent has no
        /// role, or the role sets no colour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        color: Option<RoleColor>,
    },
}

impl AgentEvent {
    /// See [`EventKind::is_delta`].
    pub(super) fn is_delta(&self) -> bool {
        matches!(
            self,
            AgentEvent::TextDelta { .. }
                | AgentEvent::ThinkingDelta { .. }
                | AgentEvent::ToolOutput { .. }
        )
    }

    /// See [`EventKind::is_command_reply`].
    pub(super) fn is_command_reply(&self) -> bool {
        matches!(
            self,
            AgentEvent::CheckpointsListed { .. } | AgentEvent::CheckpointShown { .. }
        )
    }

    /// Returns the event of a prompt without attachments.
    pub fn prompt(text: impl Into<String>) -> AgentEvent {
        AgentEvent::Prompted {
            text: text.into(),
            attachments: Vec::new(),
            images: Vec::new(),
        }
    }

    pub fn of(self, agent: Name) -> EventKind {
        EventKind::Agent { agent, event: self }
    }
}
