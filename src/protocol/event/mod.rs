//! Events: what happened in the crew. The dashboard, the headless front end and the journal get all their data from
//! events.

mod agent;
mod agent_field;
mod board;
mod crew;
#[cfg(test)]
mod golden_tests;
mod json;
mod team;

use serde::{Deserialize, Serialize};

pub use self::agent::AgentEvent;
pub use self::board::BoardEvent;
pub use self::crew::CrewEvent;
pub use self::team::TeamEvent;
pub use super::session_info::SessionInfo;
use crate::domain::ids::Name;
pub use crate::domain::mail::DeliveryState;
use crate::domain::timestamp::Timestamp;
use crate::protocol::CommandId;

/// A numbered event with its time. One event is one line of `crewdeck run --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Increases by one with each event; 1 for the first event of a crew. A gap means that a delta was merged or
    /// dropped.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model has answered. Also the end of a turn that had nothing to answer, or that only shortened or emptied the
    /// conversation.
    Done,
    /// The user interrupted the turn.
    Interrupted,
    /// The model call failed.
    Failed {
        /// The error message, in one line.
        error: String,
        /// What the user can do about it; may be empty.
        hint: String,
    },
    /// crewdeck ended the turn: it had too many model calls or was in a loop, an answer reached the token limit, the
    /// model refused to answer, a budget or a hook prevented the next model call, or the host of the agent has lost the hub.
    Stopped {
        /// The reason, in one line.
        why: String,
    },
}

/// The result of shortening a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    #[serde(flatten)]
    pub how: CompactionMethod,
    /// Size of the conversation before the compaction, in tokens: counted by the server, or estimated.
    pub before: u64,
    /// Estimated size of the conversation after the compaction, in tokens.
    pub after: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CompactionMethod {
    /// Old tool results were replaced by placeholders.
    Results {
        /// How many results this compaction has replaced.
        count: usize,
    },
    /// The whole conversation was replaced by a summary.
    Summary {
        /// The file that contains the full conversation, relative to the project's root.
        transcript: String,
    },
}

/// Maximum number of branches in one [`BoardEvent::BranchesChanged`].
pub const BRANCHES_MAX: usize = 200;

/// A change that the user made to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum UserAction {
    Claimed,
    /// The user returned the task to the board.
    Released {
        /// The previous owner.
        from: Name,
    },
    Completed,
    Added,
    /// The user changed the text, the tags or the dependencies of the task.
    Edited,
}

/// The severity of a notice. In comparisons, a more severe level is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// The user need not do anything.
    Info,
    /// A problem that does not stop the work.
    Warn,
    /// A failure: something does not work or was lost.
    Error,
}

/// The content of an event. Events are grouped by what they concern, so that code can match only the groups that it
/// needs.
///
/// The JSON form is flat and does not name the group. The field `type` names the event; in events of an agent, the
/// field `agent` follows it.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // the largest variant is as large as a `Request`; the bus passes events by value
pub enum EventKind {
    /// An event of one agent or subagent.
    Agent { agent: Name, event: AgentEvent },
    /// An event about tasks, worktrees or branches.
    Board(BoardEvent),
    /// An event about the roster, messages, requests or permissions.
    Team(TeamEvent),
    /// An event that concerns the crew as a whole.
    Crew(CrewEvent),
}

impl EventKind {
    /// Returns whether the event is a delta: a piece of output as it arrives, or a number of calls. Deltas may be
    /// merged or dropped under load, because a later event has the full data.
    pub fn is_delta(&self) -> bool {
        match self {
            EventKind::Agent { event, .. } => event.is_delta(),
            EventKind::Crew(event) => event.is_delta(),
            EventKind::Board(_) | EventKind::Team(_) => false,
        }
    }

    /// Returns whether the event answers a command and matters only to the front end that sent the command. Other front
    /// ends, and readers of the journal, can ignore such an event.
    pub fn is_command_reply(&self) -> bool {
        match self {
            EventKind::Board(event) => event.is_command_reply(),
            EventKind::Crew(event) => event.is_command_reply(),
            EventKind::Agent { event, .. } => event.is_command_reply(),
            EventKind::Team(_) => false,
        }
    }

    /// Returns a notice that concerns no particular agent.
    pub fn notice(level: NoticeLevel, text: impl Into<String>) -> EventKind {
        EventKind::Crew(CrewEvent::Notice {
            level,
            agent: None,
            text: text.into(),
        })
    }

    pub fn rejection(command: CommandId, why: impl Into<String>) -> EventKind {
        EventKind::Crew(CrewEvent::CommandRejected {
            command: Some(command),
            why: why.into(),
        })
    }
}
