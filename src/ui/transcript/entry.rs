//! Entries that crewdeck added to a conversation, such as messages, claimed tasks, results of background jobs and
//! decisions of the user. An entry with a text below its description can be folded, and then takes one row.

use ratatui::text::Span;

use crate::domain::text::{escape_control_chars, head_and_tail, one_line};
use crate::ui::text::wrap::{Break, Margin, Row, fit, width, wrap};
use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::fold;
use crate::ui::transcript::layout::{LayoutParams, plain};

/// Maximum length of the stored text, in bytes. A longer text is cut in the middle.
const TEXT_MAX: usize = 256 * 1024;
/// Maximum number of rows of the text of an open entry. If there are more, the first and the last rows are shown, with
/// one row between them that says how many are missing.
const ROWS_MAX: usize = 1000;
/// Minimum width, in columns, that must be free beside the description of a folded entry to show a preview of its text.
const PREVIEW_WIDTH_MIN: usize = 12;

#[derive(Debug, Default)]
pub struct InsertedEntry {
    /// A one-line description of the entry, such as `message from alice`.
    pub what: String,
    /// The full text of the entry; empty if the description says everything.
    pub text: String,
    pub fold: Fold,
}

impl InsertedEntry {
    /// Creates a folded entry with the description `what`, put on one line. Trims `text`, and cuts the middle out if it
    /// is longer than [`TEXT_MAX`].
    pub fn new(what: &str, text: &str) -> InsertedEntry {
        let what = one_line(what);
        // Journals of older versions use another word for a message.
        let what = match what.strip_prefix("letter from ") {
            Some(from) => format!("message from {from}"),
            None => what,
        };
        // The kind of a message is a wire name, such as `shutdown_response`.
        let what = match what.rsplit_once(" (") {
            Some((from, kind)) if from.starts_with("message from ") => {
                format!("{from} ({}", kind.replace('_', " "))
            }
            Some(_) | None => what,
        };
        InsertedEntry {
            what,
            text: head_and_tail(text.trim(), TEXT_MAX),
            fold: Fold::Folded,
        }
    }

    /// Returns whether the entry has a text below its description and can therefore be folded.
    pub fn is_foldable(&self) -> bool {
        !self.text.is_empty()
    }

    fn sign(&self) -> &'static str {
        let mut words = self.what.split_whitespace();
        match (words.next(), words.next()) {
            (Some("message"), _) => "✉",
            (Some("claimed"), _) => "⚑",
            (Some("you"), Some("approved")) => "✓",
            (Some("you"), Some("rejected")) => "✗",
            _ => "·",
        }
    }

    /// Returns whether the entry is a message from another agent.
    pub fn is_message(&self) -> bool {
        self.what.starts_with("message from ")
    }

    /// Returns the length of the description and the text together, in bytes.
    pub fn bytes(&self) -> usize {
        self.what.len() + self.text.len()
    }

    /// Returns the text of the entry for the clipboard: the description, with the full text below it.
    pub fn whole(&self) -> String {
        if self.text.is_empty() {
            self.what.clone()
        } else {
            format!("{}\n{}", self.what, self.text)
        }
    }

    /// Returns the lines of the text that an open entry shows, assuming that no line wraps. These are all lines, or the
    /// first and the last ones if there are more than [`ROWS_MAX`].
    pub fn shown_lines(&self) -> impl Iterator<Item = &str> {
        fold::first_and_last_lines(&self.text, ROWS_MAX)
    }

    /// Returns the rows of the entry. A folded entry has one row: the description and, if at least
    /// [`PREVIEW_WIDTH_MIN`] columns are left, the beginning of the text. An open entry has the text below the
    /// description, limited by [`ROWS_MAX`]. An entry without text shows its whole description and may take several
    /// rows. Adds the number of visible characters in the shown text to `text_offset`.
    pub(super) fn rows(
        &self,
        is_selected: bool,
        page: LayoutParams<'_>,
        text_offset: &mut usize,
    ) -> Vec<Row> {
        let sign = self.sign();
        if self.text.is_empty() {
            return plain(&format!("{sign} {}", self.what), page.theme.dim, page);
        }
        let dim = page.theme.dim;
        let style = if is_selected {
            page.theme.selection
        } else {
            dim
        };
        let room = page.columns.saturating_sub(width(sign) + 1);
        let what = fit(&escape_control_chars(&self.what), room.max(1));
        let room = room.saturating_sub(width(&what) + 3);
        let mut head = vec![
            Span::styled(sign, dim),
            " ".into(),
            Span::styled(what, style),
        ];
        if self.fold == Fold::Folded {
            if room >= PREVIEW_WIDTH_MIN {
                let some: String = self.text.chars().take(room * 4).collect();
                let words: Vec<&str> = some.split_whitespace().collect();
                let gist = fit(&one_line(&escape_control_chars(&words.join(" "))), room);
                head.push(Span::styled(" · ", dim));
                head.push(Span::styled(gist, page.theme.text));
            }
            return vec![Row::decoration(head, *text_offset)];
        }
        let mut out = vec![Row::decoration(head, *text_offset)];
        let margin = Margin::hanging(vec!["  ".into()], vec!["  ".into()]);
        let words = [Span::styled(
            escape_control_chars(&self.text),
            page.theme.text,
        )];
        let rows = wrap(&words, page.columns, &margin, Break::Words, text_offset);
        out.extend(fold::elide_rows(rows, ROWS_MAX, page));
        out
    }
}
