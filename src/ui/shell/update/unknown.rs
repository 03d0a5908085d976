//! Status messages about keys without an effect in the focused context.

use std::sync::Arc;

use crate::domain::text::escape_control_chars;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::app::answering;
use crate::ui::frame::elsewhere::{pane_hint, pane_with_key};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding, KeyLookup, SLASH};
use crate::ui::keys;
use crate::ui::shell::state::UiState;

/// The symbols that the Option key types on a Mac with the US keyboard, each with the key that Option was pressed with.
const OPTION_SYMBOLS: &[(char, char)] = &[
    ('å', 'a'),
    ('¡', '1'),
    ('™', '2'),
    ('£', '3'),
    ('¢', '4'),
    ('∞', '5'),
    ('§', '6'),
    ('∫', 'b'),
    ('∂', 'd'),
    ('ƒ', 'f'),
    ('©', 'g'),
    ('˙', 'h'),
    ('∆', 'j'),
    ('˚', 'k'),
    ('¬', 'l'),
    ('µ', 'm'),
    ('π', 'p'),
    ('®', 'r'),
    ('†', 't'),
    ('√', 'v'),
    ('∑', 'w'),
    ('≈', 'x'),
    ('¥', 'y'),
    ('Ω', 'z'),
];

/// Keys that edit text or move the cursor. If such a key has no effect, for example at the end of the text, no message
/// is shown.
const EDITING_KEYS: &[&str] = &[
    "ctrl+a",
    "ctrl+b",
    "ctrl+d",
    "ctrl+e",
    "ctrl+f",
    "ctrl+h",
    "ctrl+left",
    "ctrl+right",
    "ctrl+up",
    "ctrl+down",
    "ctrl+home",
    "ctrl+end",
    "ctrl+n",
    "alt+b",
    "alt+f",
    "alt+h",
    "alt+<",
    "alt+>",
    "alt+left",
    "alt+right",
    "alt+delete",
];

/// Keys of similar programs that do nothing in the composer, each with what to do instead.
const COMPOSER_KEYS: &[(&str, &str)] = &[
    (
        "ctrl+v",
        "paste with your terminal's key, Cmd+v or Ctrl+Shift+v; to attach an image, type its path.",
    ),
    ("ctrl+d", "/quit quits."),
    ("alt+p", "/model chooses another model."),
];

/// Returns whether `name` is a key that types no text: a combination with `ctrl` or `alt`, or a function key.
pub fn is_chord(name: &str) -> bool {
    let function = name.strip_prefix('f').is_some_and(|n| !n.is_empty());
    function || name.starts_with("ctrl+") || name.starts_with("alt+")
}

/// Explains how to run an Alt key's action without Alt, in a status message. On a Mac, Option may type a symbol instead
/// of sending an Alt key. The message is shown if `name` is such a symbol and the Alt key would have an effect now, but
/// only once in a session. Returns whether it was shown.
pub fn explain_option(state: &mut UiState, contexts: &[Context], name: &str) -> bool {
    let symbol = |(symbol, _): &&(char, char)| name.chars().eq([*symbol]);
    let Some((symbol, base)) = OPTION_SYMBOLS.iter().find(symbol) else {
        return false;
    };
    let alt = format!("alt+{base}");
    let keymap = Arc::clone(&state.prefs.keymap);
    let KeyLookup::Action(action) = keymap.lookup(contexts, &alt) else {
        return false;
    };
    if !has_effect(state, action) || std::mem::replace(&mut state.app.keys.explained_option, true) {
        return false;
    }
    let bound = contexts.iter().flat_map(|c| keymap.in_context(*c));
    let mut others = bound
        .filter(|bound| bound.action == action)
        .flat_map(|bound| &bound.keys);
    let alt = keys::format_key(&alt);
    let key = others.find(|key| !key.contains("alt+"));
    let command = SLASH.iter().find(|(_, does, _)| *does == action);
    let way = match (key, command) {
        (Some(key), _) => format!("{} does the same as {alt}", keys::format_key(key)),
        (None, Some((command, ..))) => format!("{command} does the same as {alt}"),
        (None, None) => format!(
            "{} shows the keys",
            keymap.key(Context::Everywhere, Action::Help)
        ),
    };
    let text = format!(
        "If Option typed {symbol}: {way}. Or set the terminal to send Option as Meta (Esc+)."
    );
    state.say(text);
    true
}

/// Returns whether `action`, which is bound to an Alt key, would have an effect in an empty composer. False for actions
/// that edit text. Actions that decide a request have an effect only if a request is open.
fn has_effect(app: &App, action: Action) -> bool {
    match action {
        Action::DeletePrevWord | Action::DeleteNextWord | Action::YankPop => false,
        Action::ApproveShown | Action::RejectShown => answering::request(app).is_some(),
        _ => true,
    }
}

/// Explains in a status message that crewdeck has no permission modes. Called when the user presses Shift+Tab, which
/// changes the permission mode in similar programs. Shows the message only in the composer, and only once.
pub fn explain_modes(state: &mut UiState) {
    let is_meant = state.focus == Focus::Composer && state.popups.is_empty();
    if !is_meant || std::mem::replace(&mut state.app.keys.explained_modes, true) {
        return;
    }
    let allow = Context::In(Pane::Needs);
    let allow = state.prefs.keymap.key(allow, Action::ApproveForTeam);
    let text = format!(
        "Moved to the previous pane. crewdeck has no permission modes: {allow} on a request allows it for the whole team; /permissions lists what is allowed."
    );
    state.say(text);
}

/// Shows a message that the key `name` does nothing here, or a message that names the panes in which the key works. In
/// a text field, reports only key combinations and function keys, and only in the composer. Shows nothing while a
/// warning or an error is shown.
pub fn report(state: &mut UiState, name: &str) {
    let contexts = state.contexts();
    let is_unread = state
        .status
        .as_ref()
        .is_some_and(|f| f.level != NoticeLevel::Info);
    if is_unread {
        return;
    }
    let key = escape_control_chars(&keys::format_key(name));
    if contexts.iter().any(|context| context.takes_text()) {
        report_in_composer(state, &contexts, name, &key);
        return;
    }
    let words = elsewhere(state, name).map_or_else(
        || format!("{key} does nothing here{}", help(&state.prefs, &contexts)),
        |place| format!("{key} works in {place}"),
    );
    state.say(words);
}

/// Shows a message that the key `name` does nothing in the composer, if it types and edits no text. Does nothing in
/// other text fields.
fn report_in_composer(state: &mut UiState, contexts: &[Context], name: &str, key: &str) {
    let is_empty = state.input.composer.is_empty();
    let is_editing = EDITING_KEYS.contains(&name) && !(is_empty && name == "ctrl+d");
    if !is_chord(name) || is_editing || !contexts.contains(&Context::Composer) {
        return;
    }
    let instead = COMPOSER_KEYS.iter().find(|(other, _)| *other == name);
    let words = match instead {
        Some((_, instead)) => format!("{key} does nothing here: {instead}"),
        None => format!("{key} does nothing here{}", help(&state.prefs, contexts)),
    };
    state.say(words);
}

/// Returns a text that names the panes in which the key `name` is bound, and, if that is only one pane, what the key
/// does in it. Returns `None` if the key is bound in no pane or a popup is open.
fn elsewhere(app: &App, name: &str) -> Option<String> {
    if !app.popups.is_empty() {
        return None;
    }
    let means = |pane: &Pane| {
        let mut bound = app.prefs.keymap.in_context(Context::In(*pane));
        bound.find(|b| b.keys.iter().any(|key| key == name))
    };
    let all: Vec<&KeyBinding> = Pane::ALL.iter().filter_map(means).collect();
    match all.as_slice() {
        [] => None,
        [one] => pane_hint(&app.prefs, one.context, one.words),
        _ => {
            let panes = Pane::ALL.into_iter().filter(|pane| means(pane).is_some());
            let places: Vec<String> = panes.map(|pane| pane_with_key(&app.prefs, pane)).collect();
            Some(format!("{}.", places.join(", ")))
        }
    }
}

/// Returns the end of a sentence about a key that does nothing, such as `; ? shows the keys.`. If no key opens the
/// help, returns only a full stop.
fn help(prefs: &Preferences, contexts: &[Context]) -> String {
    let shows = |c: &Context| {
        prefs
            .keymap
            .in_context(*c)
            .find(|b| b.action == Action::Help)
    };
    let bound = contexts.iter().find_map(shows);
    bound.map_or_else(
        || ".".into(),
        |bound| format!("; {} shows the keys.", bound.display_key()),
    )
}
