//! Where a key of another pane works.

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};

/// Where an action of another pane can be done, and what it is in the words of the key map.
pub fn instead(app: &App, context: Context, words: &str) -> Option<String> {
    let Context::In(pane) = context else {
        return None;
    };
    let what = words.split([';', ':']).next().unwrap_or_default();
    Some(format!("{}: {what}.", place(app, pane)))
}

/// A pane and the key that leads to it.
pub fn place(app: &App, pane: Pane) -> String {
    let key = app.prefs.keymap.key(Context::Panes, Action::Focus(pane));
    format!("{} ({key})", pane.title())
}
