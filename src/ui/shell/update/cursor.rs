//! A click in the composer: places the cursor at the nearest position.

use ratatui::layout::Position;

use crate::ui::frame::navigation;
use crate::ui::keymap::pane::Focus;
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::widgets::area::inside;

/// Handles a click on the composer: focuses it and places its cursor at `here`.
pub fn in_composer(state: &mut UiState, here: Position) {
    // Uses the area at the time of the click, because focusing may move the composer.
    let area = layout::layout(state, state.size).composer;
    navigation::compose(state);
    if let (Some(area), Focus::Composer) = (area, state.focus) {
        state.input.composer.click_at(inside(area), here);
    }
}
