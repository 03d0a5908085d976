//! Mouse input on scrollbars: scrolls to the clicked or dragged position.

use crate::ui::app::popup::Next;
use crate::ui::frame::hit::ScrollTarget;
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::layout::areas;
use crate::ui::shell::peek::{self, Peek, ScrollTo};
use crate::ui::shell::state::UiState;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Scrolls the pane or popup `of` so that the thumb of its scrollbar is at `row`, a row of the screen. Does not change
/// the focus.
pub fn jump(state: &mut UiState, of: ScrollTarget, bar: Scrollbar, row: u16) {
    match of {
        ScrollTarget::Pane(pane) => pane_to(state, pane, bar, row),
        ScrollTarget::Popup => popup_to(state, bar, row),
    }
}

fn pane_to(state: &mut UiState, pane: Pane, bar: Scrollbar, row: u16) {
    let area = areas::frame_of(state, pane);
    state
        .panes
        .get_mut(pane)
        .jump(&mut state.app, area, bar, row);
}

fn popup_to(state: &mut UiState, bar: Scrollbar, row: u16) {
    let (first, at) = (bar.first_at(row), bar.row_at(row));
    if state.popups.top::<Peek>().is_some() {
        return peek::update::read(state, ScrollTo::To(first));
    }
    let _ = state.with_popup(|popup, app| {
        popup.jump(app, first, at);
        Next::Stay
    });
}
