//! Caches for drawing that later frames use again.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;

use crate::domain::ids::Name;
use crate::ui::pictures::{PictureKey, Pictures};
use crate::ui::transcript::TranscriptCache;

/// The caches that drawing keeps from one frame to the next. They save time only: without them, the frames look the
/// same.
#[derive(Debug, Default)]
pub struct ViewCache {
    transcripts: BTreeMap<Name, TranscriptCache>,
    /// The cache of the previewed conversation, by agent. Holds at most one agent.
    pub(in crate::ui) peeked: BTreeMap<Name, TranscriptCache>,
    /// The pictures that the current frame has placed on the screen, whether or not they are loaded.
    pictures: Vec<PictureKey>,
}

fn draw_placed<'a>(
    caches: impl Iterator<Item = &'a TranscriptCache>,
    shown: &mut Vec<PictureKey>,
    pictures: &Pictures,
    buffer: &mut Buffer,
) {
    for placed in caches.flat_map(TranscriptCache::placed_pictures) {
        placed.draw(pictures, buffer);
        if !shown.contains(&placed.key) {
            shown.push(placed.key.clone());
        }
    }
}

impl ViewCache {
    /// Returns the total number of rows that were laid out so far for the shown conversation.
    pub fn rows_laid(&self) -> usize {
        self.transcripts
            .values()
            .map(TranscriptCache::rows_laid)
            .sum()
    }

    /// Starts a frame: forgets which pictures the last frame has placed on the screen.
    pub(in crate::ui) fn begin_frame(&mut self) {
        let all = self
            .transcripts
            .values_mut()
            .chain(self.peeked.values_mut());
        all.for_each(TranscriptCache::begin_frame);
        self.pictures.clear();
    }

    /// Draws the pictures of the shown conversation.
    pub(in crate::ui) fn draw_pictures(&mut self, pictures: &Pictures, buffer: &mut Buffer) {
        draw_placed(
            self.transcripts.values(),
            &mut self.pictures,
            pictures,
            buffer,
        );
    }

    /// Draws the pictures of the previewed conversation.
    pub(in crate::ui) fn draw_peeked_pictures(&mut self, pictures: &Pictures, buffer: &mut Buffer) {
        draw_placed(self.peeked.values(), &mut self.pictures, pictures, buffer);
    }

    /// Returns the pictures that the last frame has placed on the screen, whether or not they are loaded.
    pub fn pictures(&self) -> &[PictureKey] {
        &self.pictures
    }

    /// Returns the cache of the previewed conversation of `agent`, and drops the cache of another agent's preview.
    pub(in crate::ui) fn preview_cache(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.peeked.retain(|name, _| name == agent);
        self.peeked.entry(agent.clone()).or_default()
    }

    /// Returns the cache of the shown conversation of `agent`, and drops the caches of other conversations.
    pub(in crate::ui) fn transcript(&mut self, agent: &Name) -> &mut TranscriptCache {
        self.transcripts.retain(|name, _| name == agent);
        self.transcripts.entry(agent.clone()).or_default()
    }
}
