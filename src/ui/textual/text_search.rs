//! Pure: the search in a text that is read in a popup: where the words stand, and which of the matches the reader is at.

use ratatui::text::Span;

use crate::ui::popup::readers;
use crate::ui::popup::{Reader, Searching, Text};
use crate::ui::state::UiState;
use crate::ui::textual::wrap::Row;
use crate::ui::theme::Theme;
use crate::ui::transcript::{Hit, Needle, hits};

/// What a search in a text has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The matches, the upper ones first.
    pub hits: Vec<Hit>,
    /// The one that the reader is at; 0 where there is none.
    pub here: usize,
}

impl Found {
    /// Which match the reader is at, from 1 on, and how many there are; 0 of 0 where there is none.
    pub fn count(&self) -> (usize, usize) {
        let all = self.hits.len();
        ((self.here + 1).min(all), all)
    }

    /// The line that match `nth` begins in.
    pub fn line(&self, nth: usize) -> usize {
        let part = self.hits.get(nth).and_then(|hit| hit.parts.first());
        part.map_or(0, |(line, _, _)| *line)
    }

    /// The first match in line `from` or below; else the last one above.
    pub fn nearest(&self, from: usize) -> usize {
        let at = (0..self.hits.len()).position(|nth| self.line(nth) >= from);
        at.unwrap_or(self.hits.len().saturating_sub(1))
    }
}

/// Whether a text is searched, or words to search it for are being written. The keys are not: they are filtered.
pub fn is_on(reader: &Reader) -> bool {
    let is_searched = match reader.text {
        Text::Help(_) => false,
        Text::Todo(_)
        | Text::Task(_)
        | Text::Diff(_)
        | Text::Letter(_)
        | Text::Problems
        | Text::Skills => true,
    };
    is_searched && (reader.searching == Searching::Typing || !reader.search.text().is_empty())
}

/// What is found in the `lines` of a text; nothing where nothing is searched for.
pub fn found(reader: &Reader, lines: &[readers::Row]) -> Found {
    let needle = Needle::new(reader.search.text()).filter(|_| is_on(reader));
    let hits = needle.map_or_else(Vec::new, |needle| {
        let rows: Vec<Row> = lines.iter().map(searched).collect();
        hits(&needle, rows.iter())
    });
    let here = reader.here.min(hits.len().saturating_sub(1));
    Found { hits, here }
}

/// What is found in a text on the screen of `state`.
pub fn in_text(state: &UiState, reader: &Reader) -> Found {
    if !is_on(reader) {
        return found(reader, &[]);
    }
    let rows = readers::rows(state, reader, &Theme::default());
    found(reader, &rows)
}

fn searched(row: &readers::Row) -> Row {
    let plain = |span: &Span<'static>| Span::raw(span.content.clone());
    Row {
        spans: row.line.spans.iter().map(plain).collect(),
        ink: 0,
        margin: row.margin,
    }
}
