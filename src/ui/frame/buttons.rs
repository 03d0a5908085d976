//! Keys on a card or a popup that the mouse can press.

use crate::ui::keymap::Action;

/// A button of a card or dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The key.
    pub key: String,
    /// What it does.
    pub words: &'static str,
    /// The action; `None` for a range of number keys, where a number must be chosen.
    pub action: Option<Action>,
}
