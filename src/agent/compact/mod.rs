//! Compaction as pure plans: when a conversation is shortened, what goes, and what stands in its place.
//!
//! Three layers (s06). Near the end of the window, *small*: old tool results give way to placeholders, if
//! that frees a good part of it; else *whole*: the model writes a summary, and the conversation begins anew
//! with it. *On demand*: the same, asked for by `/compact` or the tool. The whole conversation is on disk
//! before anything is replaced.
//!
//! Every compaction changes what stands in front, so the server reads all of it afresh once: what it had
//! cached is lost. The reference shortens before every call and loses it every time. Here it is done as late
//! and as seldom as it can be: only when the window is nearly full, and never to free less than
//! `SMALL_WORTH` percent of it.

mod ask;
mod fresh;
mod small;
#[cfg(test)]
mod tests;

use crate::domain::chat::Message;

pub use ask::{Form, Question, question};
pub use fresh::{Keep, fresh};
pub use small::Small;

/// The window that is assumed where neither the settings nor the model's name tell it, in tokens.
pub const WINDOW_ASSUMED: u64 = 100_000;
/// The share of the window, in percent, at which a conversation is shortened where the settings say nothing.
pub const COMPACT_AT: u64 = 80;
/// The share of the window, in percent, that a small compaction must free.
const SMALL_WORTH: u64 = 25;

/// How much a conversation may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// What the model can hold, in tokens.
    pub window: u64,
    /// The share of it, in percent (1 to 95), at which the conversation is shortened.
    pub compact_at: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            window: WINDOW_ASSUMED,
            compact_at: COMPACT_AT,
        }
    }
}

impl Budget {
    /// The tokens at which the conversation is shortened.
    pub fn limit(&self) -> u64 {
        share(self.window, self.compact_at.clamp(1, 95))
    }

    /// The tokens that a small compaction must free.
    pub fn worth(&self) -> u64 {
        share(self.window, SMALL_WORTH).max(1)
    }
}

fn share(of: u64, percent: u64) -> u64 {
    of.saturating_mul(percent) / 100
}

/// What is to be done before the next call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing.
    Leave,
    /// Old tool results go.
    Small(Small),
    /// The whole conversation is summarised.
    Whole,
}

/// Plans the next step for a conversation that takes `context` tokens.
pub fn plan(messages: &[Message], context: u64, budget: &Budget) -> Plan {
    if context < budget.limit() {
        return Plan::Leave;
    }
    let small = Small::of(messages);
    let left = context.saturating_sub(small.frees);
    if small.frees >= budget.worth() && left < budget.limit() {
        Plan::Small(small)
    } else {
        Plan::Whole
    }
}
