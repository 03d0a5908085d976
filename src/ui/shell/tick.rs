//! The time of the next screen change that needs no input, such as a spinner step. Pure.

use std::time::Duration;

use crate::domain::team::Activity;
use crate::ui::model::style::SPINNER_INTERVAL;
use crate::ui::shell::ages;
use crate::ui::shell::state::UiState;

/// Returns the time until the screen changes, or a notification is due, without input; `None` if neither will happen or a
/// replay is paused.
pub fn next_tick(state: &UiState) -> Option<Duration> {
    if let Some(player) = &state.replay
        && !player.is_playing()
    {
        return None;
    }
    let coming = state.replay.as_ref().and_then(|p| p.next_in());
    let message_time = state.status.as_ref().map(|f| f.until.since(state.now));
    let any = |wanted: fn(&Activity) -> bool| {
        state
            .present()
            .iter()
            .any(|name| wanted(&state.activity(name)))
    };
    let counting =
        any(Activity::is_busy) || state.popups.iter().any(|popup| popup.counts_seconds(state));
    let spinning = any(Activity::is_running);
    let busy = if spinning {
        Some(SPINNER_INTERVAL)
    } else {
        counting.then_some(Duration::from_secs(1))
    };
    let call = state.notifier.next_in(state.now);
    let ages = ages::next_change_in(state);
    [busy, message_time, coming, call, ages]
        .into_iter()
        .flatten()
        .min()
}
