//! The history of sent messages, and the message that is recalled from it.

use std::collections::VecDeque;

use super::Composer;
use crate::ui::keymap::direction::VerticalDirection;

/// Maximum number of messages in the history. Beyond it, the oldest is dropped.
pub const HISTORY_MAX: usize = 200;

impl Composer {
    /// Returns whether the draft is a message that was recalled from the history. The user may have edited it since.
    pub fn is_recalled(&self) -> bool {
        self.recalled.is_some()
    }

    /// Moves the cursor one row up; on the first row, recalls the previous message. If there is no previous message,
    /// changes nothing and returns `false`. `width` is the width of the text area in columns.
    pub fn cursor_up_or_recall(&mut self, width: u16) -> bool {
        if self.move_row(VerticalDirection::Up, width) {
            return true;
        }
        let (at, draft) = match self.recalled.take() {
            None => (0, self.text()),
            Some((at, draft)) => (at + 1, draft),
        };
        let Some(text) = self.history.iter().rev().nth(at).cloned() else {
            if at > 0 {
                self.recalled = Some((at - 1, draft));
            }
            return false;
        };
        self.set(&text);
        self.recalled = Some((at, draft));
        true
    }

    /// Replaces the draft by the message `text` of the history. Going to newer messages brings the draft back. Returns
    /// `false` if the history does not contain `text`.
    pub fn recall(&mut self, text: &str) -> bool {
        let Some(at) = self.history().position(|known| known == text) else {
            return false;
        };
        let draft = match self.recalled.take() {
            None => self.text(),
            Some((_, draft)) => draft,
        };
        self.set(text);
        self.recalled = Some((at, draft));
        true
    }

    /// Iterates over the messages in the history, newest first.
    pub fn history(&self) -> impl Iterator<Item = &String> {
        self.history.iter().rev()
    }

    /// Adds the messages of earlier sessions, oldest first, before the messages of this session. Skips messages that
    /// were also sent in this session. Drops the oldest messages beyond [`HISTORY_MAX`].
    pub fn add_older(&mut self, saved: Vec<String>) {
        let room = HISTORY_MAX.saturating_sub(self.history.len());
        let known = std::mem::take(&mut self.history);
        let older = saved.into_iter().filter(|text| !known.contains(text));
        let mut older: VecDeque<String> = older.collect();
        older.drain(..older.len().saturating_sub(room));
        older.extend(known);
        self.history = older;
    }

    /// Moves the cursor one row down; on the last row, recalls the next message and finally the draft, or does nothing
    /// if no message was recalled. `width` is the width of the text area in columns.
    pub fn cursor_down_or_recall(&mut self, width: u16) {
        if self.move_row(VerticalDirection::Down, width) {
            return;
        }
        match self.recalled.take() {
            None => {}
            Some((0, draft)) => self.set(&draft),
            Some((at, draft)) => {
                let text = self.history.iter().rev().nth(at - 1).cloned();
                self.set(&text.unwrap_or_default());
                self.recalled = Some((at - 1, draft));
            }
        }
    }

    /// Moves the history, the deleted texts and the texts of earlier pastes of `other` into this composer, in place of
    /// its own.
    pub fn take_history(&mut self, other: &mut Composer) {
        self.history = std::mem::take(&mut other.history);
        self.kills = std::mem::take(&mut other.kills);
        self.take_earlier(other);
    }

    /// Adds a text to the history, unless it is blank or equal to the newest entry.
    pub fn add_to_history(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.back().is_some_and(|last| last == text) {
            return;
        }
        self.history.push_back(text.to_string());
        while self.history.len() > HISTORY_MAX {
            self.history.pop_front();
        }
    }
}
