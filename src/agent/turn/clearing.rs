//! Empties the conversation when the user asks for it.

use std::sync::Arc;

use super::progress::LoopDetector;
use super::{Turn, TurnEffect, UNANSWERED};
use crate::domain::chat::{Block, Message};
use crate::protocol::event::{NoticeLevel, TurnEnd};

impl Turn {
    /// If no turn is running, returns the effect that empties the conversation, or a notice if the conversation is
    /// already empty. If a turn is running, only records the request and returns no effect. The caller must then
    /// interrupt the turn; the step that processes the interrupt returns the effect.
    pub(super) fn request_clear(&mut self) -> Vec<TurnEffect> {
        if !self.is_idle() {
            self.is_clear_requested = true;
            return vec![];
        }
        let effect = if self.messages.is_empty() {
            TurnEffect::Notice(NoticeLevel::Info, "There is nothing to clear yet.".into())
        } else {
            TurnEffect::Clear
        };
        vec![effect, TurnEffect::End(TurnEnd::Done)]
    }

    /// Removes `blocks` from the last message of the conversation, which is removed if it has no other block.
    pub fn withdraw(&mut self, blocks: &[Block]) {
        let messages = Arc::make_mut(&mut self.messages);
        if let Some(last) = messages.last_mut() {
            last.blocks.retain(|block| !blocks.contains(block));
            if last.blocks.is_empty() {
                messages.pop();
            }
        }
    }

    /// Empties the conversation. If `identity` is not empty, it precedes the next message. Texts that wait for the next
    /// turn are kept, except the note that the user interrupted the turn before an answer. Called between turns.
    pub fn clear(&mut self, identity: &str) {
        self.messages = Arc::default();
        self.clearings += 1;
        self.has_open_todos = false;
        self.since_todo = 0;
        self.progress = LoopDetector::default();
        self.length.reset_counts();
        self.requested_compaction = None;
        let is_unanswered =
            |block: &Block| matches!(block, Block::Text { text } if text == UNANSWERED);
        self.pending_texts.retain(|block| !is_unanswered(block));
        if !identity.is_empty() {
            let text = format!("<identity>{identity}</identity>");
            self.pending_texts.insert(0, Block::text(text));
        }
    }

    /// Replaces the conversation by `messages`, an earlier part of it. They must pass [`crate::domain::chat::validate`].
    /// If there are none, does the same as [`Turn::clear`]. Called between turns.
    pub fn rewind(&mut self, messages: Vec<Message>, identity: &str) {
        self.clear(if messages.is_empty() { identity } else { "" });
        self.messages = Arc::new(messages);
    }
}
