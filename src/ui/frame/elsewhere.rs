//! Where a key of another pane works.

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};

/// Returns the pane, its key and the description of an action that works only in another pane.
pub fn instead(app: &App, context: Context, words: &str) -> Option<String> {
    let Context::In(pane) = context else {
        return None;
    };
    let what = words.split([';', ':']).next().unwrap_or_default();
    Some(format!("{}: {what}.", place(app, pane)))
}

/// Returns the pane's title and the key that focuses it.
pub fn place(app: &App, pane: Pane) -> String {
    let key = app.prefs.keymap.key(Context::Panes, Action::Focus(pane));
    format!("{} ({key})", pane.title())
}
