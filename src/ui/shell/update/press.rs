//! Handles a key press or a paste: runs the bound action, or inserts the text.

use crate::ui::app::App;
use crossterm::event::KeyEvent;

use crate::ui::app::effect::Effect;
use crate::ui::app::mentions;
use crate::ui::app::popup::TextInput;
use crate::ui::app::status_message::StatusMessage;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyLookup};
use crate::ui::keys;
use crate::ui::shell::layout::areas;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::act::act;
use crate::ui::shell::update::{compose, guard, unknown};
use crate::ui::widgets::composer::PasteResult;
use crate::ui::widgets::line_input::LineInput;

pub fn press(state: &mut UiState, key: KeyEvent, out: &mut Vec<Effect>) {
    let Some(name) = keys::name_of(key) else {
        return;
    };
    state.dirty = true;
    state.pointer.clicked = None;
    if guard::ignores(state, key, &name) {
        return;
    }
    // The clock of a replay can be paused. A status message would then never expire, so each key removes it.
    let is_read = |message: &StatusMessage| message.is_read(state.now);
    if state.replay.is_some() || state.status.as_ref().is_some_and(is_read) {
        state.status = None;
    }
    let contexts = state.contexts();
    let whole = match state.keys.prefix.take() {
        Some(first) => format!("{first} {name}"),
        None => name,
    };
    let found = state.prefs.keymap.lookup(&contexts, &whole);
    // The first key of a two-key sequence may belong to the interrupt action. So only the next key decides whether a
    // pending confirmation of quitting is cancelled.
    if !matches!(
        found,
        KeyLookup::Action(Action::Interrupt) | KeyLookup::Prefix
    ) {
        compose::disarm(state);
    }
    match found {
        KeyLookup::Action(action) => {
            let focus = state.focus;
            act(state, action, out);
            // The user has moved the focus, so the next key is meant for it.
            if state.focus != focus {
                state.keys.guard.moved_at = None;
            }
            state.keys.left_composer &= action == Action::Back;
        }
        KeyLookup::Prefix => state.keys.prefix = Some(whole),
        // Neither key of an unbound two-key sequence is used.
        KeyLookup::Nothing if whole.contains(' ') => unknown::report(state, &whole),
        KeyLookup::Nothing => {
            if let Some(action) = recommended_action(state, &whole) {
                state.popups.clear();
                let is_there = |pane| state.focus == Focus::Pane(pane);
                if !matches!(action, Action::Focus(pane) if is_there(pane)) {
                    act(state, action, out);
                }
                return;
            }
            let is_empty = state.input.composer.is_empty();
            let before = unknown::is_chord(&whole).then(|| state.input.composer.cursor_and_text());
            text_key(state, key);
            if is_empty && unknown::explain_option(state, &contexts, &whole) {
                return;
            }
            // If a key combination has edited the text or moved the cursor, it had an effect and nothing is reported.
            if before.is_none_or(|before| before == state.input.composer.cursor_and_text()) {
                unknown::report(state, &whole);
            }
        }
    }
}

/// Returns the action of `key` if the text of the topmost popup recommends to press `key`; otherwise, `None`.
fn recommended_action(app: &App, key: &str) -> Option<Action> {
    app.popups.last()?.recommended_action(&app.prefs, key)
}

/// Passes a key without an action to the focused text field, if there is one.
pub fn text_key(state: &mut UiState, key: KeyEvent) {
    let width = compose::width(state);
    if !state.popups.is_empty() {
        compose::edit_popup(state, |input| match input {
            TextInput::Line(words) => words.key(key),
            TextInput::Area { text, .. } => text.key(key, width),
        });
        return;
    }
    let focus = state.focus;
    match focus {
        Focus::Composer => {
            state.input.composer.key(key, width);
            state.panes.get_mut(focus.pane()).text_changed();
        }
        Focus::Pane(pane) => {
            edit_in_pane(state, pane, &mut |words| words.key(key));
        }
    }
}

/// Edits the filter or search text of a pane. Returns `false` if no such text is being typed in the pane.
fn edit_in_pane(state: &mut UiState, pane: Pane, edit: &mut dyn FnMut(&mut LineInput)) -> bool {
    let area = areas::frame_of(state, pane);
    let feature = state.panes.get_mut(pane);
    feature.edit_text(&mut state.app, area, edit)
}

pub fn paste(state: &mut UiState, text: &str) {
    state.dirty = true;
    compose::disarm(state);
    if !state.popups.is_empty() {
        let mut pasted = PasteResult::Whole;
        compose::edit_popup(state, |input| {
            let text = input.fit(text);
            match input {
                TextInput::Line(words) => words.insert(&text),
                TextInput::Area { text: edited, .. } => pasted = edited.paste(&text),
            }
        });
        return compose::report(state, pasted);
    }
    let focus = state.focus;
    match focus {
        Focus::Pane(pane) if edit_in_pane(state, pane, &mut |words| words.insert(text)) => {}
        Focus::Composer => {
            let mentions = mentions::pasted_images(text);
            let text = mentions.as_deref().unwrap_or(text);
            let pasted = state.input.composer.paste_folded(text);
            compose::report(state, pasted);
        }
        // Single keys are commands in a pane, so a pasted text is never applied to it.
        Focus::Pane(_) => {
            let key = state.prefs.keymap.key(Context::Panes, Action::Compose);
            state.say(format!("Press {key} to write, then paste."));
        }
    }
}
