//! Pure: keys that were meant for something else go nowhere, and the focus stays where the next request comes.

use std::mem::{Discriminant, discriminant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::ids::{Name, RequestId};
use crate::domain::request::Request;
use crate::protocol::event::Level;
use crate::ui::app::App;
use crate::ui::app::key_guard::{HOLD, Hold, SETTLE};
use crate::ui::app::popup::Popup;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Found};
use crate::ui::panes::needs;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::unknown;

/// What a key would act on.
#[derive(PartialEq)]
struct Target {
    focus: Focus,
    popups: usize,
    popup: Option<(Discriminant<Popup>, Option<RequestId>)>,
    request: Option<RequestId>,
}

fn target(app: &App) -> Target {
    let popup = app.popups.last();
    let decides = match popup {
        None => app.focus == Focus::Pane(Pane::Needs),
        Some(popup) => matches!(popup, Popup::Peek(Pane::Needs)),
    };
    let selected = || needs::selected_request(app).map(|(_, r)| r.id.clone());
    Target {
        focus: app.focus,
        popups: app.popups.len(),
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
pub fn ignores(app: &mut App, key: KeyEvent, name: &str) -> bool {
    let Some(moved_at) = app.keys.guard.moved_at else {
        return false;
    };
    // In a recording nothing is decided, and its time is not that of the keys.
    if app.replay.is_some() || app.now.since(moved_at) >= SETTLE || leads_away(app, key, name) {
        app.keys.guard.moved_at = None;
        return false;
    }
    app.keys.prefix = None;
    let is_text = matches!(key.code, KeyCode::Char(_))
        && key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    let writes = app.contexts().into_iter().any(unknown::takes_text);
    if is_text && !writes {
        // Whoever is typing goes on typing: none of it may become an action before a pause.
        app.keys.guard.moved_at = Some(app.now);
    }
    let selected = needs::selected_request(app).map(|(_, r)| r.from.clone());
    let why = match (app.focus, selected) {
        (Focus::Pane(Pane::Needs), Some(from)) if app.is_in_panes() => {
            format!("Key ignored: a new request from {from} is shown. Read it first.")
        }
        _ if writes => "Key ignored: the focus came here a moment ago.".into(),
        _ => "Key ignored: the focus changed a moment ago.".into(),
    };
    app.note(Level::Info, &why);
    true
}

/// Whether it is a key that is not typed by chance and decides nothing: it chooses what has the focus, or stops.
fn leads_away(app: &App, key: KeyEvent, name: &str) -> bool {
    let is_chord = matches!(key.code, KeyCode::F(_))
        || key
            .modifiers
            .intersects(KeyModifiers::ALT | KeyModifiers::CONTROL);
    let found = app.prefs.keymap.lookup(&app.contexts(), name);
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
pub fn all_decided(app: &mut App, last: &Request) {
    let is_users = last.decided_by == Name::user().as_str();
    if is_users && app.is_running(&last.from) && app.replay.is_none() {
        app.keys.guard.hold = Some(Hold {
            asker: last.from.clone(),
            until: app.now.after(HOLD),
        });
    } else {
        give_back(app);
    }
}

fn end_hold(app: &mut App) {
    let Some(hold) = &app.keys.guard.hold else {
        return;
    };
    if app.focus != Focus::Pane(Pane::Needs) || !app.model.requests.is_empty() {
        app.keys.guard.hold = None;
        return;
    }
    let goes_on = hold.until > app.now && app.is_running(&hold.asker);
    if !goes_on && app.popups.is_empty() {
        give_back(app);
    }
}

fn give_back(app: &mut App) {
    app.keys.guard.hold = None;
    if let Some(focus) = app.keys.before_needs.take() {
        app.focus = focus;
        app.arrangement.zoom = None;
        app.dirty = true;
    }
}
