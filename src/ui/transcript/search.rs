//! The search in a transcript: its text, the current match, and the cells that were opened to show a match.
//!
//! Matches are counted in the texts themselves ([`super::cell::CellKind::count`]), and after a change only the changed
//! cell is counted again. So searching a long transcript needs no layouts. The position of a match on the screen is
//! computed from the rows of its cell alone.

use crate::ui::keymap::direction::Way;
use crate::ui::theme::Theme;
use crate::ui::transcript::cell::Fold;
use crate::ui::transcript::find::{Needle, SearchMatch};
use crate::ui::transcript::layout_cache::LayoutCache;
use crate::ui::transcript::scroll::{RowPosition, ScrollAnchor, Viewport};
use crate::ui::transcript::{Transcript, find};
use crate::ui::widgets::line_input::LineInput;

/// The active search in a transcript. Remembers the scroll position and the selection from before the user typed, to
/// restore them if the user cancels the search. Also remembers the cell and the call group that were opened to show a
/// match, to fold them again.
#[derive(Debug, Default)]
pub struct Search {
    words: LineInput,
    is_typing: bool,
    /// The scroll position when the user last began to type the search text.
    origin: ScrollAnchor,
    /// The number of the cell that was selected when the user last began to type the search text; `None` if no cell
    /// was.
    selected: Option<u64>,
    /// The current match: the number of its cell, and its index among the matches in this cell, counted from 0. `None`
    /// if there is no match.
    here: Option<(u64, usize)>,
    /// The number of the cell that the search opened to show a match, if any.
    opened: Option<u64>,
    /// The number of the call group's header that the search opened to show a match in one of the calls, if any.
    unfolded: Option<u64>,
}

/// The result of moving to another match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchStep {
    NoMatch,
    /// Moved to a match without passing an end of the conversation.
    Moved,
    /// There was no further match in the requested direction; moved to the first match from the opposite end.
    Wrapped,
}

impl Search {
    pub fn words(&self) -> &str {
        self.words.text()
    }

    pub fn is_typing(&self) -> bool {
        self.is_typing
    }
}

impl Transcript {
    pub fn search(&self) -> Option<&Search> {
        self.search.as_deref()
    }

    /// Lets the user type the text to search for. If a search is active, its text can be changed.
    pub fn begin_search(&mut self) {
        let mut search = self.search.take().unwrap_or_default();
        search.is_typing = true;
        search.origin = self.anchor;
        search.selected = self.log.selected;
        self.search = Some(search);
    }

    /// Changes the search text with `edit`. Then moves to the first match at or below the top of the view at which the
    /// search began, or to the last match above it. If there is no match, returns to the scroll position at which the
    /// search began. Does nothing if `edit` changes nothing or no search is active.
    pub fn edit_search(&mut self, edit: impl FnOnce(&mut LineInput), viewport: Viewport) {
        let Some(search) = self.search.as_mut() else {
            return;
        };
        let before = search.words.text().to_string();
        edit(&mut search.words);
        if search.words.text() == before {
            return;
        }
        search.here = None;
        self.anchor = search.origin;
        self.log.selected = search.selected;
        let needle = Needle::new(search.words.text());
        self.refold(None);
        self.log.search(needle);
        self.go_to_nearest(viewport);
    }

    /// Ends the typing of the search text. The search stays active unless the text is blank.
    pub fn finish_search_input(&mut self) {
        if let Some(search) = self.search.as_mut() {
            search.is_typing = false;
        }
        if self.log.needle().is_none() {
            self.search = None;
        }
    }

    /// Ends the search. If the user was still typing the search text, restores the scroll position and the selection
    /// from before the typing, and folds the cells that the search has opened.
    pub fn end_search(&mut self) {
        let was_typing = self.search().is_some_and(Search::is_typing);
        if was_typing {
            self.refold(None);
        }
        if let Some(search) = self.search.take().filter(|_| was_typing) {
            self.anchor = search.origin;
            self.log.selected = search.selected;
        }
        self.log.search(None);
    }

    /// Moves to the next or previous match. After the last match, continues with the first, and the other way round. If
    /// no match is current, ignores `way` and moves to the first match at or below the top of the view; if there is
    /// none, to the last match above.
    pub fn next_match(&mut self, way: Way, viewport: Viewport) -> MatchStep {
        let Some(here) = self.search().and_then(|s| s.here) else {
            return self.go_to_nearest(viewport);
        };
        let Some(at) = self.log.index(here.0) else {
            return self.go_to_nearest(viewport);
        };
        let found = self.log.cell(at).found;
        let in_cell = match way {
            Way::Forward => Some(here.1 + 1).filter(|n| *n < found),
            Way::Back => here
                .1
                .checked_sub(1)
                .map(|n| n.min(found.saturating_sub(1))),
        };
        if let Some(nth) = in_cell.filter(|_| found > 0) {
            self.go_to(at, nth, viewport);
            return MatchStep::Moved;
        }
        let (next, round) = match self.log.next_found(at, way) {
            Some(next) => (Some(next), MatchStep::Moved),
            None => (self.log.first_found(way), MatchStep::Wrapped),
        };
        let Some(next) = next else {
            return MatchStep::NoMatch;
        };
        let nth = match way {
            Way::Forward => 0,
            Way::Back => self.log.cell(next).found.saturating_sub(1),
        };
        self.go_to(next, nth, viewport);
        round
    }

    /// Returns the number of the current match, counted from 1, and the number of all matches. The first number is 0 if
    /// no match is current.
    pub fn match_position(&self) -> (usize, usize) {
        let here = self.search().and_then(|s| s.here);
        let place = here.and_then(|(number, nth)| {
            let at = self.log.index(number)?;
            let found = self.log.cell(at).found;
            (found > 0).then(|| self.log.found_before(at) + nth.min(found - 1) + 1)
        });
        (place.unwrap_or(0), self.log.match_count())
    }

    /// Returns the index of the cell with the current match, and the index of the match within the cell, both counted
    /// from 0; `None` if no match is current or its cell was dropped.
    pub(super) fn here(&self) -> Option<(usize, usize)> {
        let (number, nth) = self.search().and_then(|s| s.here)?;
        Some((self.log.index(number)?, nth))
    }

    /// Moves to the first match at or below the top of the view; if there is none, to the last match above. Returns
    /// [`MatchStep::NoMatch`] if there is no match at all.
    fn go_to_nearest(&mut self, viewport: Viewport) -> MatchStep {
        self.scratch.begin(viewport, &Theme::default());
        let rows = viewport.rows();
        let Some(top) = self.anchor.top(&self.log, &mut self.scratch, rows) else {
            return MatchStep::NoMatch;
        };
        if self.log.cell(top.at).found > 0 {
            let hits = self.hits(top.at);
            if let Some(nth) = hits.iter().position(|h| line_of(h) >= top.line) {
                self.go_to(top.at, nth, viewport);
                return MatchStep::Moved;
            }
        }
        let below = self.log.next_found(top.at, Way::Forward).map(|at| (at, 0));
        let above = || {
            let at = self.log.next_found(top.at + 1, Way::Back)?;
            Some((at, self.log.cell(at).found.saturating_sub(1)))
        };
        match below.or_else(above) {
            Some((at, nth)) => {
                self.go_to(at, nth, viewport);
                MatchStep::Moved
            }
            None => MatchStep::NoMatch,
        }
    }

    /// Makes the match with the index `nth` in the cell at the index `at` the current match, selects the cell and
    /// scrolls to the match.
    ///
    /// If the cell or its call group is folded and hides a match, opens the cell or group. Before that, folds the cell
    /// and the group that were opened for an earlier match, unless they are the same ones. If the match has no row even
    /// in the open cell, scrolls to the last visible match in the cell, or to the first row of the cell.
    fn go_to(&mut self, at: usize, nth: usize, viewport: Viewport) {
        let number = self.log.number(at);
        self.refold(Some(number));
        if let Some(line) = self.log.hidden_by(at).map(|line| self.log.number(line))
            && self.set_fold(line, Fold::Open)
            && let Some(search) = self.search.as_mut()
        {
            search.unfolded = Some(line);
        }
        self.log.selected = Some(number);
        self.scratch.begin(viewport, &Theme::default());
        let mut hits = self.hits(at);
        if hits.len() < self.log.cell(at).found && self.set_fold(number, Fold::Open) {
            if let Some(search) = self.search.as_mut() {
                search.opened = Some(number);
            }
            hits = self.hits(at);
        }
        let line = hits.get(nth).or(hits.last()).map_or(0, line_of);
        let position = RowPosition { at, line };
        let rows = viewport.rows();
        self.anchor
            .reveal_row(position, &self.log, &mut self.scratch, rows);
        if self.is_following() {
            self.scratch = LayoutCache::default();
        }
        if let Some(search) = self.search.as_mut() {
            search.here = Some((number, nth));
        }
    }

    fn hits(&mut self, at: usize) -> Vec<SearchMatch> {
        let laid = self.scratch.get(&self.log, at);
        let needle = self.log.needle();
        needle.map_or_else(Vec::new, |n| find::find_matches(n, laid.rows(0)))
    }

    /// Folds the cell and the call group that the search has opened for an earlier match. Does not fold the cell `but`
    /// and the group of that cell; `None` means no exception.
    fn refold(&mut self, but: Option<u64>) {
        let opened = self.search.as_mut().and_then(|s| {
            let other = s.opened.filter(|n| Some(*n) != but);
            other.inspect(|_| s.opened = None)
        });
        if let Some(number) = opened {
            self.set_fold(number, Fold::Folded);
        }
        let line = but.and_then(|n| self.log.cell(self.log.index(n)?).group_header);
        let unfolded = self.search.as_mut().and_then(|s| {
            let other = s.unfolded.filter(|n| Some(*n) != line);
            other.inspect(|_| s.unfolded = None)
        });
        if let Some(line) = unfolded {
            self.set_fold(line, Fold::Folded);
        }
    }

    /// Opens or folds the cell `number`. Returns false if the cell was in this state already or cannot be folded.
    fn set_fold(&mut self, number: u64, to: Fold) -> bool {
        let mut changed = false;
        self.log.change(number, |kind| {
            if let Some(fold) = kind.fold() {
                changed = *fold != to;
                *fold = to;
            }
        });
        changed
    }

    /// Scrolls to the previous or next prompt and selects it. This is the prompt nearest to the selected cell if that
    /// cell is visible. Otherwise it is the first one after the first visible cell; with `Way::Back`, the last one up
    /// to the last visible cell. Returns false if there is no such prompt.
    pub fn go_to_prompt(&mut self, way: Way, viewport: Viewport) -> bool {
        let rows = viewport.rows();
        self.scratch.begin(viewport, &Theme::default());
        let Some((first, last)) = self
            .anchor
            .visible_cells(&self.log, &mut self.scratch, rows)
        else {
            return false;
        };
        let visible = self.log.number(first)..=self.log.number(last);
        let selected = self.log.selected.filter(|n| visible.contains(n));
        let next = match way {
            Way::Forward => {
                let from = selected.unwrap_or(*visible.start());
                self.log.prompts().find(|n| *n > from)
            }
            Way::Back => {
                let from = selected.unwrap_or(*visible.end() + 1);
                self.log.prompts().rev().find(|n| *n < from)
            }
        };
        let Some(number) = next else {
            return false;
        };
        self.log.selected = Some(number);
        if let Some(at) = self.log.index(number) {
            let (log, layouts) = (&self.log, &mut self.scratch);
            self.anchor.anchor_cell(at, log, layouts, rows);
        }
        true
    }
}

fn line_of(hit: &SearchMatch) -> usize {
    hit.parts.first().map_or(0, |(row, _, _)| *row)
}
