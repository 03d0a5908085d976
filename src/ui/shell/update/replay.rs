//! Replay of a recorded session: playing, stepping and jumping apply past events to the screen.

use ratatui::layout::Rect;

use crate::domain::timestamp::Timestamp;
use crate::protocol::Event;
use crate::ui::app::effect::Effect;
use crate::ui::app::{App, UNCHANGED};
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::event_log::EventLog;
use crate::ui::replay::{Player, Seek};
use crate::ui::shell;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::apply::{apply_event, tick};
use crate::ui::shell::update::replay;

/// Starts a replay: focuses the conversation, hides the tour line and turns off notifications.
pub fn begin(state: &mut UiState, player: Player) {
    state.replay = Some(Box::new(player));
    state.is_tour_dismissed = true;
    state.notifier.set_kinds(&[]);
    state.focus = Focus::Pane(Pane::Lead);
    state.dirty = true;
}

/// Advances the replay to the wall-clock time `now`.
pub fn advance(state: &mut UiState, now: Timestamp) {
    let Some(mut player) = state.replay.take() else {
        return;
    };
    let count = player.advance(now).len();
    state.replay = Some(player);
    apply_newest(state, count);
}

/// Moves the replay with `by`, a method of the player such as a step or a jump, and shows the state at the new
/// position.
pub fn move_with(state: &mut UiState, by: fn(&mut Player) -> Seek) {
    move_player(state, by);
}

/// Changes the speed of the replay with `by`, a method of the player.
pub fn speed(app: &mut App, by: fn(&mut Player)) {
    if let Some(player) = &mut app.replay {
        by(player);
        app.dirty = true;
    }
}

/// Moves the replay to the position that was clicked in the progress line `line`. `column` is a column of the screen.
pub fn seek(state: &mut UiState, line: Rect, column: u16) {
    let Some(player) = &state.replay else { return };
    if let Some(share) = shell::view::share_of(player, line, column) {
        move_player(state, |player| player.seek_share(share));
    }
}

fn move_player(state: &mut UiState, by: impl FnOnce(&mut Player) -> Seek) {
    let Some(player) = &mut state.replay else {
        return;
    };
    let (seek, all) = (by(player), player.past_event_count());
    state.dirty = true;
    match seek {
        Seek::Forward(more) => apply_newest(state, more),
        Seek::Rebuild => {
            forget_the_past(state);
            apply_newest(state, all);
        }
    }
}

/// Resets the crew's state, the event log and the clock. Keeps what the user has written or chosen.
fn forget_the_past(app: &mut App) {
    app.forget_crew();
    app.model.event_log = EventLog::default();
    app.status = None;
    app.now = Timestamp::default();
}

/// Applies the newest events that were played so far, and sets the time of the replay. `more` is the number of these
/// events. The screen must already show the events before them.
fn apply_newest(state: &mut UiState, more: usize) {
    let Some(player) = state.replay.take() else {
        return;
    };
    let past = player.past();
    let (known, news) = past.split_at(past.len().saturating_sub(more));
    let focus = state.focus;
    recall(state, known.last(), news);
    state.focus = focus;
    tick(state, player.clock());
    state.dirty |= more > 0;
    state.replay = Some(player);
}

/// Applies the recorded `events`. Runs no effects; notifications that the events add stay pending until the caller clears
/// them. `before` is the event that precedes `events` in the recording; `None` if there is none.
pub fn recall(state: &mut UiState, before: Option<&Event>, events: &[Event]) {
    let mut before = before.map(|e| e.seq);
    for event in events {
        // Sequence numbers start again with each crewdeck process. A lower number means that the previous process has
        // ended, with all its agents.
        if before.is_some_and(|seq| event.seq <= seq) {
            state.end_of_session(event.at);
        }
        before = Some(event.seq);
        apply_event(state, event);
    }
}

/// Returns the message that says why `action` is not available in a replay; `None` if it is available. This check keeps
/// the user from filling in a form or dialog whose result would be dropped.
pub fn refuses(app: &App, action: Action) -> Option<String> {
    // These actions need a crew, but are useful in a replay too: they only show or export something, or quit.
    let looks = [
        Action::Compose,
        Action::Diff,
        Action::Export,
        Action::Interrupt,
        Action::Models,
    ];
    let is_change = action.needs_crew() && !looks.contains(&action);
    (app.replay.is_some() && is_change).then(|| UNCHANGED.into())
}

/// In a replay, drops the effects that need a running crew. If there are any, also forgets what the user has decided and
/// queued, and shows a status message that nothing can be changed.
pub fn hold_back(app: &mut App, out: &mut Vec<Effect>) {
    if app.replay.is_none() {
        return;
    }
    let before = out.len();
    out.retain(|effect| !matches!(effect, Effect::Command(_) | Effect::EditComposer));
    if out.len() < before {
        app.model.requests.forget_answers();
        app.model.queued.clear();
        app.popups.answers_will_not_come();
        app.say(UNCHANGED);
    }
}

/// Advances the replay to the wall-clock time `now`. Without a replay, sets the current time of the screen.
pub fn clock(state: &mut UiState, now: Timestamp) {
    if state.replay.is_some() {
        replay::advance(state, now);
    } else {
        tick(state, now);
    }
}
