//! Single-line text input for searches and filters.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::text::one_line;

/// Maximum length of the text, in characters. Further characters are ignored.
pub const LINE_MAX: usize = 200;

/// A text input of one line. Its cursor is always at the end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineInput {
    text: String,
}

impl LineInput {
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Handles a key: inserts its character, or deletes a character, a word or the whole text. Other keys are ignored.
    pub fn key(&mut self, key: KeyEvent) {
        let is_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let is_alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Backspace if is_ctrl || is_alt => self.delete_word(),
            KeyCode::Backspace => {
                self.text.pop();
            }
            KeyCode::Char('u') if is_ctrl => self.text.clear(),
            KeyCode::Char('w') if is_ctrl => self.delete_word(),
            KeyCode::Char('h') if is_ctrl => {
                self.text.pop();
            }
            KeyCode::Char(c) if !is_ctrl && !is_alt => self.insert(&c.to_string()),
            _ => {}
        }
    }

    /// Appends `text` as one line, up to the maximum length.
    pub fn insert(&mut self, text: &str) {
        let room = LINE_MAX.saturating_sub(self.text.chars().count());
        // `one_line` trims trailing blanks, but a typed blank must be kept.
        if text == " " {
            self.text.extend((room > 0).then_some(' '));
        } else {
            self.text.extend(one_line(text).chars().take(room));
        }
    }

    /// Returns whether `hay` contains every word of the text, ignoring case. An empty text always matches.
    pub fn matches(&self, hay: &str) -> bool {
        let hay = hay.to_lowercase();
        self.text
            .to_lowercase()
            .split_whitespace()
            .all(|word| hay.contains(word))
    }

    fn delete_word(&mut self) {
        let trimmed = self.text.trim_end();
        let at = trimmed.rfind(' ').map_or(0, |at| at + 1);
        self.text.truncate(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::keys;

    #[test]
    fn keys_edit_at_the_end() {
        let cases = [
            ("a b", "ab"),
            ("a space b c ctrl+w", "a "),
            ("a b backspace", "a"),
            ("a b ctrl+u", ""),
            ("a ctrl+k alt+x b", "ab"),
        ];
        for (typed, expected) in cases {
            let mut line = LineInput::default();
            for key in keys::parse_all(typed).unwrap() {
                line.key(key);
            }
            assert_eq!(line.text(), expected, "{typed}");
        }
    }

    #[test]
    fn every_word_must_match() {
        let mut line = LineInput::default();
        assert!(line.matches("anything"));
        line.insert("Fix  parser");
        assert!(line.matches("the PARSER is to be fixed"));
        assert!(!line.matches("fix the lexer"));
    }

    #[test]
    fn inserted_text_is_bounded_and_escaped() {
        let mut line = LineInput::default();
        line.insert("a\u{1b}b\nc");
        assert_eq!(line.text(), "a␛b⏎c");
        line.insert(&"x".repeat(1000));
        assert_eq!(line.text().chars().count(), LINE_MAX);
    }
}
