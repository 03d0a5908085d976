//! Mouse targets of the panes and their frames.

use ratatui::layout::Rect;

use crate::ui::frame;
use crate::ui::frame::hit::{Hit, ScrollTarget};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::hit_test::PlacedPart;
use crate::ui::shell::state::UiState;

/// Adds the mouse targets on the frame of `pane` to `out`: the title, `PaneFeature::frame_targets`, and the scrollbar.
/// A click on the title focuses the pane.
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

/// Adds the mouse targets inside `pane` to `out`, topmost first. The last one is the whole area: a click that hits no
/// other target focuses the pane.
pub fn inside(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
    state.panes.get(pane).targets(state, area, out);
    out.push(PlacedPart {
        at: area,
        what: Hit::Pane(pane),
    });
}
