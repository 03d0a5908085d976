//! Where a key of another pane works.

use crate::ui::app::Preferences;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};

/// Returns the pane, its key and the description of an action that works only in another pane.
pub fn instead(prefs: &Preferences, context: Context, words: &str) -> Option<String> {
    let Context::In(pane) = context else {
        return None;
    };
    let what = words.split([';', ':']).next().unwrap_or_default();
    Some(format!("{}: {what}.", place(prefs, pane)))
}

/// Returns the pane's title and the key that focuses it.
pub fn place(prefs: &Preferences, pane: Pane) -> String {
    let key = prefs.keymap.key(Context::Panes, Action::Focus(pane));
    format!("{} ({key})", pane.title())
}
