//! Compaction: decides when a conversation is shortened, and builds what replaces it. Pure.
//!
//! When the model's window is nearly full, a *small* compaction (prune) replaces old tool results with placeholders, if
//! that frees enough. Otherwise a *whole* compaction replaces the conversation with a summary by the model, unless the
//! result would not be shorter. `/compact`, the tool `compact`, and a server that refuses the conversation as too long
//! also cause a whole compaction. Before a whole compaction replaces anything, the conversation is copied to an archive
//! file. A small compaction makes no copy; it leaves the log on disk unchanged.
//!
//! Every compaction changes an early part of the request, so the server's prompt cache is lost from there on, once.
//! learn-claude-code compacts before every call and so never has a valid cache. Here a compaction happens as rarely
//! as possible: only when the window is nearly full, and a small one only if it frees at least a quarter of the
//! window.

mod prune;
mod rebuild;
mod summary_prompt;
#[cfg(test)]
mod tests;

use crate::domain::chat::Message;

pub use prune::Prune;
pub use rebuild::{KeptState, rebuild};
pub use summary_prompt::{SummaryForm, SummaryRequest, question};

/// The context window, in tokens, that is assumed if neither the settings, nor the server, nor the model's name
/// determine it.
pub const WINDOW_ASSUMED: u64 = 100_000;
/// Minimum share of the context window, in percent, that replacing old tool results must free. If it would free less,
/// the conversation is summarised instead.
const SMALL_WORTH: u64 = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthLimit {
    /// The model's context window, in tokens.
    pub window: u64,
    /// The share of the context window, in percent, at which the conversation is shortened. A value below 1 counts as
    /// 1, a value above 95 as 95.
    pub compact_at: u64,
}

/// The limits that apply until the agent's first turn sets the agent's own limits.
impl Default for LengthLimit {
    fn default() -> LengthLimit {
        LengthLimit {
            window: WINDOW_ASSUMED,
            compact_at: 80,
        }
    }
}

impl LengthLimit {
    /// Returns the length, in tokens, at which the conversation is shortened.
    pub fn limit(&self) -> u64 {
        share(self.window, self.compact_at.clamp(1, 95))
    }

    /// Returns how many tokens the replacement of old tool results must free. If it would free fewer, the conversation
    /// is summarised instead.
    pub fn prune_min(&self) -> u64 {
        share(self.window, SMALL_WORTH).max(1)
    }
}

fn share(of: u64, percent: u64) -> u64 {
    of.saturating_mul(percent) / 100
}

/// How to shorten the conversation before the next model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionPlan {
    Leave,
    /// Replace old tool results with placeholders.
    Prune(Prune),
    /// Replace the whole conversation with a summary.
    Summarise,
}

/// Returns how to shorten the conversation `messages`, which has `context` tokens. Returns [`CompactionPlan::Leave`] if
/// `context` is below the limit in `budget`. Returns [`CompactionPlan::Prune`] if replacing old tool results frees at
/// least [`LengthLimit::prune_min`] tokens and brings the conversation below the limit, else
/// [`CompactionPlan::Summarise`].
pub fn plan(messages: &[Message], context: u64, budget: &LengthLimit) -> CompactionPlan {
    if context < budget.limit() {
        return CompactionPlan::Leave;
    }
    let small = Prune::of(messages);
    let left = context.saturating_sub(small.frees);
    if small.frees >= budget.prune_min() && left < budget.limit() {
        CompactionPlan::Prune(small)
    } else {
        CompactionPlan::Summarise
    }
}
