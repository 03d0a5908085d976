//! State and layout of the event log popup. Pure.

use ratatui::layout::Rect;

use super::{LogLine, Query};
use crate::ui::popup::pickers;
use crate::ui::popup::readers::centered;
use crate::ui::popup::{Popup, Searching};
use crate::ui::state::UiState;
use crate::ui::state::rows::first_row;
use crate::ui::writing::line_input::LineInput;

/// Maximum width of the popup, in columns.
const WIDTH_MAX: u16 = 140;
/// Maximum height of the popup, in rows.
const HEIGHT_MAX: u16 = 42;
/// Minimum inner height, in rows, at which the full text of the selected line is shown below the list.
const WHOLE_FROM: u16 = 9;

/// Selection and filter of the open event log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogView {
    /// The number of the selected line; `None` follows the newest line.
    pub selected: Option<u64>,
    /// The filter input.
    pub filter: LineInput,
    /// Whether the filter input has the focus.
    pub searching: Searching,
}

impl LogView {
    /// Whether the filter is not empty.
    pub fn is_filtered(&self) -> bool {
        !self.filter.text().trim().is_empty()
    }

    /// Whether there is a filter or its input is open.
    pub fn has_filter(&self) -> bool {
        self.searching == Searching::Typing || self.is_filtered()
    }

    /// Closes and clears the filter.
    pub fn end_filter(&mut self) {
        self.searching = Searching::Rest;
        self.filter = LineInput::default();
    }

    /// Whether only warnings and errors are shown.
    pub fn is_trouble_only(&self) -> bool {
        self.filter.text().split_whitespace().any(|w| w == "!")
    }

    /// Parses the filter.
    pub fn query(&self) -> Query {
        Query::new(self.filter.text())
    }

    /// Returns the lines that match the filter, oldest first.
    pub fn rows<'a>(&self, state: &'a UiState) -> Vec<&'a LogLine> {
        let query = self.query();
        let lines = state.event_log.lines();
        lines.filter(|l| query.matches(l)).collect()
    }

    /// Returns the index of the selected line in `rows`, or `None` if `rows` is empty.
    pub fn row(&self, rows: &[&LogLine]) -> Option<usize> {
        let newest = rows.len().checked_sub(1)?;
        let Some(number) = self.selected else {
            return Some(newest);
        };
        // A line that was dropped or filtered out is replaced by the next one.
        let at = rows.iter().position(|l| l.number == number);
        at.or_else(|| rows.iter().position(|l| l.number > number))
            .or(Some(newest))
    }

    /// Selects the row at index `at`. Selecting the newest row follows new lines.
    pub fn select(&mut self, rows: &[&LogLine], at: usize) {
        let is_newest = at + 1 >= rows.len();
        let line = rows.get(at).filter(|_| !is_newest);
        self.selected = line.map(|l| l.number);
    }
}

/// Returns the selected line if the event log is the topmost popup.
pub fn selected(state: &UiState) -> Option<&LogLine> {
    let Some(Popup::EventLog(view)) = state.popups.last() else {
        return None;
    };
    let rows = view.rows(state);
    rows.get(view.row(&rows)?).copied()
}

/// The areas of the event log popup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    /// The popup, including its frame.
    pub area: Rect,
    /// The row of the filter input.
    pub search: Option<Rect>,
    /// The row with the note that older lines are missing.
    pub cut: Option<Rect>,
    /// The rows of the list.
    pub list: Rect,
    /// A separator and the full text of the selected line.
    pub whole: Option<Rect>,
    /// The index of the first visible row.
    pub first: usize,
}

/// Computes the layout for `len` rows with `row` selected.
pub fn place(state: &UiState, view: &LogView, len: usize, row: usize) -> LogPlace {
    let screen = state.size;
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = HEIGHT_MAX.min(screen.height.saturating_sub(4));
    let area = centered(screen, width, height);
    let mut list = pickers::inside(area);
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
