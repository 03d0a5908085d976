//! What else enters a conversation: messages of other agents, claimed tasks, results of background jobs. One line says
//! what it was; opened, all of it is read.

use ratatui::text::Span;

use super::cell::Fold;
use super::fold;
use super::layout::{Mark, Page, plain};
use crate::domain::text::{harmless, head_and_tail, one_line};
use crate::ui::textual::wrap::{Break, Margin, Row, fit, width, wrap};

/// Most bytes of text that are kept.
const TEXT_MAX: usize = 256 * 1024;
/// Most rows of an open one.
const ROWS_MAX: usize = 1000;
/// Fewest columns in which the beginning of a folded text is shown.
const LEAST_GIST: usize = 12;

/// One entry.
#[derive(Debug, Default)]
pub struct Entry {
    /// What it was, in one line.
    pub what: String,
    /// All of it; empty where the line says all.
    pub text: String,
    /// Whether all of it is shown.
    pub fold: Fold,
}

impl Entry {
    /// An entry as an event tells it.
    pub fn new(what: &str, text: &str) -> Entry {
        let what = one_line(what);
        // Journals of older versions call a message a letter.
        let what = match what.strip_prefix("letter from ") {
            Some(from) => format!("message from {from}"),
            None => what,
        };
        Entry {
            what,
            text: head_and_tail(text.trim(), TEXT_MAX),
            fold: Fold::Folded,
        }
    }

    /// Whether there is something to open.
    pub fn is_foldable(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether another agent wrote it.
    pub fn is_message(&self) -> bool {
        self.what.starts_with("message from ")
    }

    /// The bytes of text in it.
    pub fn bytes(&self) -> usize {
        self.what.len() + self.text.len()
    }

    /// All of it, for copying.
    pub fn whole(&self) -> String {
        if self.text.is_empty() {
            self.what.clone()
        } else {
            format!("{}\n{}", self.what, self.text)
        }
    }

    /// The rows: what it was with the beginning of its text, or with all of it below.
    pub(super) fn rows(&self, mark: Mark, page: Page<'_>, ink: &mut usize) -> Vec<Row> {
        let sign = match self.what.split_whitespace().next() {
            Some("message") => "✉",
            Some("claimed") => "⚑",
            Some(_) | None => "·",
        };
        if self.text.is_empty() {
            return plain(&format!("{sign} {}", self.what), page.theme.dim, page);
        }
        let dim = page.theme.dim;
        let style = match mark {
            Mark::Selected => page.theme.selection,
            Mark::Plain => dim,
        };
        let room = page.columns.saturating_sub(width(sign) + 1);
        let what = fit(&harmless(&self.what), room.max(1));
        let room = room.saturating_sub(width(&what) + 3);
        let mut head = vec![
            Span::styled(sign, dim),
            " ".into(),
            Span::styled(what, style),
        ];
        if self.fold == Fold::Folded {
            if room >= LEAST_GIST {
                let some: String = self.text.chars().take(room * 4).collect();
                let words: Vec<&str> = some.split_whitespace().collect();
                let gist = fit(&one_line(&harmless(&words.join(" "))), room);
                head.push(Span::styled(" · ", dim));
                head.push(Span::styled(gist, page.theme.text));
            }
            return vec![Row::ornament(head, *ink)];
        }
        let mut out = vec![Row::ornament(head, *ink)];
        let margin = Margin::hanging(vec!["  ".into()], vec!["  ".into()]);
        let words = [Span::styled(harmless(&self.text), page.theme.text)];
        let rows = wrap(&words, page.columns, &margin, Break::Words, ink);
        out.extend(fold::some(rows, ROWS_MAX, page));
        out
    }
}
