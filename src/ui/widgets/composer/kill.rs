//! The ring of deleted texts, and the words that a deletion covers, as in readline.

use std::collections::VecDeque;

use unicode_width::UnicodeWidthChar;

/// Maximum number of deleted texts that are kept.
const TEXTS_MAX: usize = 16;
/// Maximum total length of the kept texts, in bytes. If it is exceeded, the oldest texts are dropped; the newest one is
/// always kept.
const BYTES_MAX: usize = 1024 * 1024;

/// The side of the cursor on which a text was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillSide {
    Before,
    After,
}

/// The kind of the last edit. It decides what the next deletion, or the next insertion of deleted text, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastEdit {
    #[default]
    Other,
    /// A deletion. The next deletion is joined with it.
    Kill,
    /// An insertion of the deleted text `number`, counted from the newest (0). `start` is the line and the character at
    /// which the inserted text begins.
    Yank {
        number: usize,
        start: (usize, usize),
    },
}

/// The deleted texts, newest last.
#[derive(Debug, Default)]
pub struct KillRing {
    texts: VecDeque<String>,
    pub last: LastEdit,
}

impl KillRing {
    /// Adds a deleted text. If the last edit was a deletion too, joins both.
    pub fn add(&mut self, text: &str, side: KillSide) {
        match (self.last, self.texts.back_mut(), side) {
            (LastEdit::Kill, Some(newest), KillSide::After) => newest.push_str(text),
            (LastEdit::Kill, Some(newest), KillSide::Before) => newest.insert_str(0, text),
            _ => self.texts.push_back(text.into()),
        }
        self.last = LastEdit::Kill;
        let mut bytes = self.bytes();
        while self.texts.len() > TEXTS_MAX || (bytes > BYTES_MAX && self.texts.len() > 1) {
            bytes -= self.texts.pop_front().map_or(bytes, |text| text.len());
        }
    }

    /// Returns the total length of the texts, in bytes.
    pub fn bytes(&self) -> usize {
        self.texts.iter().map(String::len).sum()
    }

    /// Returns the deleted text `number`, counted from the newest (0). Numbers beyond the oldest start again at the
    /// newest. Returns `None` if there are no deleted texts.
    pub fn get(&self, number: usize) -> Option<&str> {
        let len = self.texts.len();
        let at = len.checked_sub(1)? - number % len;
        self.texts.get(at).map(String::as_str)
    }
}

/// Returns the index of the character at which the word before character `at` of `line` begins; 0 if there is no such
/// word. Only blanks end a word.
pub fn word_start(line: &str, at: usize) -> usize {
    let before: Vec<char> = line.chars().take(at).collect();
    let end = before.iter().rposition(|c| !c.is_whitespace());
    let end = end.map_or(0, |last| last + 1);
    let blank = before[..end].iter().rposition(|c| c.is_whitespace());
    blank.map_or(0, |blank| blank + 1)
}

/// Returns the index of the character at which the word before character `at` of `line` begins; 0 if there is no such
/// word. Words consist of alphanumeric characters and their accents.
pub fn prev_word_start(line: &str, at: usize) -> usize {
    let before: Vec<char> = line.chars().take(at).collect();
    let last = before.iter().rposition(|c| c.is_alphanumeric());
    let word = &before[..last.map_or(0, |last| last + 1)];
    let other = word.iter().rposition(|c| !is_word_part(*c));
    other.map_or(0, |other| other + 1)
}

/// Returns the index of the character after the end of the word that follows character `at` of `line`; the length of
/// the line if there is no such word. Words consist of alphanumeric characters and their accents.
pub fn word_end(line: &str, at: usize) -> usize {
    let after: Vec<char> = line.chars().skip(at).collect();
    let begin = after.iter().position(|c| c.is_alphanumeric());
    let begin = begin.unwrap_or(after.len());
    let len = after[begin..].iter().take_while(|c| is_word_part(**c));
    at + begin + len.count()
}

fn is_word_part(c: char) -> bool {
    c.is_alphanumeric() || c.width() == Some(0)
}
