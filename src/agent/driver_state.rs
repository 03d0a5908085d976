//! The state of a driver: the conversation, usage, and what is not yet saved or acknowledged.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::checkpoint_state::{AgentCheckpoints, TurnCheckpoints};
use super::external::calls::ExternalCalls;
use super::model_config::ModelConfig;
use super::published_calls::PublishedCalls;
use super::turn::Turn;
use crate::domain::agent_update::ContextUsage;
use crate::domain::chat::Block;
use crate::domain::ids::{JobId, PromptId};
use crate::domain::mail::MailMessage;
use crate::domain::role::RoleEffort;
use crate::domain::timestamp::Timestamp;
use crate::domain::todo::TodoList;
use crate::domain::usage::{Cost, Usage};
use crate::model::ContextWindow;
use crate::model::effort::EffortReplacement;
use crate::store::{Cursor, QueuedPrompt};

/// An entry of a queue on disk that goes into the next conversation message.
#[derive(Debug)]
pub enum TakenEntry {
    Prompt(QueuedPrompt),
    /// The id of a queue entry that contains a command of the user and the command's output.
    Command(PromptId),
}

impl TakenEntry {
    pub fn id(&self) -> &PromptId {
        match self {
            TakenEntry::Prompt(prompt) => &prompt.id,
            TakenEntry::Command(id) => id,
        }
    }
}

/// Whether the log on disk contains an agent's whole conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogCompleteness {
    /// Nothing is in the log, because the conversation is empty.
    Empty,
    Complete,
    /// A line could not be written, or the log was removed. The log must be rewritten.
    Incomplete,
}

/// The part of a model's answer that has arrived so far.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    /// The text that has arrived after the last complete part of the answer.
    pub partial: String,
    /// The time that the model spent thinking, in milliseconds.
    pub thought_ms: u64,
    /// The number of complete parts of the answer, each of which is already published as an answer. Only the answers of
    /// external agents have parts: a part ends when a tool call follows.
    pub parts: usize,
    /// The tool calls of an external agent.
    pub calls: ExternalCalls,
}

/// The reasoning effort that a model has refused, and what replaces it.
#[derive(Debug)]
pub(super) struct EffortRefusal {
    pub model: String,
    /// The effort that the agent's role or its model sets.
    pub level: RoleEffort,
    /// What is sent instead of `level`: another level, or no effort.
    pub replacement: EffortReplacement,
}

/// The model whose call has failed last.
#[derive(Clone)]
pub(super) enum FailedModel {
    /// The model of the agent.
    Own(ModelConfig),
    /// The model that only summarises the conversation. The value is its name.
    Summary(String),
}

/// What models have refused, and which model has failed. A kind of input that a model has refused is not sent to this
/// model again. For each kind, only the last refusal is stored; `None` if there was none.
#[derive(Default)]
pub(super) struct ModelRefusals {
    pub failed: Option<FailedModel>,
    pub images: Option<String>,
    pub effort: Option<EffortRefusal>,
    /// The name of the model about which the user was notified that it probably cannot read images. It gets the images
    /// nevertheless.
    pub doubtful_images: Option<String>,
}

/// What the driver has published about the agent's model and the model's last answer.
#[derive(Debug, Default)]
pub(super) struct PublishedAnswer {
    /// The model, the effort and the context window that were published last; `None` before the first model call.
    pub model: Option<(String, Option<RoleEffort>, Option<ContextWindow>)>,
    /// The number of text blocks of the answer that are already published as answers of their own.
    pub parts: usize,
    /// The time that the model spent thinking before the answer, in milliseconds.
    pub thought_ms: u64,
    /// The last report of an external agent of how full its context window is; `None` if there was none.
    pub context: Option<ContextUsage>,
}

/// Facts about the current turn.
#[derive(Debug, Default)]
pub(super) struct CurrentTurn {
    /// The time at which the turn started.
    pub began: Timestamp,
    /// The reports of file errors in the turn. The same report is made only once per turn.
    pub troubles: Mutex<BTreeSet<String>>,
}

/// Inbox messages that were taken and are not saved yet.
pub(super) struct PendingDelivery {
    /// The inbox position after them.
    pub(super) upto: Cursor,
    /// What they add to the conversation.
    pub(super) blocks: Vec<Block>,
}

/// The part of a driver that changes: the conversation, usage, and what is not yet saved or acknowledged.
pub struct DriverState {
    /// The conversation and the state of the current turn.
    pub turn: Turn,
    pub usage: Usage,
    /// The total cost of those model calls of this agent so far whose price is known; `None` if there is no such call.
    pub cost: Option<Cost>,
    /// The number of model calls of this agent so far.
    pub calls: u64,
    /// The agent's todo list. The tool `todo` replaces it.
    pub todo: TodoList,
    pub approved_shutdown: Option<MailMessage>,
    pub(super) published: PublishedAnswer,
    pub(super) log_completeness: LogCompleteness,
    /// The inbox messages that go into the next conversation message; `None` if none go into it.
    pub(super) pending_inbox: Option<PendingDelivery>,
    /// The inbox position up to which the agent has received messages that are not yet marked as read in the inbox;
    /// `None` if there are none. Each of them is either a shutdown request or in the conversation, although perhaps not
    /// yet in the log on disk. The position is moved here from `pending_inbox` when the conversation message that
    /// contains them is saved.
    pub(super) unacknowledged_inbox: Option<Cursor>,
    /// The inbox messages that the agent has received but that are not yet marked as read in the inbox.
    pub(super) unacknowledged_messages: Vec<MailMessage>,
    /// The prompts and the user's commands that go into the next conversation message.
    pub(super) prompts: Vec<TakenEntry>,
    /// Prompts and the user's commands that are in the conversation and still in their queue on disk.
    pub(super) unacknowledged_prompts: Vec<PromptId>,
    /// Background jobs whose result goes into the next conversation message.
    pub(super) pending_jobs: Vec<JobId>,
    /// Background jobs whose result is in the conversation, but which the log does not yet mark as reported.
    pub(super) unacknowledged_jobs: Vec<JobId>,
    /// Inbox messages in the conversation that the model has not answered yet.
    pub(super) unanswered: Vec<MailMessage>,
    /// What models have refused, and which model has failed.
    pub(super) refused: ModelRefusals,
    pub(super) announced: PublishedCalls,
    pub(super) checkpoint: TurnCheckpoints,
    pub(super) current: CurrentTurn,
}

impl DriverState {
    pub fn new(turn: Turn) -> DriverState {
        DriverState {
            turn,
            usage: Usage::default(),
            cost: None,
            calls: 0,
            todo: TodoList::default(),
            approved_shutdown: None,
            published: PublishedAnswer::default(),
            log_completeness: LogCompleteness::Empty,
            pending_inbox: None,
            unacknowledged_inbox: None,
            unacknowledged_messages: Vec::new(),
            prompts: Vec::new(),
            unacknowledged_prompts: Vec::new(),
            pending_jobs: Vec::new(),
            unacknowledged_jobs: Vec::new(),
            unanswered: Vec::new(),
            refused: ModelRefusals::default(),
            announced: PublishedCalls::default(),
            checkpoint: TurnCheckpoints::default(),
            current: CurrentTurn::default(),
        }
    }

    /// Returns the state of an agent for which checkpoints are recorded.
    #[must_use]
    pub fn with_checkpoints(mut self, used: Option<AgentCheckpoints>) -> DriverState {
        self.checkpoint.used = used;
        self
    }
}
