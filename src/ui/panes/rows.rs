//! The rows of the panes' lists in display order, and the selected one of each.

use ratatui::layout::Rect;

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::widgets::cut::cut_top;

/// Returns the row of the pane's filter, if there is one, and the area of its list.
pub fn places(app: &App, pane: Pane, inside: Rect) -> (Option<Rect>, Rect) {
    match pane {
        Pane::Team | Pane::Inbox if app.filters.of(pane).is_some() => {
            let (row, list) = cut_top(inside, 1);
            (Some(row), list)
        }
        Pane::Lead | Pane::Todo | Pane::Board | Pane::Team | Pane::Inbox | Pane::Needs => {
            (None, inside)
        }
    }
}
