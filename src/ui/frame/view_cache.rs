//! Caches that drawing keeps from one frame to the next.

use std::collections::BTreeMap;

use crate::domain::ids::Name;
use crate::ui::transcript::TranscriptCache;

/// What drawing keeps from one frame to the next. Dropping it changes no output.
#[derive(Debug, Default)]
pub struct ViewCache {
    transcripts: BTreeMap<Name, TranscriptCache>,
    /// The layout of the previewed conversation, by agent. Holds at most one agent.
    pub(in crate::ui) peeked: BTreeMap<Name, TranscriptCache>,
}

impl ViewCache {
    /// Returns the total number of rows that were laid out so far for the shown conversation.
    pub fn rows_laid(&self) -> usize {
        self.transcripts
            .values()
            .map(TranscriptCache::rows_laid)
            .sum()
    }

    /// Returns the cache of the previewed conversation of `agent`, and drops the cache of another agent's preview.
    pub(in crate::ui) fn peeked(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.peeked.retain(|name, _| name == agent);
        self.peeked.entry(agent.clone()).or_default()
    }

    /// Returns the cache of the shown conversation of `agent`, and drops the caches of other conversations.
    pub(in crate::ui) fn transcript(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.transcripts.retain(|name, _| name == agent);
        self.transcripts.entry(agent.clone()).or_default()
    }
}
