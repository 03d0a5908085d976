//! What an agent needs to record checkpoints, and the order to rewind it to one.

use tokio::sync::oneshot;

use crate::domain::checkpoint::{
    Checkpoint, CheckpointLimits, ConversationPlace, PathList, RewindScope,
};
use crate::domain::ids::Name;
use crate::store::Checkpoints;

/// The checkpoints of a crew, as its agents use them.
#[derive(Clone)]
pub struct AgentCheckpoints {
    pub store: Checkpoints,
    pub session: String,
    pub limits: CheckpointLimits,
}

/// What the next checkpoint needs to know about the agent and its current turn.
#[derive(Default)]
pub struct TurnCheckpoints {
    /// The checkpoints of the crew; `None` if none are recorded.
    pub used: Option<AgentCheckpoints>,
    /// The place in the conversation before the turn; `None` if the conversation was empty.
    pub before: Option<ConversationPlace>,
    /// The text with which the turn began; empty if it is not known yet.
    pub label: String,
    /// The number of messages at the last checkpoint of the turn; `None` if there is none yet.
    pub recorded_at: Option<usize>,
    /// Whether no more checkpoints are recorded in this turn, because one could not be recorded.
    pub has_failed: bool,
    /// The last error that was reported to the user; empty if there was none.
    pub reported: String,
}

/// An order of the user to rewind an agent.
#[derive(Debug)]
pub struct RewindOrder {
    pub checkpoint: Checkpoint,
    pub scope: RewindScope,
    /// Receives the files that were changed, or why the agent was not rewound.
    pub reply: oneshot::Sender<Result<PathList, String>>,
}

impl RewindOrder {
    /// Refuses the order because the agent is in a turn.
    pub fn refuse(self) {
        // The sender of the order may have gone.
        let _ = self.reply.send(Err(busy(&self.checkpoint.content.agent)));
    }
}

/// Returns why an agent in a turn cannot be rewound.
pub fn busy(agent: &Name) -> String {
    format!("{agent} is working: interrupt it, or wait until it is idle, then rewind.")
}
