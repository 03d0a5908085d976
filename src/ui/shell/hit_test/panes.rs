//! Mouse targets of the panes and their frames.

use ratatui::layout::Rect;

use crate::ui::frame;
use crate::ui::frame::hit::{Hit, ScrollTarget};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::hit_test::PlacedPart;
use crate::ui::shell::state::UiState;

/// Adds the targets on a pane's frame: the title, which focuses the pane, the pane's own targets, and the scroll bar.
pub fn on_the_frame(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
    out.push(PlacedPart {
        at: frame::title_place(&state.prefs, pane, area),
        what: Hit::Button(Action::Focus(pane)),
    });
    state.panes.get(pane).frame_targets(state, area, out);
    let bar = state.panes.get(pane).scrollbar(state, area);
    out.extend(bar.map(|bar| PlacedPart {
        at: bar.at,
        what: Hit::Scrollbar(ScrollTarget::Pane(pane), bar),
    }));
}

/// Adds the targets inside a pane, and below them the pane's whole area as a target that focuses the pane.
pub fn inside(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
    state.panes.get(pane).targets(state, area, out);
    out.push(PlacedPart {
        at: area,
        what: Hit::Pane(pane),
    });
}
