//! Areas of panes, for the actions of keys that depend on a page size or a scroll position.

use ratatui::layout::Rect;

use crate::ui::frame::layout as frame_layout;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::lead::conversation_area;
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;
use crate::ui::transcript::Viewport;

/// Returns the size of the visible part of the shown conversation; zero if its pane is not on the screen.
pub fn viewport(state: &UiState) -> Viewport {
    let layout = layout::layout(state, state.size);
    let area = layout
        .pane(Pane::Lead)
        .map(|area| conversation_area(state, area))
        .unwrap_or_default();
    frame_layout::viewport(area)
}

/// Returns the area of a pane with its frame; `None` if the pane is not visible.
pub fn frame_of(state: &UiState, pane: Pane) -> Option<Rect> {
    layout::layout(state, state.size).pane(pane)
}
