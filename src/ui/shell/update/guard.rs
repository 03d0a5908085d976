//! Key guard: ignores keys for a short time after the focus changed by itself.

use std::any::{Any, TypeId};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::ids::RequestId;
use crate::domain::request::Request;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::key_guard::SETTLE;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyLookup};
use crate::ui::panes::needs::focus;
use crate::ui::shell::peek::Peek;
use crate::ui::shell::state::UiState;

/// What the next key would act on. It is compared before and after a change, to find out whether the change replaces
/// it.
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

/// Applies a change that was not caused by a key. If the next key would then act on something else, keys are ignored
/// for [`SETTLE`]. A popup that the change opens accepts keys at once, because an earlier key has requested it.
pub fn watch(state: &mut UiState, change: impl FnOnce(&mut UiState)) {
    let before = target(state);
    change(state);
    focus::end_hold(state);
    let after = target(state);
    if after != before && after.popups <= before.popups {
        state.keys.guard.moved_at = Some(state.now);
    }
}

/// Returns whether `key` is ignored because its target changed less than [`SETTLE`] ago; if so, shows a status message.
pub fn ignores(state: &mut UiState, key: KeyEvent, name: &str) -> bool {
    let Some(moved_at) = state.keys.guard.moved_at else {
        return false;
    };
    // In a replay, keys decide nothing, and `now` is the time of the recording.
    if state.replay.is_some() || state.now.since(moved_at) >= SETTLE || leads_away(state, key, name)
    {
        state.keys.guard.moved_at = None;
        return false;
    }
    state.keys.prefix = None;
    let is_text = matches!(key.code, KeyCode::Char(_))
        && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    let writes = state.contexts().into_iter().any(Context::takes_text);
    if is_text && !writes {
        // A fast typist continues typing: restart the wait, so that no key becomes an action before a pause.
        state.keys.guard.moved_at = Some(state.now);
    }
    let why = match (state.focus, state.selected_request()) {
        (Focus::Pane(Pane::Needs), Some(Request { from, .. })) if state.is_in_panes() => {
            format!("Key ignored: a new request from {from} is shown. Read it first.")
        }
        _ if writes => "Key ignored: the focus just moved here.".into(),
        _ => "Key ignored: the focus just changed.".into(),
    };
    state.note(NoticeLevel::Info, &why);
    true
}

/// Returns whether a key is never ignored: a chord or function key that moves the focus, interrupts or opens help.
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
