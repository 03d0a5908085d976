//! What the screen knows of the crew, kept from its events: agents, jobs, letters and requests, and how they are told.

pub(super) mod agents;
pub(in crate::ui) mod board;
pub(in crate::ui) mod costs;
pub(in crate::ui) mod event_log;
pub(super) mod jobs;
pub(in crate::ui) mod messages;
pub(super) mod plan_pages;
pub(super) mod pulse;
pub(super) mod requests;
pub(super) mod sentence;
pub(in crate::ui) mod style;

use crate::domain::ids::Name;

/// The models of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Models {
    /// Not asked for.
    #[default]
    Unknown,
    /// Asked for.
    Asked,
    /// There they are.
    Listed(Vec<String>),
}

/// A message that its agent has not taken up yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// To whom.
    pub to: Name,
    /// The words.
    pub text: String,
}

/// Most messages that wait to enter a conversation.
pub const QUEUED_MAX: usize = 50;

/// Most models that are listed.
pub const MODELS_MAX: usize = 1000;
