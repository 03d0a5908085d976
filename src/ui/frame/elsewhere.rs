//! Texts that say in which pane a key works.

use crate::ui::app::Preferences;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};

/// Returns a text that names the pane of `context`, its key, and the action with the description `words`. Returns
/// `None` if the action is not limited to a pane.
pub fn instead(prefs: &Preferences, context: Context, words: &str) -> Option<String> {
    let Context::In(pane) = context else {
        return None;
    };
    let what = words.split([';', ':']).next().unwrap_or_default();
    Some(format!("{}: {what}.", place(prefs, pane)))
}

/// Returns the pane's title and the key that focuses it, such as `Board (3)`.
pub fn place(prefs: &Preferences, pane: Pane) -> String {
    let key = prefs.keymap.key(Context::Panes, Action::Focus(pane));
    format!("{} ({key})", pane.title())
}
