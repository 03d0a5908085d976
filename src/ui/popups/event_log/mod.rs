//! The popup with the event log, a filterable list of what has happened in the crew: its state, opening and layout. Does
//! no I/O.

mod popup;
mod query;
#[cfg(test)]
pub(in crate::ui) mod tests;
mod update;
mod view;

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::app::popup::open_once;
use crate::ui::widgets::area;
use crate::ui::widgets::area::{PopupListLayout, centered_rect};
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::list::first_row;

const WIDTH_MAX: u16 = 140;
const HEIGHT_MAX: u16 = 42;
/// Minimum height of the area inside the border, in rows, to show the full text of the selected line below the list.
const WHOLE_FROM: u16 = 9;

#[derive(Debug, Default)]
pub struct EventLogPopup {
    /// The number of the selected [`LogLine`](crate::ui::model::event_log::LogLine). `None` means that the newest line
    /// is selected, also when newer lines arrive.
    pub selected: Option<u64>,
    filter: LineInput,
    /// Whether the user is typing the filter.
    pub is_typing: bool,
}

pub fn open(app: &mut App) {
    open_once(app, EventLogPopup::default());
}

/// The areas of the event log popup. An optional area is `None` if it is not visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLogLayout {
    /// The row of the filter input.
    pub search: Option<Rect>,
    /// The row with the note that older lines are no longer in memory.
    pub cut: Option<Rect>,
    pub rows: PopupListLayout,
    /// A separator and the full text of the selected line.
    pub whole: Option<Rect>,
}

/// Computes the layout for `len` log lines, of which the one at index `row` is selected.
pub fn place(app: &App, view: &EventLogPopup, len: usize, row: usize) -> EventLogLayout {
    let screen = app.size;
    let width = WIDTH_MAX.min(screen.width.saturating_sub(4));
    let height = HEIGHT_MAX.min(screen.height.saturating_sub(4));
    let area = centered_rect(screen, width, height);
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
    let search = view.is_typing.then(|| top(&mut list));
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
    let first = first_row(len, row, list.height);
    EventLogLayout {
        rows: PopupListLayout { area, list, first },
        search,
        cut,
        whole,
    }
}
