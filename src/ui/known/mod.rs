//! View models of the crew, built from its events: agents, jobs, messages and requests, and their text on the screen.

pub(super) mod agents;
pub(super) mod jobs;
pub(super) mod letters;
pub(super) mod needs_card;
pub(super) mod plan_pages;
pub(super) mod pulse;
pub(super) mod requests;
pub(super) mod sentence;
pub(super) mod thread;
