//! Texts that say in which pane a key works.

use crate::ui::app::Preferences;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};

/// Returns a text that says in which pane a key works and what the key does, such as `Board (3): show the task.`
/// `words` describes the action of the key; only the part before the first `;` or `:` is used. Returns `None` if
/// `context` is not the context of a pane.
pub fn pane_hint(prefs: &Preferences, context: Context, words: &str) -> Option<String> {
    let Context::In(pane) = context else {
        return None;
    };
    let what = words.split([';', ':']).next().unwrap_or_default();
    Some(format!("{}: {what}.", pane_with_key(prefs, pane)))
}

/// Returns the pane's title and the key that focuses it, such as `Board (3)`.
pub fn pane_with_key(prefs: &Preferences, pane: Pane) -> String {
    let key = prefs.keymap.key(Context::Panes, Action::Focus(pane));
    format!("{} ({key})", pane.title())
}
