//! Pure: keys that were meant for something else go nowhere, and the focus stays where the next request comes.

use std::mem::{Discriminant, discriminant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::Request;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::app::key_guard::{HOLD, Hold, SETTLE};
use crate::ui::app::popup::Popup;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Found};
use crate::ui::panes::rows;
use crate::ui::shell::update::unknown;

/// What a key would act on.
#[derive(PartialEq)]
struct Target {
    focus: Focus,
    popups: usize,
    popup: Option<(Discriminant<Popup>, Option<RequestId>)>,
    request: Option<RequestId>,
}

fn target(state: &UiState) -> Target {
    let popup = state.popups.last();
    let decides = match popup {
        None => state.focus == Focus::Pane(Pane::Needs),
        Some(popup) => matches!(popup, Popup::Peek(Pane::Needs)),
    };
    let selected = || rows::selected_request(state).map(|(_, r)| r.id.clone());
    Target {
        focus: state.focus,
        popups: state.popups.len(),
        popup: popup.map(|p| (discriminant(p), p.request().cloned())),
        request: decides.then(selected).flatten(),
    }
}

/// Makes a change that no key of the user makes. Where keys act on something else afterwards, they go nowhere for
/// [`SETTLE`]. What opens was asked for by a key: it takes keys at once.
pub fn watch(state: &mut UiState, change: impl FnOnce(&mut UiState)) {
    let before = target(state);
    change(state);
    end_hold(state);
    let after = target(state);
    if after != before && after.popups <= before.popups {
        state.keys.guard.moved_at = Some(state.now);
    }
}

/// Whether `key` comes too soon after such a change. Says so then.
pub fn ignores(state: &mut UiState, key: KeyEvent, name: &str) -> bool {
    let Some(moved_at) = state.keys.guard.moved_at else {
        return false;
    };
    // In a recording nothing is decided, and its time is not that of the keys.
    if state.replay.is_some() || state.now.since(moved_at) >= SETTLE || leads_away(state, key, name)
    {
        state.keys.guard.moved_at = None;
        return false;
    }
    state.keys.prefix = None;
    let is_text = matches!(key.code, KeyCode::Char(_))
        && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    let writes = state.contexts().into_iter().any(unknown::takes_text);
    if is_text && !writes {
        // Whoever is typing goes on typing: none of it may become an action before a pause.
        state.keys.guard.moved_at = Some(state.now);
    }
    let selected = rows::selected_request(state).map(|(_, r)| r.from.clone());
    let why = match (state.focus, selected) {
        (Focus::Pane(Pane::Needs), Some(from)) if state.is_in_panes() => {
            format!("Key ignored: a new request from {from} is shown. Read it first.")
        }
        _ if writes => "Key ignored: the focus came here a moment ago.".into(),
        _ => "Key ignored: the focus changed a moment ago.".into(),
    };
    state.note(Level::Info, &why);
    true
}

/// Whether it is a key that is not typed by chance and decides nothing: it chooses what has the focus, or stops.
fn leads_away(state: &UiState, key: KeyEvent, name: &str) -> bool {
    let is_chord = matches!(key.code, KeyCode::F(_))
        || key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
    let found = state.prefs.keymap.lookup(&state.contexts(), name);
    is_chord
        && matches!(
            found,
            Found::Action(
                Action::Waiting
                    | Action::Interrupt
                    | Action::Focus(_)
                    | Action::Help
                    | Action::Palette
                    | Action::Suspend
            )
        )
}

/// Nothing waits any more in Needs you, which has the focus. Where the user decided `last`, it stays there while the
/// agent goes on, [`HOLD`] at most.
pub fn all_decided(state: &mut UiState, last: &Request) {
    let is_users = last.decided_by == Name::user().as_str();
    if is_users && state.is_running(&last.from) && state.replay.is_none() {
        state.keys.guard.hold = Some(Hold {
            asker: last.from.clone(),
            until: state.now.after(HOLD),
        });
    } else {
        give_back(state);
    }
}

fn end_hold(state: &mut UiState) {
    let Some(hold) = &state.keys.guard.hold else {
        return;
    };
    if state.focus != Focus::Pane(Pane::Needs) || !state.model.requests.is_empty() {
        state.keys.guard.hold = None;
        return;
    }
    let goes_on = hold.until > state.now && state.is_running(&hold.asker);
    if !goes_on && state.popups.is_empty() {
        give_back(state);
    }
}

fn give_back(state: &mut UiState) {
    state.keys.guard.hold = None;
    if let Some(focus) = state.keys.before_needs.take() {
        state.focus = focus;
        state.arrangement.zoom = None;
        state.dirty = true;
    }
}
