//! What the screen knows of the crew, kept from its events: agents, jobs, letters and requests, and how they are told.

pub(super) mod agents;
pub(super) mod jobs;
pub(super) mod letters;
pub(super) mod needs_card;
pub(super) mod plan_pages;
pub(super) mod pulse;
pub(super) mod requests;
pub(super) mod sentence;
pub(super) mod thread;
