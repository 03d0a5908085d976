//! Search in the text of a pager: finds the matches and the current one. No I/O.

use ratatui::text::Span;

use crate::ui::app::App;
use crate::ui::keymap::direction::Way;
use crate::ui::popups::pager;
use crate::ui::text::wrap::Row;
use crate::ui::transcript::{MatchStep, Needle, SearchMatch, find_matches};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResults {
    /// The matches, from top to bottom.
    pub hits: Vec<SearchMatch>,
    /// The index of the current match in `hits`; 0 if there are no matches.
    pub current: usize,
}

impl SearchResults {
    /// Returns the number of the current match, counted from 1, and the number of all matches; (0, 0) if there are
    /// none.
    pub fn count(&self) -> (usize, usize) {
        let all = self.hits.len();
        ((self.current + 1).min(all), all)
    }

    /// Returns the index of the row in which the match with index `nth` begins; 0 if there is no such match.
    pub fn line(&self, nth: usize) -> usize {
        let part = self.hits.get(nth).and_then(|hit| hit.parts.first());
        part.map_or(0, |(line, _, _)| *line)
    }

    /// Returns the index of the first match in row `from` or below. If all matches are above that row, returns the
    /// index of the last one; if there are none, returns 0.
    pub fn nearest(&self, from: usize) -> usize {
        let at = (0..self.hits.len()).position(|nth| self.line(nth) >= from);
        at.unwrap_or(self.hits.len().saturating_sub(1))
    }
}

/// Returns the matches of `words` in `rows`; none if `words` is blank. `current` is the index of the current match. If
/// it is greater than the index of the last match, the last match is the current one.
pub fn search_rows(words: &str, current: usize, rows: &[pager::PagerRow]) -> SearchResults {
    let hits = Needle::new(words).map_or_else(Vec::new, |needle| {
        let rows: Vec<Row> = rows.iter().map(plain_row).collect();
        find_matches(&needle, rows.iter())
    });
    let current = current.min(hits.len().saturating_sub(1));
    SearchResults { hits, current }
}

fn plain_row(row: &pager::PagerRow) -> Row {
    let plain = |span: &Span<'static>| Span::raw(span.content.clone());
    Row {
        spans: row.line.spans.iter().map(plain).collect(),
        margin: row.margin,
        ..Row::default()
    }
}

/// Shows a status message if the search continued at the other end of the text. If there is no match, the message is
/// `nothing`.
pub fn tell_match(app: &mut App, step: MatchStep, way: Way, nothing: &str) {
    match (step, way) {
        (MatchStep::Moved, _) => {}
        (MatchStep::Wrapped, Way::Forward) => {
            app.say("Search wrapped to the first match.");
        }
        (MatchStep::Wrapped, Way::Back) => {
            app.say("Search wrapped to the last match.");
        }
        (MatchStep::NoMatch, _) => app.say(nothing),
    }
}
