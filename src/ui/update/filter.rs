//! Editing of pane filters.

use crate::ui::state::UiState;
use crate::ui::state::pane::Pane;
use crate::ui::writing::line_input::LineInput;

/// Edits the filter of a pane and selects its first match.
pub fn write(state: &mut UiState, pane: Pane, edit: impl FnOnce(&mut LineInput)) {
    let Some(filter) = state.filters.written(pane) else {
        return;
    };
    edit(&mut filter.words);
    match pane {
        Pane::Board => state.selected.task = None,
        Pane::Team => state.selected.member = None,
        // `None` selects the newest message.
        Pane::Inbox => state.selected.letter = None,
        Pane::Lead | Pane::Todo | Pane::Needs => {}
    }
}
