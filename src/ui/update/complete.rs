//! Completion of the first word of a message: runs a command or inserts a name.

use crate::ui::keymap::Action;
use crate::ui::state::UiState;
use crate::ui::state::rows::Does;
use crate::ui::transcript::Scroll;
use crate::ui::writing::complete::{self, Completion};

/// The result of accepting the selected completion.
pub enum Taken {
    /// A command to run.
    Command(Action),
    /// A name was inserted.
    Name,
    /// No completion is open.
    Nothing,
}

/// Accepts the selected completion.
pub fn take(state: &mut UiState) -> Taken {
    let Some((_, offer)) = complete::selected(state) else {
        return Taken::Nothing;
    };
    match offer.does {
        Does::Action(action) => {
            state.composer.set(&offer.words);
            state.composer.take();
            Taken::Command(action)
        }
        Does::In(..)
        | Does::Address(_)
        | Does::Model(_)
        | Does::Allow(_)
        | Does::TakeBack(_)
        | Does::Theme(_)
        | Does::Copy(_) => {
            put_in(state);
            Taken::Name
        }
    }
}

/// Inserts the selected word, followed by a blank.
pub fn put_in(state: &mut UiState) {
    if let Some((_, offer)) = complete::selected(state) {
        state.composer.set(&format!("{} ", offer.words));
        state.completion = Completion::Fresh;
    }
}

/// Moves the selection. Returns whether a completion list is open.
pub fn select(state: &mut UiState, by: Scroll) -> bool {
    let Some((row, _)) = complete::selected(state) else {
        return false;
    };
    let len = complete::offers(state).len();
    state.completion = Completion::Offered(super::movement::step(
        row,
        len,
        by,
        usize::from(complete::ROWS_MAX),
    ));
    true
}

/// Hides the list until more is typed. Returns whether it was open.
pub fn put_away(state: &mut UiState) -> bool {
    let is_there = complete::selected(state).is_some();
    if is_there {
        state.completion = Completion::PutAway;
    }
    is_there
}
