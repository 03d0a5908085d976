//! Where the person writes: several lines, older messages at hand, a paste of any size bounded.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent};
use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::text::{harmless, is_hidden};

/// Longest text, in bytes. More is cut, with a notice.
pub const COMPOSER_MAX: usize = 256 * 1024;

/// Most older messages at hand.
pub const HISTORY_MAX: usize = 200;

/// Most rows that the composer grows to.
pub const ROWS_MAX: u16 = 8;

/// What came of a paste.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pasted {
    /// It is there, whole.
    Whole,
    /// It was cut: so many bytes of so many are there.
    Cut {
        /// Bytes that are there.
        kept: usize,
        /// Bytes that were pasted.
        of: usize,
    },
}

/// A text field of many lines with a history.
#[derive(Debug, Default)]
pub struct Composer {
    area: TextArea<'static>,
    bytes: usize,
    history: VecDeque<String>,
    /// Where in the history the text comes from, counted from the newest, and what was written before.
    recalled: Option<(usize, String)>,
}

/// What of the text is in view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The rows, each at most as wide as asked for.
    pub rows: Vec<String>,
    /// Row and column of the cursor in them.
    pub cursor: (u16, u16),
}

impl Composer {
    /// What is written.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether an older message was brought back.
    pub fn is_recalled(&self) -> bool {
        self.recalled.is_some()
    }

    /// What is written, where it is one word and nothing else.
    pub fn only_word(&self) -> Option<&str> {
        match self.area.lines() {
            [line] if !line.is_empty() && !line.contains(char::is_whitespace) => Some(line),
            _ => None,
        }
    }

    /// Takes a key in that has no other meaning.
    pub fn key(&mut self, key: KeyEvent) {
        if self.bytes >= COMPOSER_MAX && matches!(key.code, KeyCode::Char(_)) {
            return;
        }
        match key.code {
            // A terminal that does not mark pastes sends what is in them as keys.
            KeyCode::Char(c) if is_hidden(c) && !joins(c) => {
                self.paste(&c.to_string());
            }
            _ => {
                self.area.input(key);
                self.recount();
            }
        }
    }

    /// Inserts pasted text at the cursor: line ends become newlines, control characters harmless.
    pub fn paste(&mut self, text: &str) -> Pasted {
        // The cut comes first, so that a paste of any size costs no more than what is kept.
        let room = COMPOSER_MAX.saturating_sub(self.bytes);
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut clean = harmless(&text[..end].replace("\r\n", "\n").replace('\r', "\n"));
        let whole = clean.len();
        let mut kept = whole.min(room);
        while !clean.is_char_boundary(kept) {
            kept -= 1;
        }
        clean.truncate(kept);
        if !clean.is_empty() {
            self.area.insert_str(&clean);
            self.recount();
        }
        if end < text.len() || kept < whole {
            Pasted::Cut {
                kept,
                of: text.len(),
            }
        } else {
            Pasted::Whole
        }
    }

    /// Begins a new line.
    pub fn newline(&mut self) {
        if self.bytes < COMPOSER_MAX {
            self.area.insert_newline();
            self.recount();
        }
    }

    /// Deletes back to the start of the line.
    pub fn delete_to_start(&mut self) {
        self.area.delete_line_by_head();
        self.recount();
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        self.area = TextArea::default();
        self.bytes = 0;
        self.paste(text);
    }

    /// Takes the text out. The history keeps it.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.remember(&text);
        self.set("");
        self.recalled = None;
        text
    }

    /// One line up; on the first line the message before.
    pub fn older(&mut self) {
        if self.area.cursor().0 > 0 {
            self.area.move_cursor(CursorMove::Up);
            return;
        }
        let (at, draft) = match self.recalled.take() {
            None => (0, self.text()),
            Some((at, draft)) => (at + 1, draft),
        };
        let Some(text) = self.history.iter().rev().nth(at).cloned() else {
            if at > 0 {
                self.recalled = Some((at - 1, draft));
            }
            return;
        };
        self.set(&text);
        self.recalled = Some((at, draft));
    }

    /// One line down; on the last line the message after, at last what was being written.
    pub fn newer(&mut self) {
        if self.area.cursor().0 + 1 < self.area.lines().len() {
            self.area.move_cursor(CursorMove::Down);
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

    /// The rows that a view of `width` columns and at most `height` rows shows; the cursor is in it.
    pub fn window(&self, width: u16, height: u16) -> Window {
        let width = usize::from(width.max(2));
        let height = usize::from(height.max(1));
        let cursor = self.area.cursor();
        let lines = self.area.lines();
        // Lines far above the cursor can not be in view: there is no need to wrap them.
        let first = cursor.0.saturating_sub(height);
        let mut rows = Vec::new();
        let mut at = (0, 0);
        for (number, line) in lines.iter().enumerate().skip(first) {
            // A joiner may have lost its neighbours by now.
            let line = harmless(line);
            let (wrapped, place) = wrap(&line, width, (number == cursor.0).then_some(cursor.1));
            if let Some((row, column)) = place {
                at = (rows.len() + row, column);
            }
            rows.extend(wrapped);
            if number > cursor.0 && rows.len() > at.0 + height {
                break;
            }
        }
        let top = (at.0 + 1).saturating_sub(height);
        // While everything fits, nothing is scrolled away.
        let rows: Vec<String> = rows.into_iter().skip(top).take(height).collect();
        let narrow = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        Window {
            rows,
            cursor: (narrow(at.0 - top), narrow(at.1)),
        }
    }

    fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.back().is_some_and(|last| last == text) {
            return;
        }
        self.history.push_back(text.to_string());
        while self.history.len() > HISTORY_MAX {
            self.history.pop_front();
        }
    }

    fn recount(&mut self) {
        let lines = self.area.lines();
        self.bytes = lines.iter().map(String::len).sum::<usize>() + lines.len() - 1;
    }
}

/// Whether `c` is typed to shape its neighbours: in emoji, and in scripts that need it.
fn joins(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

/// Cuts a line into rows of `width` columns; the place of the character `cursor` comes back too.
fn wrap(line: &str, width: usize, cursor: Option<usize>) -> (Vec<String>, Option<(usize, usize)>) {
    let mut rows = vec![String::new()];
    let mut used = 0;
    let mut chars = 0;
    let mut place = None;
    for grapheme in line.graphemes(true) {
        let wide = grapheme.width();
        if used + wide > width {
            rows.push(String::new());
            used = 0;
        }
        let count = grapheme.chars().count();
        if place.is_none() && cursor.is_some_and(|c| c < chars + count) {
            place = Some((rows.len() - 1, used));
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(grapheme);
        }
        used += wide;
        chars += count;
    }
    if place.is_none() && cursor.is_some() {
        if used >= width {
            rows.push(String::new());
            used = 0;
        }
        place = Some((rows.len() - 1, used));
    }
    (rows, place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::keys;

    #[test]
    fn what_a_terminal_would_obey_is_shown_and_what_shapes_a_sign_stays() {
        let mut composer = Composer::default();
        for c in "a\u{9b}2\u{202e}می\u{200c}خb\u{200d}".chars() {
            let key = KeyEvent::new(KeyCode::Char(c), crossterm::event::KeyModifiers::NONE);
            composer.key(key);
        }
        assert_eq!(composer.text(), "a\u{fffd}2\u{fffd}می\u{200c}خb\u{200d}");
        let window = composer.window(40, 5);
        assert_eq!(window.rows, ["a\u{fffd}2\u{fffd}می\u{200c}خb\u{fffd}"]);
    }

    fn typed(keys: &str) -> Composer {
        let mut composer = Composer::default();
        for key in keys::parse_all(keys).unwrap() {
            composer.key(key);
        }
        composer
    }

    #[test]
    fn a_paste_is_cut_at_the_bound_and_says_so() {
        let mut composer = Composer::default();
        let pasted = composer.paste(&"é".repeat(600_000));
        assert_eq!(
            pasted,
            Pasted::Cut {
                kept: COMPOSER_MAX,
                of: 1_200_000
            }
        );
        assert_eq!(composer.text().len(), COMPOSER_MAX);
        composer.key(keys::parse("a").unwrap());
        assert_eq!(composer.text().len(), COMPOSER_MAX);
    }

    #[test]
    fn line_ends_of_all_kinds_and_control_characters() {
        let mut composer = Composer::default();
        assert_eq!(composer.paste("a\rb\r\nc\n\u{1b}[2J\td"), Pasted::Whole);
        assert_eq!(composer.text(), "a\nb\nc\n␛[2J    d");
    }

    #[test]
    fn history_goes_back_and_forth_and_keeps_the_draft() {
        let mut composer = Composer::default();
        for text in ["one", "two", "two", " "] {
            composer.set(text);
            composer.take();
        }
        composer.set("draft");
        let mut seen = Vec::new();
        for _ in 0..3 {
            composer.older();
            seen.push(composer.text());
        }
        for _ in 0..3 {
            composer.newer();
            seen.push(composer.text());
        }
        assert_eq!(seen, ["two", "one", "one", "two", "draft", "draft"]);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut composer = Composer::default();
        for i in 0..HISTORY_MAX + 5 {
            composer.set(&i.to_string());
            composer.take();
        }
        for _ in 0..HISTORY_MAX + 50 {
            composer.older();
        }
        assert_eq!(composer.text(), "5");
    }

    #[test]
    fn the_cursor_is_in_the_window() {
        let mut composer = Composer::default();
        composer.set("ab中d");
        let window = composer.window(4, 8);
        assert_eq!(window.rows, ["ab中", "d"]);
        assert_eq!(window.cursor, (1, 1));
        composer.set(&"line\n".repeat(20));
        let window = composer.window(10, 3);
        assert_eq!(window.rows, ["line", "line", ""]);
        assert_eq!(window.cursor, (2, 0));
        assert_eq!(typed("a b").window(10, 8).cursor, (0, 2));
        let full = typed("a b c d").window(4, 8);
        assert_eq!((full.rows.len(), full.cursor), (2, (1, 0)));
    }
}
