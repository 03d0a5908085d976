//! Replay of a recording: time, steps and jumps apply past events to the screen.

use ratatui::layout::Rect;

use super::{Do, hear, tick};
use crate::domain::stamp::Stamp;
use crate::protocol::Event;
use crate::protocol::event::Level;
use crate::ui::event_log::EventLog;
use crate::ui::guide::hints;
use crate::ui::guide::tour::Tour;
use crate::ui::keymap::Action;
use crate::ui::replay::{Player, Seek};
use crate::ui::state::UiState;
use crate::ui::view;

/// Shown when a key would change something.
pub const UNCHANGED: &str = "This is a replay: nothing can be changed.";

/// Starts a replay.
pub fn begin(state: &mut UiState, player: Player) {
    state.replay = Some(Box::new(player));
    state.tour = Tour::Dismissed;
    state.attention.want(&[]);
    state.focus = crate::ui::Focus::Pane(crate::ui::Pane::Lead);
    state.dirty = true;
}

/// Advances the replay to the wall-clock time `now`.
pub fn go(state: &mut UiState, now: Stamp) {
    let Some(mut player) = state.replay.take() else {
        return;
    };
    let told = player.go(now).len();
    state.replay = Some(player);
    on(state, told);
}

/// Moves the replay by `by`.
pub fn turn(state: &mut UiState, by: fn(&mut Player) -> Seek) {
    moved(state, by);
}

/// Changes the speed.
pub fn speed(state: &mut UiState, by: fn(&mut Player)) {
    if let Some(player) = &mut state.replay {
        by(player);
        state.dirty = true;
    }
}

/// Seeks to the clicked position of the progress bar.
pub fn seek(state: &mut UiState, line: Rect, column: u16) {
    let Some(player) = &state.replay else { return };
    if let Some(share) = view::share_of(player, line, column) {
        moved(state, |player| player.seek_share(share));
    }
}

fn moved(state: &mut UiState, by: impl FnOnce(&mut Player) -> Seek) {
    let Some(player) = &mut state.replay else {
        return;
    };
    let seek = by(player);
    state.dirty = true;
    match seek {
        Seek::On(more) => on(state, more),
        Seek::Back => {
            let all = player.happened();
            forget_the_past(state);
            on(state, all);
        }
    }
}

/// Resets the crew, the event log and the clock; keeps the user's own state.
fn forget_the_past(state: &mut UiState) {
    state.forget_crew();
    state.event_log = EventLog::default();
    state.flash = None;
    state.now = Stamp::default();
}

/// Applies the newest `more` past events and sets the replay's time.
fn on(state: &mut UiState, more: usize) {
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

/// Applies recorded `events` that follow `before`, without notifying the user.
pub fn recall(state: &mut UiState, before: Option<&Event>, events: &[Event]) {
    let mut before = before.map(|e| e.seq);
    for event in events {
        // Sequence numbers restart with each crewdeck process; agents of the previous one are no longer running.
        if before.is_some_and(|seq| event.seq <= seq) {
            state.end_of_session(event.at);
        }
        before = Some(event.seq);
        hear(state, event);
    }
}

/// Returns why `action` is unavailable in a replay: no form or question should lead to nothing. `None` if it is
/// available.
pub fn refuses(state: &UiState, action: Action) -> Option<String> {
    // These also display something or quit.
    let looks = [
        Action::Compose,
        Action::Diff,
        Action::Interrupt,
        Action::Models,
    ];
    let is_change = hints::acts_on_the_crew(action) && !looks.contains(&action);
    (state.replay.is_some() && is_change).then(|| UNCHANGED.into())
}

/// Drops effects that would reach a crew.
pub fn hold_back(state: &mut UiState, out: &mut Vec<Do>) {
    if state.replay.is_none() {
        return;
    }
    let before = out.len();
    out.retain(|wish| !matches!(wish, Do::Command(_) | Do::EditComposer));
    if out.len() < before {
        state.requests.forget_answers();
        state.queued.clear();
        state.task_forms.come_back();
        state.say(Level::Info, UNCHANGED);
    }
}
