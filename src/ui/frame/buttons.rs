//! Buttons on a card or popup: keys with a label that the mouse can click.

use crate::ui::keymap::Action;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The key, formatted for display.
    pub key: String,
    pub words: &'static str,
    /// The action that a click runs; `None` for a button that stands for a range of number keys, such as `1-3`.
    pub action: Option<Action>,
}
