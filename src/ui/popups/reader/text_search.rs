//! Search within a text popup: finds the matches and tracks the current one. No I/O.

use ratatui::text::Span;

use crate::ui::app::App;
use crate::ui::app::popup::{Pager, Text};
use crate::ui::popups::reader;
use crate::ui::text::wrap::Row;
use crate::ui::theme::Theme;
use crate::ui::transcript::{Needle, SearchMatch, find_matches};
use crate::ui::widgets::line_input::Searching;

/// The matches of a search in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResults {
    /// The matches, from top to bottom.
    pub hits: Vec<SearchMatch>,
    /// Index of the current match; 0 if there is none.
    pub current: usize,
}

impl SearchResults {
    /// Returns the 1-based number of the current match and the number of matches; (0, 0) if there is none.
    pub fn count(&self) -> (usize, usize) {
        let all = self.hits.len();
        ((self.current + 1).min(all), all)
    }

    /// Returns the line in which match `nth` begins.
    pub fn line(&self, nth: usize) -> usize {
        let part = self.hits.get(nth).and_then(|hit| hit.parts.first());
        part.map_or(0, |(line, _, _)| *line)
    }

    /// Returns the index of the first match at or below line `from`, or of the last match above it.
    pub fn nearest(&self, from: usize) -> usize {
        let at = (0..self.hits.len()).position(|nth| self.line(nth) >= from);
        at.unwrap_or(self.hits.len().saturating_sub(1))
    }
}

/// Returns whether a search is active or its text is being typed. The keyboard help is filtered instead, never
/// searched.
pub fn is_searching(reader: &Pager) -> bool {
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

/// Returns the matches in `lines`; none while no search is active.
pub fn search_lines(reader: &Pager, lines: &[reader::Row]) -> SearchResults {
    let needle = Needle::new(reader.search.text()).filter(|_| is_searching(reader));
    let hits = needle.map_or_else(Vec::new, |needle| {
        let rows: Vec<Row> = lines.iter().map(plain_row).collect();
        find_matches(&needle, rows.iter())
    });
    let here = reader.here.min(hits.len().saturating_sub(1));
    SearchResults {
        hits,
        current: here,
    }
}

/// Returns the matches in the text that `reader` shows on the current screen.
pub fn search_reader(app: &App, reader: &Pager) -> SearchResults {
    if !is_searching(reader) {
        return search_lines(reader, &[]);
    }
    let rows = reader::rows(app, reader, &Theme::default());
    search_lines(reader, &rows)
}

fn plain_row(row: &reader::Row) -> Row {
    let plain = |span: &Span<'static>| Span::raw(span.content.clone());
    Row {
        spans: row.line.spans.iter().map(plain).collect(),
        text_offset: 0,
        margin: row.margin,
    }
}
