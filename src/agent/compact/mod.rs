//! Compaction as pure plans: when a conversation is shortened, what goes, and what stands in its place.
//!
//! Three layers (s06). *Small*: old tool results give way to a placeholder, in steps that free enough to be
//! worth the prompt cache that is lost with them. *Whole*: near the end of the window the model writes a
//! summary, and the conversation begins anew with it. *On demand*: the same, asked for by `/compact` or the
//! tool. The whole conversation is on disk before anything is replaced.

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
/// The share of the window, in percent, at which the whole conversation is summarised by default.
pub const WHOLE_AT: u64 = 80;
/// The share of that limit, in percent, from which old tool results may go.
const SMALL_AT: u64 = 60;
/// The share of the window, in percent, that a small compaction must free: it costs the prompt cache.
const SMALL_WORTH: u64 = 10;

/// How much a conversation may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// What the model can hold, in tokens.
    pub window: u64,
    /// The share of it, in percent (1 to 95), at which the whole conversation is summarised.
    pub whole_at: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget {
            window: WINDOW_ASSUMED,
            whole_at: WHOLE_AT,
        }
    }
}

impl Budget {
    /// The tokens at which the whole conversation is summarised.
    pub fn whole(&self) -> u64 {
        share(self.window, self.whole_at.clamp(1, 95))
    }

    /// The tokens from which old tool results may go.
    pub fn small(&self) -> u64 {
        share(self.whole(), SMALL_AT)
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
    if context < budget.small() {
        return Plan::Leave;
    }
    let small = Small::of(messages);
    let left = context.saturating_sub(small.frees);
    if small.frees >= budget.worth() && left < budget.whole() {
        Plan::Small(small)
    } else if context >= budget.whole() {
        Plan::Whole
    } else {
        Plan::Leave
    }
}
