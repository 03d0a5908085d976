//! Buttons of cards and popups. A button shows a key and a label, and can be clicked.

use crate::ui::keymap::Action;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    /// The key, formatted for display.
    pub key: String,
    pub words: &'static str,
    /// The action that a click runs. `None` for a button that names several number keys, such as `1-3`.
    pub action: Option<Action>,
}
