//! A row of a picker and what it does.

use crate::domain::ids::Name;
use crate::domain::own_theme::ThemeChoice;
use crate::domain::rule::Scope;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::Pane;
use crate::ui::transcript::Portion;

/// A row of a picker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// What it says.
    pub words: String,
    /// The places of the letters in `words` that are searched for, counted in characters, in order.
    pub marked: Vec<usize>,
    /// What stands at the right: a key, or a mark.
    pub aside: String,
    /// What it does.
    pub does: Does,
}

/// What taking a row does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// An action of the key map.
    Action(Action),
    /// An action of the key map, in that pane.
    In(Pane, Action),
    /// A message to this agent.
    Address(Name),
    /// Another model.
    Model(String),
    /// A permission that reaches so far.
    Allow(Scope),
    /// A rule of the session, by its number.
    TakeBack(u64),
    /// Another theme.
    Theme(ThemeChoice),
    /// A part of the conversation.
    Copy(Portion),
}
