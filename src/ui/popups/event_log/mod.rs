//! The event log over the panes: which lines are in view, and where. Pure.

pub(in crate::ui) mod query;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::ui::app::UiState;
use crate::ui::app::popup::{Popup, Searching};
use crate::ui::model::event_log::LogLine;
use crate::ui::panes::rows::first_row;
use crate::ui::popups::event_log::query::Query;
use crate::ui::popups::picker;
use crate::ui::popups::reader::centered;
use crate::ui::widgets::line_input::LineInput;

/// Widest popup, in columns.
const WIDTH_MAX: u16 = 140;
/// Highest popup, in rows.
const HEIGHT_MAX: u16 = 42;
/// From so many rows inside on, the selected line is shown whole below the list.
const WHOLE_FROM: u16 = 9;

/// How the log is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogView {
    /// The selected line, by its number; `None`: the newest, whichever that is.
    pub selected: Option<u64>,
    /// What it is filtered by.
    pub filter: LineInput,
    /// Whether that is being written.
    pub searching: Searching,
}

impl LogView {
    /// Whether only some lines are shown.
    pub fn is_filtered(&self) -> bool {
        !self.filter.text().trim().is_empty()
    }

    /// Whether there is a filter, written or being written.
    pub fn has_filter(&self) -> bool {
        self.searching == Searching::Typing || self.is_filtered()
    }

    /// Shows everything again.
    pub fn end_filter(&mut self) {
        self.searching = Searching::Rest;
        self.filter = LineInput::default();
    }

    /// Whether trouble alone is shown.
    pub fn is_trouble_only(&self) -> bool {
        self.filter.text().split_whitespace().any(|w| w == "!")
    }

    /// What is looked for.
    pub fn query(&self) -> Query {
        Query::new(self.filter.text())
    }

    /// The lines that the filter lets through, the oldest first.
    pub fn rows<'a>(&self, state: &'a UiState) -> Vec<&'a LogLine> {
        let query = self.query();
        let lines = state.event_log.lines();
        lines.filter(|l| query.matches(l)).collect()
    }

    /// The place of the selected line among `rows`; `None`: there is none.
    pub fn row(&self, rows: &[&LogLine]) -> Option<usize> {
        let newest = rows.len().checked_sub(1)?;
        let Some(number) = self.selected else {
            return Some(newest);
        };
        // One that fell off the log or the filter gives way to the one that came next.
        let at = rows.iter().position(|l| l.number == number);
        at.or_else(|| rows.iter().position(|l| l.number > number))
            .or(Some(newest))
    }

    /// Selects the row at a place; on the newest it follows.
    pub fn select(&mut self, rows: &[&LogLine], at: usize) {
        let is_newest = at + 1 >= rows.len();
        let line = rows.get(at).filter(|_| !is_newest);
        self.selected = line.map(|l| l.number);
    }
}

/// The selected line, where the log lies on top.
pub fn selected(state: &UiState) -> Option<&LogLine> {
    let Some(Popup::EventLog(view)) = state.popups.last() else {
        return None;
    };
    let rows = view.rows(state);
    rows.get(view.row(&rows)?).copied()
}

/// Where the parts of the log lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// The popup with its frame.
    pub area: Rect,
    /// The row in which the filter is written.
    pub search: Option<Rect>,
    /// The row that says that older lines are missing.
    pub cut: Option<Rect>,
    /// The rows of the list.
    pub list: Rect,
    /// A rule, and below it the selected line whole.
    pub whole: Option<Rect>,
    /// The place of the first row in view.
    pub first: usize,
}

/// Where they lie for so many rows, one of which is selected.
pub fn place(state: &UiState, view: &LogView, len: usize, row: usize) -> LogPlace {
    let screen = state.size;
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = HEIGHT_MAX.min(screen.height.saturating_sub(4));
    let area = centered(screen, width, height);
    let mut list = picker::place::inside(area);
    let top = |list: &mut Rect| {
        let row = Rect {
            height: 1.min(list.height),
            ..*list
        };
        list.y += row.height;
        list.height -= row.height;
        row
    };
    let search = (view.searching == Searching::Typing).then(|| top(&mut list));
    let cut = state.event_log.is_cut().then(|| top(&mut list));
    let whole = (list.height >= WHOLE_FROM).then(|| {
        let height = if list.height >= 2 * WHOLE_FROM { 4 } else { 3 };
        list.height -= height;
        Rect {
            y: list.y + list.height,
            height,
            ..list
        }
    });
    LogPlace {
        area,
        search,
        cut,
        list,
        whole,
        first: first_row(len, row, list.height),
    }
}
