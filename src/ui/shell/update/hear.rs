//! Takes an event, or the time, into the state.

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;
use crate::ui::app::App;
use crate::ui::shell::ages;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::{events, first, keep_selection};
use crate::ui::theme::motion::{Motion, SPIN};

pub fn apply_event(state: &mut UiState, event: &Event) {
    // Must run first: it reads data derived from the board before the event changes it.
    let selection = keep_selection::before(state, &event.kind);
    state.log(event);
    state.remember(event);
    events::notify_user(state, &event.kind);
    first::heard(state, &event.kind);
    events::event(state, event);
    keep_selection::after(state, selection);
}

pub fn tick(app: &mut App, now: Timestamp) {
    let before = std::mem::replace(&mut app.now, now);
    if app.status.as_ref().is_some_and(|f| f.until <= now) {
        app.status = None;
        app.dirty = true;
    }
    let step = match app.prefs.motion {
        Motion::Full => SPIN.as_secs_f64(),
        Motion::Reduced => 1.0,
    };
    let turns = app.busy() > 0 && (before.0 / step).floor() < (now.0 / step).floor();
    app.dirty |= turns || ages::read_otherwise(app, before);
}
