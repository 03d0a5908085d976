//! Keeps the selected items of lists selected when an event changes the lists. Items are recognized by their identity,
//! not by their row.

use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::popup::{Next, Popup};
use crate::ui::keymap::pane::Pane;
use crate::ui::shell::state::UiState;

/// Lets the panes and the topmost popup remember their selected items before `event` is applied. Does nothing for
/// events with parts of answers or outputs, because such events change no list.
pub fn before(state: &mut UiState, event: &EventKind) {
    if event.is_delta() {
        return;
    }
    for pane in Pane::ALL {
        state.panes.get_mut(pane).before_event(&state.app, event);
    }
    of_popup(state, Popup::before_event);
}

/// Lets the panes and the topmost popup select the items that they remembered before `event` was applied. If such an
/// item was removed, the item that is now in its row is selected.
pub fn after(state: &mut UiState, event: &EventKind) {
    if event.is_delta() {
        return;
    }
    for pane in Pane::ALL {
        state.panes.get_mut(pane).after_event(&state.app);
    }
    of_popup(state, Popup::after_event);
}

fn of_popup(app: &mut App, change: impl FnOnce(&mut dyn Popup, &App)) {
    let _ = app.with_popup(|popup, app| {
        change(popup, app);
        Next::Stay
    });
}
