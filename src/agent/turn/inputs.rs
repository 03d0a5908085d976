//! What goes into a turn and what comes out of it.

use std::sync::Arc;
use std::time::Duration;

use super::TodoOpen;
use crate::agent::compact::{Keep, Question};
use crate::domain::chat::{Block, Message, Outcome, ToolCall};
use crate::domain::ids::CallId;
use crate::model::{ModelError, Reply};
use crate::protocol::event::{Compaction, Level, TurnEnd};

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The person, a claimed task or the crew speaks. Starts a turn, or waits for its next call.
    Say(Vec<Block>),
    /// Answers [`Effect::CheckMail`]: the letters that came, as text; may be empty.
    Mail(Vec<Block>),
    /// Answers [`Effect::Call`]: the model's whole answer.
    Replied(Reply),
    /// Answers [`Effect::Call`]: the model failed. `jitter` is a random number in 0..1.
    ModelFailed {
        /// How.
        error: ModelError,
        /// Spreads the repeats of many agents.
        jitter: f64,
    },
    /// Answers [`Effect::Wait`]: the time is over.
    RetryDue,
    /// Answers one call of [`Effect::Run`].
    ToolDone {
        /// Which call.
        call: CallId,
        /// Its result.
        content: String,
        /// How it ended.
        outcome: Outcome,
    },
    /// The agent replaced its todo list.
    TodoSet(TodoOpen),
    /// The user wants the conversation summarised: at once when the turn rests, else before the
    /// next call or behind the last answer.
    Compact {
        /// What the summary should give most room to; may be empty.
        focus: String,
    },
    /// The agent itself wants its conversation summarised before the next call.
    OwnCompaction {
        /// What the summary should give most room to; may be empty.
        focus: String,
    },
    /// Answers [`Effect::Archive`]: the whole conversation is safe on disk.
    Archived(Box<Keep>),
    /// Answers [`Effect::Archive`]: it is not, so nothing may be replaced.
    ArchiveFailed {
        /// Why, in one line.
        why: String,
    },
    /// Answers [`Effect::Call`] and [`Effect::Summarise`]: the model was not called, because the agent may
    /// not go on.
    Stop {
        /// Why, in one line.
        why: String,
    },
    /// The person stops the turn. `partial` is what the model had said by then.
    Interrupt {
        /// The words of the answer that broke off.
        partial: String,
    },
}

/// Something is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Look for mail, then give [`Input::Mail`].
    CheckMail,
    /// Write a message to disk. Letters that it holds are acknowledged after that, not before.
    Save(Message),
    /// Call the model with the conversation.
    Call,
    /// Call the model for a summary; give [`Input::Replied`] or [`Input::ModelFailed`].
    Summarise(Question),
    /// Put the whole conversation aside on disk, then give [`Input::Archived`].
    Archive,
    /// The conversation is another than before: write it to disk whole.
    Replace(Arc<Vec<Message>>),
    /// Tell that the conversation was shortened.
    Compacted(Compaction),
    /// Wait, show the countdown, then give [`Input::RetryDue`].
    Wait {
        /// How long.
        wait: Duration,
        /// The number of the next try, counted from 1 for the first repeat.
        attempt: u32,
        /// Most tries of such a call, the first included.
        attempts_max: u32,
        /// Why, in one line.
        cause: String,
    },
    /// Run these calls side by side; give [`Input::ToolDone`] for each.
    Run(Vec<ToolCall>),
    /// Tell the person.
    Notice(Level, String),
    /// The turn is over.
    End(TurnEnd),
}
