//! Handles a click in the composer.

use ratatui::layout::Position;

use crate::ui::frame::navigation;
use crate::ui::keymap::pane::Focus;
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::widgets::area::inside;

/// Focuses the composer and places its cursor at the text position nearest to the clicked cell `here`.
pub fn in_composer(state: &mut UiState, here: Position) {
    // The area is computed before the focus moves, because the focus may move the composer.
    let area = layout::layout(state, state.size).composer;
    navigation::compose(state);
    if let (Some(area), Focus::Composer) = (area, state.focus) {
        state.input.composer.click_at(inside(area), here);
    }
}
