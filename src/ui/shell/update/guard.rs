//! Key guard: ignores keys for a short time after the focus or its content has changed without a key press.

use std::any::{Any, TypeId};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::ids::RequestId;
use crate::domain::request::Request;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::key_guard::SETTLE;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyLookup};
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;

/// What the next key would act on. If this value differs before and after a change, the next key would act on something
/// else after the change.
#[derive(PartialEq)]
struct KeyTarget {
    focus: Focus,
    popups: usize,
    popup: Option<(TypeId, Option<RequestId>)>,
    request: Option<RequestId>,
}

fn target(state: &UiState) -> KeyTarget {
    let popup = state.popups.last();
    let decides = match popup {
        None => state.focus == Focus::Pane(Pane::Needs),
        Some(_) => {
            let peek = state.popups.top::<Peek>();
            peek.is_some_and(|peek| peek.pane == Pane::Needs)
        }
    };
    let request = decides.then(|| state.selected_request()).flatten();
    KeyTarget {
        focus: state.focus,
        popups: state.popups.len(),
        popup: popup.map(|p| ((p as &dyn Any).type_id(), p.request().cloned())),
        request: request.map(|r| r.id.clone()),
    }
}

/// Applies a change that was not caused by a key. If the next key would act on something else after the change, keys
/// are ignored for the time [`SETTLE`]. If the change opens a popup, no key is ignored, because the user has requested
/// the popup with an earlier key.
pub fn watch(state: &mut UiState, change: impl FnOnce(&mut UiState)) {
    let before = target(state);
    change(state);
    let after = target(state);
    if after != before && after.popups <= before.popups {
        state.keys.guard.moved_at = Some(state.now);
    }
}

/// Returns whether `key` must be ignored because the key's target changed less than [`SETTLE`] ago. If so, shows a
/// status message. An ignored character outside a text field starts this time again.
pub fn ignores(state: &mut UiState, key: KeyEvent, name: &str) -> bool {
    let Some(moved_at) = state.keys.guard.moved_at else {
        return false;
    };
    // In a replay, no key decides anything, and `now` is the time of the recording.
    if state.replay.is_some() || state.now.since(moved_at) >= SETTLE || leads_away(state, key, name)
    {
        state.keys.guard.moved_at = None;
        return false;
    }
    // The key may only have closed the preview. Then the keys that follow are still ignored.
    if leaves_request(state, key, name) {
        return false;
    }
    state.keys.prefix = None;
    let is_text = matches!(key.code, KeyCode::Char(_))
        && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    let writes = state.contexts().into_iter().any(Context::takes_text);
    if is_text && !writes {
        // A user who types fast continues to type: the wait starts again, so that no key becomes an action before a
        // pause.
        state.keys.guard.moved_at = Some(state.now);
    }
    let why = match (state.focus, state.selected_request()) {
        (Focus::Pane(Pane::Needs), Some(Request { from, .. })) if state.is_in_panes() => {
            format!("Key ignored: a new request from {from} has just appeared. Read it first.")
        }
        _ if writes => {
            "Key ignored: the focus just moved to this text field. Check it, then type.".into()
        }
        _ => "Key ignored: the focus just changed. Check what has the focus first.".into(),
    };
    state.note(NoticeLevel::Info, &why);
    true
}

/// Returns whether `key` is Esc and leaves the pane "Needs you" or closes the preview of a request. The key guard lets
/// this key through, because it decides no request.
fn leaves_request(state: &UiState, key: KeyEvent, name: &str) -> bool {
    let is_in_pane = state.is_in_panes() || state.popups.top::<Peek>().is_some();
    key.code == KeyCode::Esc
        && state.focus == Focus::Pane(Pane::Needs)
        && is_in_pane
        && state.prefs.keymap.lookup(&state.contexts(), name) == KeyLookup::Action(Action::Back)
}

/// Returns whether `key` is never ignored. True for a combination with Ctrl or Alt, or a function key, that moves the
/// focus, interrupts, suspends crewdeck, or opens the help or the palette.
fn leads_away(state: &UiState, key: KeyEvent, name: &str) -> bool {
    let is_chord = matches!(key.code, KeyCode::F(_))
        || key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
    let found = state.prefs.keymap.lookup(&state.contexts(), name);
    is_chord
        && matches!(
            found,
            KeyLookup::Action(
                Action::Waiting
                    | Action::Interrupt
                    | Action::Focus(_)
                    | Action::Help
                    | Action::Palette
                    | Action::Suspend
            )
        )
}
