//! Keys on a card or a popup that the mouse can press.

use crate::ui::keymap::Action;

/// A key on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The key.
    pub key: String,
    /// What it does.
    pub words: &'static str,
    /// What pressing it does; `None` where a number is to be chosen.
    pub action: Option<Action>,
}
