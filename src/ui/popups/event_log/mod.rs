//! State and layout of the event log popup. Pure.

mod feature;
#[cfg(test)]
mod tests;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::{LogView, Popup};
use crate::ui::model::event_log::LogLine;
use crate::ui::widgets::area;
use crate::ui::widgets::area::centered;
use crate::ui::widgets::line_input::Searching;
use crate::ui::widgets::list::first_row;
pub use feature::EventLogPopup;

/// Maximum width of the popup, in columns.
const WIDTH_MAX: u16 = 140;
/// Maximum height of the popup, in rows.
const HEIGHT_MAX: u16 = 42;
/// Minimum inner height, in rows, at which the full text of the selected line is shown below the list.
const WHOLE_FROM: u16 = 9;

/// The selected line if the event log is the topmost popup.
pub fn selected(app: &App) -> Option<&LogLine> {
    let Some(Popup::EventLog(view)) = app.popups.last() else {
        return None;
    };
    let rows = view.rows(app);
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
    /// Returns the rows of the picker.
    pub list: Rect,
    /// A separator and the full text of the selected line.
    pub whole: Option<Rect>,
    /// The index of the first visible row.
    pub first: usize,
}

/// Computes the layout for `len` rows with `row` selected.
pub fn place(app: &App, view: &LogView, len: usize, row: usize) -> LogPlace {
    let screen = app.size;
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = HEIGHT_MAX.min(screen.height.saturating_sub(4));
    let area = centered(screen, width, height);
    let mut list = area::inside(area);
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
    let cut = app.model.event_log.is_cut().then(|| top(&mut list));
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
