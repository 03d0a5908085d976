//! What drawing keeps between two frames.

use std::collections::BTreeMap;

use crate::domain::ids::Name;
use crate::ui::transcript::TranscriptCache;

/// What drawing keeps between two frames; its loss changes no pixel.
#[derive(Debug, Default)]
pub struct ViewCache {
    transcripts: BTreeMap<Name, TranscriptCache>,
    /// The same of the conversation that is peeked at.
    pub(in crate::ui) peeked: BTreeMap<Name, TranscriptCache>,
}

impl ViewCache {
    /// How many rows of the shown conversation were laid out so far.
    pub fn rows_laid(&self) -> usize {
        self.transcripts
            .values()
            .map(TranscriptCache::rows_laid)
            .sum()
    }

    /// The cache of the conversation that is peeked at.
    pub(in crate::ui) fn peeked(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.peeked.retain(|name, _| name == agent);
        self.peeked.entry(agent.clone()).or_default()
    }

    /// The cache of one conversation. Only the shown one is kept: the others are not drawn.
    pub(in crate::ui) fn transcript(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.transcripts.retain(|name, _| name == agent);
        self.transcripts.entry(agent.clone()).or_default()
    }
}
