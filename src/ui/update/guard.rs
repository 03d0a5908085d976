//! Key guard: ignores keys for a short time after the focus changed by itself, and keeps the focus where the next
//! request appears.

use std::mem::{Discriminant, discriminant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::unknown;
use crate::domain::ids::{Name, RequestId};
use crate::domain::request::Request;
use crate::protocol::event::Level;
use crate::ui::keymap::{Action, Found};
use crate::ui::popup::Popup;
use crate::ui::state::UiState;
use crate::ui::state::key_guard::{HOLD, Hold, SETTLE};
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::state::rows;

/// The target of the next key.
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

/// Applies a change that was not caused by a key. If the key target changes, keys are ignored for [`SETTLE`]. A popup
/// opened by a key accepts keys at once.
pub fn watch(state: &mut UiState, change: impl FnOnce(&mut UiState)) {
    let before = target(state);
    change(state);
    end_hold(state);
    let after = target(state);
    if after != before && after.popups <= before.popups {
        state.key_guard.moved_at = Some(state.now);
    }
}

/// Returns whether `key` comes too soon after such a change; if so, shows a status message.
pub fn ignores(state: &mut UiState, key: KeyEvent, name: &str) -> bool {
    let Some(moved_at) = state.key_guard.moved_at else {
        return false;
    };
    // A replay decides nothing, and its clock is not that of the keys.
    if state.replay.is_some() || state.now.since(moved_at) >= SETTLE || leads_away(state, key, name)
    {
        state.key_guard.moved_at = None;
        return false;
    }
    state.prefix = None;
    let is_text = matches!(key.code, KeyCode::Char(_))
        && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    let writes = state.contexts().into_iter().any(unknown::takes_text);
    if is_text && !writes {
        // A fast typist continues typing: restart the wait, so that no key becomes an action before a pause.
        state.key_guard.moved_at = Some(state.now);
    }
    let selected = rows::selected_request(state).map(|(_, r)| r.from.clone());
    let why = match (state.focus, selected) {
        (Focus::Pane(Pane::Needs), Some(from)) if state.is_in_panes() => {
            format!("Key ignored: a new request from {from} is shown. Read it first.")
        }
        _ if writes => "Key ignored: the focus just moved here.".into(),
        _ => "Key ignored: the focus just changed.".into(),
    };
    state.note(Level::Info, &why);
    true
}

/// Returns whether a key is always safe: a chord or function key that moves the focus, interrupts or opens help.
fn leads_away(state: &UiState, key: KeyEvent, name: &str) -> bool {
    let is_chord = matches!(key.code, KeyCode::F(_))
        || key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
    let found = state.keymap.lookup(&state.contexts(), name);
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

/// Handles the last decision while Needs you is focused. If the user decided `last`, the focus stays while the agent
/// continues, for at most [`HOLD`].
pub fn all_decided(state: &mut UiState, last: &Request) {
    let is_users = last.decided_by == Name::user().as_str();
    if is_users && state.is_running(&last.from) && state.replay.is_none() {
        state.key_guard.hold = Some(Hold {
            asker: last.from.clone(),
            until: state.now.after(HOLD),
        });
    } else {
        give_back(state);
    }
}

fn end_hold(state: &mut UiState) {
    let Some(hold) = &state.key_guard.hold else {
        return;
    };
    if state.focus != Focus::Pane(Pane::Needs) || !state.requests.is_empty() {
        state.key_guard.hold = None;
        return;
    }
    let goes_on = hold.until > state.now && state.is_running(&hold.asker);
    if !goes_on && state.popups.is_empty() {
        give_back(state);
    }
}

fn give_back(state: &mut UiState) {
    state.key_guard.hold = None;
    if let Some(focus) = state.before_needs.take() {
        state.focus = focus;
        state.zoom = None;
        state.dirty = true;
    }
}
