//! Multi-line text input with a history of sent messages, undo, and a maximum length ([`COMPOSER_MAX`]).

mod edit;
mod history;
mod kill;
mod pastes;
mod rows;
mod undo;
mod view;

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tui_textarea::{CursorMove, TextArea};

use crate::domain::text::{escape_control_chars, is_hidden};
use crate::ui::keymap::direction::VerticalDirection;
use crate::ui::widgets::composer::kill::{KillRing, LastEdit};
use crate::ui::widgets::composer::pastes::Pastes;
use crate::ui::widgets::composer::rows::WrappedLine;
use crate::ui::widgets::composer::undo::{EditKind, UndoStack};
pub use crate::ui::widgets::composer::view::{Overflow, TextAreaSize};

/// Maximum length of a message, in bytes. A longer text is cut; after a paste, the user is notified.
pub const COMPOSER_MAX: usize = 256 * 1024;

/// Maximum number of visible text rows of the composer, without its frame.
pub const ROWS_MAX: u16 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasteResult {
    /// The whole text was inserted.
    Whole,
    Cut {
        /// Number of bytes that were inserted.
        kept: usize,
        /// Approximate number of bytes that the whole text would need. In the inserted part, a tab counts as the four
        /// blanks that replace it; in the rest, it counts as one byte.
        of: usize,
    },
}

/// A multi-line text field with a history. In the draft, a chip, which is a label such as `[pasted 12 lines]`, takes
/// the place of each long pasted text.
#[derive(Debug)]
pub struct Composer {
    area: TextArea<'static>,
    /// Size of the message, in bytes: the draft, with the pasted text in place of each chip.
    bytes: usize,
    pastes: Pastes,
    history: VecDeque<String>,
    /// The recalled message, by its index counted from the newest (0), and the draft that the recalled message
    /// replaced.
    recalled: Option<(usize, String)>,
    /// The column in which a series of movements up and down began. The cursor returns to this column on rows that are
    /// long enough. `None` after any other movement or edit.
    goal: Option<usize>,
    /// The first visible row at the last cursor movement, as the line and the character with which the row begins, both
    /// from 0.
    top: (usize, usize),
    undo: UndoStack,
    kills: KillRing,
}

impl Default for Composer {
    fn default() -> Composer {
        Composer {
            area: new_area(),
            bytes: 0,
            pastes: Pastes::default(),
            history: VecDeque::new(),
            recalled: None,
            goal: None,
            top: (0, 0),
            undo: UndoStack::default(),
            kills: KillRing::default(),
        }
    }
}

/// Creates a text area whose built-in undo is off, because it would undo single characters.
fn new_area() -> TextArea<'static> {
    let mut area = TextArea::default();
    area.set_max_histories(0);
    area
}

impl Composer {
    /// Returns the message: the draft, with the pasted text in place of each chip.
    pub fn text(&self) -> String {
        self.expand(&self.draft())
    }

    /// Returns the draft as it is shown, with a chip for each long pasted text.
    pub fn draft(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Returns the position of the cursor, as line and character from 0, and the draft. Comparing both before and after
    /// a key shows whether the key has changed anything.
    pub fn cursor_and_text(&self) -> ((usize, usize), String) {
        (self.cursor(), self.draft())
    }

    /// Returns a part of the draft with the pasted text in place of each chip.
    pub fn expand(&self, draft: &str) -> String {
        self.pastes.expand(draft).into_owned()
    }

    /// Returns the part of the cursor's line before the cursor, and whether that line is the first one.
    pub fn before_cursor(&self) -> (String, bool) {
        let (row, at) = self.cursor();
        (self.line(row).chars().take(at).collect(), row == 0)
    }

    pub fn replace_before_cursor(&mut self, chars: usize, text: &str) {
        let (row, at) = self.cursor();
        let start = at.saturating_sub(chars);
        let room = COMPOSER_MAX.saturating_sub(self.bytes);
        let (text, _) = clean(text, room);
        self.edit(EditKind::Other, |composer| {
            composer.move_cursor_to(row, start);
            composer.area.delete_str(at - start);
            composer.area.insert_str(text);
        });
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns whether `sign` is the first character of the draft that is not blank.
    pub fn begins_with(&self, sign: char) -> bool {
        let mut lines = self.area.lines().iter().map(|line| line.trim_start());
        let first = lines.find(|line| !line.is_empty());
        first.is_some_and(|line| line.starts_with(sign))
    }

    /// Returns the draft if it is a single word, that is, one line without blanks; otherwise, `None`.
    pub fn only_word(&self) -> Option<&str> {
        match self.area.lines() {
            [line] if !line.is_empty() && !line.contains(char::is_whitespace) => Some(line),
            _ => None,
        }
    }

    /// Inserts or deletes text, or moves the cursor, for a key that has no other binding. Ignores a typed character if
    /// the message has its maximum length. `width` is the width of the text area in columns.
    pub fn key(&mut self, key: KeyEvent, width: u16) {
        if self.bytes >= COMPOSER_MAX && matches!(key.code, KeyCode::Char(_)) {
            return;
        }
        let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        let is_text = is_plain && matches!(key.code, KeyCode::Char(_));
        if is_text {
            self.leave_chip();
        }
        match key.code {
            // A terminal without bracketed paste sends pasted text as key events. An invisible character among them is
            // handled as a paste.
            KeyCode::Char(c) if is_hidden(c) && !is_joiner(c) => {
                self.paste(&c.to_string());
            }
            KeyCode::Up if is_plain => {
                self.move_row(VerticalDirection::Up, width);
            }
            KeyCode::Down if is_plain => {
                self.move_row(VerticalDirection::Down, width);
            }
            KeyCode::Backspace if is_plain => {
                self.edit(EditKind::Other, Composer::delete_cluster_before);
            }
            KeyCode::Delete if is_plain => {
                self.edit(EditKind::Other, Composer::delete_cluster_after);
            }
            code => {
                let kind = match code {
                    KeyCode::Char(c) if is_text && !c.is_whitespace() => EditKind::Character,
                    KeyCode::Char(_) if is_text => EditKind::Blank,
                    _ => EditKind::Other,
                };
                self.edit(kind, |composer| {
                    let before = composer.cursor();
                    composer.area.input(key);
                    if !is_text {
                        composer.snap_to_cluster(before);
                    }
                    // The selection is not drawn, so it is dropped.
                    composer.area.cancel_selection();
                });
            }
        }
    }

    /// Deletes the grapheme cluster or chip before the cursor. At the start of a line, joins the line with the previous
    /// one.
    fn delete_cluster_before(&mut self) {
        let (row, at) = self.cursor();
        if at == 0 {
            self.area.delete_newline();
            return;
        }
        let sign = self.unit(row, at - 1);
        self.move_cursor_to(row, sign.start);
        self.area.delete_str(sign.len());
    }

    fn delete_cluster_after(&mut self) {
        let (row, at) = self.cursor();
        let sign = self.unit(row, at);
        if sign.is_empty() {
            self.area.delete_next_char();
        } else {
            self.move_cursor_to(row, sign.start);
            self.area.delete_str(sign.len());
        }
    }

    /// If the cursor is inside a grapheme cluster or chip, moves the cursor to the edge that is farther from `before`,
    /// the previous position of the cursor.
    fn snap_to_cluster(&mut self, before: (usize, usize)) {
        let (row, at) = self.cursor();
        let sign = self.unit(row, at);
        if at > sign.start && at < sign.end {
            let to = if (row, at) < before {
                sign.start
            } else {
                sign.end
            };
            self.move_cursor_to(row, to);
        }
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    fn line(&self, number: usize) -> &str {
        self.area.lines().get(number).map_or("", String::as_str)
    }

    /// Moves the cursor before character `chars` of line `line`; both must exist. The text area can jump only to 16-bit
    /// coordinates. To reach a position beyond them, the cursor first jumps close to it, then moves in single steps.
    /// Each step reads the whole line, so the start with the fewest steps is chosen.
    fn move_cursor_to(&mut self, line: usize, chars: usize) {
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

    /// Moves the cursor one row up or down, to the column in which the series of such movements began. Returns false if
    /// there is no such row.
    fn move_row(&mut self, direction: VerticalDirection, width: u16) -> bool {
        let (line, at) = self.cursor();
        let rows = WrappedLine::new(self.line(line), usize::from(width));
        let (row, column) = rows.cell_of(at);
        let goal = self.goal.unwrap_or(column);
        let (line, at) = match direction {
            VerticalDirection::Up if row > 0 => (line, rows.position_at(row - 1, goal)),
            VerticalDirection::Down if row + 1 < rows.len() => {
                (line, rows.position_at(row + 1, goal))
            }
            VerticalDirection::Up if line > 0 => {
                let above = WrappedLine::new(self.line(line - 1), usize::from(width));
                (line - 1, above.position_at(above.len() - 1, goal))
            }
            VerticalDirection::Down if line + 1 < self.area.lines().len() => {
                let below = WrappedLine::new(self.line(line + 1), usize::from(width));
                (line + 1, below.position_at(0, goal))
            }
            VerticalDirection::Up | VerticalDirection::Down => return false,
        };
        self.move_cursor_to(line, at);
        self.goal = Some(goal);
        self.undo.end_step();
        self.kills.last = LastEdit::Other;
        true
    }

    /// Inserts pasted text at the cursor. Line ends become newlines, and control characters are escaped. If the message
    /// would become longer than [`COMPOSER_MAX`], the pasted text is cut.
    pub fn paste(&mut self, text: &str) -> PasteResult {
        let (clean, result) = self.clean(text, COMPOSER_MAX);
        self.insert(&clean);
        result
    }

    /// Converts pasted text for insertion: line ends become newlines, and control characters are escaped. Cuts the
    /// result so that the message has at most `most` bytes after the insertion.
    fn clean(&self, text: &str, most: usize) -> (String, PasteResult) {
        let room = most.saturating_sub(self.bytes);
        let (clean, of) = clean(text, room);
        let kept = clean.len();
        let result = if kept < of {
            PasteResult::Cut { kept, of }
        } else {
            PasteResult::Whole
        };
        (clean, result)
    }

    fn insert(&mut self, text: &str) {
        if !text.is_empty() {
            self.edit(EditKind::Other, |composer| {
                composer.leave_chip();
                composer.area.insert_str(text);
            });
        }
    }

    /// Inserts a newline at the cursor, unless the text has its maximum length.
    pub fn newline(&mut self) {
        if self.bytes < COMPOSER_MAX {
            self.edit(EditKind::Other, |composer| {
                composer.leave_chip();
                composer.area.insert_newline();
            });
        }
    }

    /// Replaces the draft by `text`, cut to [`COMPOSER_MAX`] bytes, and moves the cursor to the end. Remembered pasted
    /// texts in `text` are shown as chips.
    pub fn set(&mut self, text: &str) {
        self.edit(EditKind::Other, |composer| {
            composer.area = new_area();
            composer.bytes = 0;
            composer.top = (0, 0);
            let folded = composer.fold_again(&clean(text, COMPOSER_MAX).0);
            composer.area.insert_str(folded);
        });
    }

    /// Clears the composer, adds its message to the history and returns the message. Undo does not restore the draft.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.add_to_history(&text);
        self.set("");
        self.recalled = None;
        self.undo = UndoStack::default();
        self.pastes.clear();
        text
    }

    fn recount(&mut self) {
        let lines = self.area.lines();
        self.bytes = lines.iter().map(String::len).sum::<usize>() + lines.len() - 1;
        if self.has_chip() {
            self.bytes = self.text().len();
        }
    }
}

/// Converts `text` for insertion: line ends become newlines, and control characters are escaped. Returns at most `room`
/// bytes of the result, and about how many bytes the whole result would have.
fn clean(text: &str, room: usize) -> (String, usize) {
    // Cuts first, so that the cost depends on the text that is kept and not on the size of the paste.
    let end = text.floor_char_boundary(room);
    let mut clean = escape_control_chars(&text[..end].replace("\r\n", "\n").replace('\r', "\n"));
    let whole = clean.len() + (text.len() - end);
    clean.truncate(clean.floor_char_boundary(room));
    (clean, whole)
}

/// Returns whether `c` is an invisible character that joins its neighbours or selects their form, as in emoji and some
/// scripts.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

#[cfg(test)]
mod edit_tests;
#[cfg(test)]
#[path = "composer/pastes_tests.rs"]
mod pastes_tests;
#[cfg(test)]
#[path = "composer/tests.rs"]
mod tests;
