//! The rows of a picker, and the effects of choosing them.

use crate::domain::custom_theme::ThemeChoice;
use crate::domain::ids::Name;
use crate::domain::permission::PermissionScope;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::transcript::Portion;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickerRow {
    pub words: String,
    /// The indices, in ascending order, of the characters in `words` that match the search.
    pub marked: Vec<usize>,
    /// The text at the right: a key, or a mark of the current choice.
    pub aside: String,
    pub does: PickEffect,
}

/// The effect of choosing a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PickEffect {
    /// Runs an action.
    Action(Action),
    /// Focuses the pane and runs an action.
    In(Pane, Action),
    /// Starts a message to an agent in the composer.
    Address(Name),
    /// Switches to a model.
    Model(String),
    /// Grants a permission in this scope.
    Allow(PermissionScope),
    /// Revokes the session permission with this number.
    TakeBack(u64),
    /// Switches to a theme.
    Theme(ThemeChoice),
    /// Copies a part of the conversation.
    Copy(Portion),
}
