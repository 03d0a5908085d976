//! Feedback for keys without a binding in the focused context.

use crate::domain::text::escape_control_chars;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::Preferences;
use crate::ui::frame::elsewhere::{pane_hint, pane_with_key};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::keys;
use crate::ui::shell::state::UiState;

/// Tells the user that the key `name` does nothing here, or where it works. Silent while text is typed and while an
/// unread warning is shown.
pub fn report(state: &mut UiState, name: &str) {
    let contexts = state.contexts();
    let is_unread = state
        .status
        .as_ref()
        .is_some_and(|f| f.level != NoticeLevel::Info);
    if is_unread || contexts.iter().any(|context| context.takes_text()) {
        return;
    }
    let key = escape_control_chars(&keys::format_key(name));
    let words = elsewhere(state, name).map_or_else(
        || format!("{key} does nothing here{}", help(&state.prefs, &contexts)),
        |place| format!("{key} works in {place}"),
    );
    state.say(NoticeLevel::Info, words);
}

/// Returns a text that names the panes in which the key `name` is bound, with what it does there if it is only one pane.
/// Returns `None` if there is no such pane or a popup is open.
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

/// Returns the end of the sentence: the key that opens the help, or only a full stop if no key does.
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
