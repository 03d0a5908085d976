//! Applies a crew event or a new time to the state.

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;
use crate::ui::app::onboarding;
use crate::ui::model::style::SPINNER_INTERVAL;
use crate::ui::shell::ages;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{events, keep_selection};

/// Applies an event to the model, the event log, the notifications, the panes and the topmost popup.
pub fn apply_event(state: &mut UiState, event: &Event) {
    // Runs first, because it uses data that is derived from the board, and the event may change the board.
    keep_selection::before(state, &event.kind);
    state.model.log(event);
    state.model.remember(event);
    events::notify_user(state, &event.kind);
    onboarding::on_event(state, &event.kind);
    events::event(state, event);
    state.pass_pane_requests();
    keep_selection::after(state, &event.kind);
}

/// Sets the current time. Removes an expired status message, and requests a redraw if a spinner or a shown age changes.
pub fn tick(state: &mut UiState, now: Timestamp) {
    let before = std::mem::replace(&mut state.app.now, now);
    if state.status.as_ref().is_some_and(|f| f.until <= now) {
        state.status = None;
        state.dirty = true;
    }
    let step = SPINNER_INTERVAL.as_secs_f64();
    let turns = state.busy() > 0 && (before.0 / step).floor() < (now.0 / step).floor();
    state.dirty |= turns || ages::changed_since(state, before);
}
