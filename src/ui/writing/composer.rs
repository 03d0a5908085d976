//! Where the person writes: several lines, older messages at hand, a paste of any size bounded.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_textarea::{CursorMove, TextArea};

use crate::domain::text::{harmless, is_hidden};

mod rows;
mod view;

use rows::Rows;
pub use view::{Beyond, Room};

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
        /// Bytes that it would take whole: a tab takes as many as the blanks in its place.
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
    /// The column that the cursor would go back to on its way up or down.
    goal: Option<usize>,
    /// The place that the first row in view held when the cursor was last moved: line and character.
    top: (usize, usize),
}

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Toward {
    Up,
    Down,
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

    /// Takes a key in that has no other meaning, in a room of so many columns.
    pub fn key(&mut self, key: KeyEvent, width: u16) {
        if self.bytes >= COMPOSER_MAX && matches!(key.code, KeyCode::Char(_)) {
            return;
        }
        let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        let is_text = is_plain && matches!(key.code, KeyCode::Char(_));
        match key.code {
            // A terminal that does not mark pastes sends what is in them as keys.
            KeyCode::Char(c) if is_hidden(c) && !joins(c) => {
                self.paste(&c.to_string());
            }
            KeyCode::Up if is_plain => {
                self.step(Toward::Up, width);
                return;
            }
            KeyCode::Down if is_plain => {
                self.step(Toward::Down, width);
                return;
            }
            KeyCode::Backspace if is_plain => self.delete_sign_before(),
            KeyCode::Delete if is_plain => self.delete_sign(),
            _ => {
                let before = self.area.cursor();
                self.area.input(key);
                if !is_text {
                    self.settle((before.0, before.1));
                }
            }
        }
        // What is selected is not drawn, so nothing is.
        self.area.cancel_selection();
        self.goal = None;
        self.recount();
    }

    /// Deletes what is seen as one sign, or joins the lines.
    fn delete_sign_before(&mut self) {
        let (row, at) = self.cursor();
        if at == 0 {
            self.area.delete_newline();
            return;
        }
        let begin = rows::sign(self.line(row), at - 1).start;
        self.go(row, begin);
        self.area.delete_str(at - begin);
    }

    fn delete_sign(&mut self) {
        let (row, at) = self.cursor();
        let sign = rows::sign(self.line(row), at);
        if sign.is_empty() {
            self.area.delete_next_char();
        } else {
            self.area.delete_str(sign.end - at);
        }
    }

    /// The cursor stands between two signs, not inside of one: it goes on as it went.
    fn settle(&mut self, before: (usize, usize)) {
        let (row, at) = self.cursor();
        let sign = rows::sign(self.line(row), at);
        if at > sign.start && at < sign.end {
            let to = if (row, at) < before {
                sign.start
            } else {
                sign.end
            };
            self.go(row, to);
        }
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    fn line(&self, number: usize) -> &str {
        self.area.lines().get(number).map_or("", String::as_str)
    }

    /// Puts the cursor before a character of a line. Both are there. What a jump can not name is walked to from the
    /// nearest of where the cursor is, what can be named, and the end of the line: a step looks at the whole line.
    fn go(&mut self, line: usize, chars: usize) {
        const MAX: usize = u16::MAX as usize;
        let narrow = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let (from, _) = self.cursor();
        let is_named = line <= MAX && (chars <= MAX || from != line);
        if is_named || from.abs_diff(line) > line.saturating_sub(MAX) {
            let jump = CursorMove::Jump(narrow(line), narrow(chars));
            self.area.move_cursor(jump);
        }
        let (from, _) = self.cursor();
        for _ in from..line {
            self.area.move_cursor(CursorMove::Down);
        }
        for _ in line..from {
            self.area.move_cursor(CursorMove::Up);
        }
        let (_, at) = self.cursor();
        let end = self.line(line).chars().count();
        if chars > MAX && at.abs_diff(chars) > end.saturating_sub(chars) {
            self.area.move_cursor(CursorMove::End);
        }
        let (_, at) = self.cursor();
        for _ in at..chars {
            self.area.move_cursor(CursorMove::Forward);
        }
        for _ in chars..at {
            self.area.move_cursor(CursorMove::Back);
        }
    }

    /// One row up or down, in the column where the way began. Whether there is such a row.
    fn step(&mut self, toward: Toward, width: u16) -> bool {
        let (line, at) = self.cursor();
        let rows = Rows::new(self.line(line), usize::from(width));
        let (row, column) = rows.place(at);
        let goal = self.goal.unwrap_or(column);
        let (line, at) = match toward {
            Toward::Up if row > 0 => (line, rows.at(row - 1, goal)),
            Toward::Down if row + 1 < rows.len() => (line, rows.at(row + 1, goal)),
            Toward::Up if line > 0 => {
                let above = Rows::new(self.line(line - 1), usize::from(width));
                (line - 1, above.at(above.len() - 1, goal))
            }
            Toward::Down if line + 1 < self.area.lines().len() => {
                let below = Rows::new(self.line(line + 1), usize::from(width));
                (line + 1, below.at(0, goal))
            }
            Toward::Up | Toward::Down => return false,
        };
        self.go(line, at);
        self.goal = Some(goal);
        true
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
            self.goal = None;
            self.recount();
        }
        if end < text.len() || kept < whole {
            Pasted::Cut {
                kept,
                of: whole + (text.len() - end),
            }
        } else {
            Pasted::Whole
        }
    }

    /// Begins a new line.
    pub fn newline(&mut self) {
        if self.bytes < COMPOSER_MAX {
            self.area.insert_newline();
            self.goal = None;
            self.recount();
        }
    }

    /// Deletes back to the start of the line.
    pub fn delete_to_start(&mut self) {
        self.area.delete_line_by_head();
        self.goal = None;
        self.recount();
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        self.area = TextArea::default();
        self.bytes = 0;
        self.goal = None;
        self.top = (0, 0);
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

    /// One row up, in a room of so many columns; on the first row the message before.
    pub fn older(&mut self, width: u16) {
        if self.step(Toward::Up, width) {
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

    /// One row down; on the last row the message after, at last what was being written.
    pub fn newer(&mut self, width: u16) {
        if self.step(Toward::Down, width) {
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

    /// Takes the history of another composer over.
    pub fn take_history(&mut self, other: &mut Composer) {
        self.history = std::mem::take(&mut other.history);
    }

    /// Puts a text into the history.
    pub fn remember(&mut self, text: &str) {
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

#[cfg(test)]
#[path = "composer/tests.rs"]
mod tests;
