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
