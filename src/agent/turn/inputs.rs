//! The inputs and effects of a turn.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::compact::{KeptState, SummaryRequest};
use crate::domain::chat::{Block, Message, Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::model::{ModelError, Reply};
use crate::protocol::event::{Compaction, NoticeLevel, TurnEnd};

#[derive(Debug, Clone, PartialEq)]
pub enum TurnInput {
    /// Text from the user, a claimed task or the crew. Starts a turn, or is added before the next model call of the
    /// running turn.
    Say(Vec<Block>),
    /// Answers [`TurnEffect::CheckMail`]: everything that waits for the agent, as blocks of a conversation message; may
    /// be empty.
    Mail(Vec<Block>),
    /// Answers [`TurnEffect::Call`] and [`TurnEffect::Summarise`]: the model's whole answer.
    Replied(Reply),
    /// Answers [`TurnEffect::Call`] and [`TurnEffect::Summarise`]: the call failed.
    ModelFailed {
        error: ModelError,
        /// A random number from 0 to 1. It varies the wait before a retry, so that agents do not retry at the same
        /// time.
        jitter: f64,
        fallback: FallbackState,
    },
    /// Answers [`TurnEffect::Call`]: the model was not called yet, because it must first get this advice of the user.
    Advice(Vec<Block>),
    /// Answers [`TurnEffect::Wait`]: the wait is over.
    RetryDue,
    /// Answers [`TurnEffect::Run`] with the result of one of its calls.
    ToolDone {
        call: CallId,
        content: String,
        outcome: Outcome,
    },
    /// The images in the result of a tool call. They go into the same message as the results.
    ResultImages(Vec<Block>),
    /// The agent replaced its todo list. The value says whether the list has open items.
    TodoSet(bool),
    /// The user requests a summary. Between turns, the summary is made immediately. During a turn, it is made before
    /// the next model call, or after the last answer if no call follows.
    Compact {
        /// What the summary should cover in most detail; may be empty.
        focus: String,
    },
    /// The user empties the conversation. If no turn is running, the conversation is emptied immediately. A running
    /// turn is ended first by the [`TurnInput::Interrupt`] that follows this input.
    Clear,
    /// The agent requests a summary, to be made before the next model call.
    OwnCompaction {
        /// What the summary should cover in most detail; may be empty.
        focus: String,
    },
    /// Answers [`TurnEffect::Summarise`]: a hook prevents the compaction.
    CompactionRefused {
        /// Why the hook prevents the compaction.
        why: String,
    },
    /// Answers [`TurnEffect::Archive`]: the whole conversation is on disk.
    Archived(Box<KeptState>),
    /// Answers [`TurnEffect::Archive`]: the conversation could not be saved, so the summary must not replace it.
    ArchiveFailed {
        /// Why the conversation could not be saved, in one line.
        why: String,
    },
    /// Answers [`TurnEffect::Call`] and [`TurnEffect::Summarise`]: the model was not called, because a budget is used
    /// up or a hook stops the agent.
    Stop {
        /// Why the model must not be called, in one line.
        why: String,
    },
    /// The agent may no longer act for its crew. The value says why, in one line. The [`TurnInput::Interrupt`] that follows
    /// this input ends the turn.
    Abandon(&'static str),
    /// The turn was interrupted, for example by the user, or because its task was taken from the agent.
    Interrupt {
        /// The part of the model's answer that has arrived; empty if nothing has arrived or no model call was running.
        partial: String,
    },
}

impl TurnInput {
    /// Returns an interrupt while no answer arrives.
    pub fn interrupt() -> TurnInput {
        TurnInput::Interrupt {
            partial: String::new(),
        }
    }

    pub fn is_interrupt(&self) -> bool {
        matches!(self, TurnInput::Interrupt { .. })
    }
}

/// Whether another model can replace a model whose call has failed and is not retried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FallbackState {
    /// The failed model has no fallback.
    None,
    Usable,
    /// The fallback cannot be used either. The value says why, in one line.
    Unusable(String),
}

/// What [`super::Turn::step`] asks the driver to do. If an effect is interrupted, the driver answers with
/// [`TurnInput::Interrupt`] instead of the answers that are missing.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEffect {
    /// Read the inbox and everything else that waits for the agent. The driver answers with [`TurnInput::Mail`].
    CheckMail,
    /// Write a conversation message to disk, and only then acknowledge the inbox messages in it.
    Save(Message),
    /// Call the model with the conversation. The driver answers with [`TurnInput::Replied`],
    /// [`TurnInput::ModelFailed`], [`TurnInput::Advice`] or [`TurnInput::Stop`].
    Call,
    /// Request a summary from the model. The driver answers as for [`TurnEffect::Call`], or with
    /// [`TurnInput::CompactionRefused`].
    Summarise(SummaryRequest),
    /// Save the whole conversation in a separate file. The driver answers with [`TurnInput::Archived`] or
    /// [`TurnInput::ArchiveFailed`].
    Archive,
    /// Rewrite the log with these messages, which have replaced the conversation.
    Replace(Arc<Vec<Message>>),
    /// Archive the log after the end of the turn and then empty the conversation with [`super::Turn::clear`].
    Clear,
    /// Publish that the conversation was shortened.
    Compacted(Compaction),
    /// Wait before a retry, and show a countdown. The driver answers with [`TurnInput::RetryDue`].
    Wait {
        wait: Duration,
        /// The number of the retry, counted from 1.
        attempt: u32,
        /// Maximum number of tries of the call, including the first.
        attempts_max: u32,
        /// Why the last try failed, in one line.
        cause: String,
    },
    /// Replace the model whose call has failed and is not retried.
    UseFallback {
        /// Why the model failed, in one line.
        why: String,
    },
    /// Run these calls in parallel. The driver answers with one [`TurnInput::ToolDone`] for each.
    Run(Vec<ToolCall>),
    Notice(NoticeLevel, String),
    End(TurnEnd),
}
