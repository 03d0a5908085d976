//! Completing the first word of a message: a command is carried out, a name is put in.

use crate::ui::app::UiState;
use crate::ui::app::input::Completion;
use crate::ui::frame::pick::Does;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::panes::lead::complete;

/// What taking the selected row led to.
pub enum Taken {
    /// A command, to be carried out.
    Command(Action),
    /// A name stands in the message now.
    Name,
    /// Nothing is completed now.
    Nothing,
}

/// Takes the selected row.
pub fn take(state: &mut UiState) -> Taken {
    let Some((_, offer)) = complete::selected(state) else {
        return Taken::Nothing;
    };
    match offer.does {
        Does::Action(action) => {
            state.input.composer.set(&offer.words);
            state.input.composer.take();
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

/// Puts the selected word into the message, with a blank behind it.
pub fn put_in(state: &mut UiState) {
    if let Some((_, offer)) = complete::selected(state) {
        state.input.composer.set(&format!("{} ", offer.words));
        state.input.completion = Completion::Fresh;
    }
}

/// Selects another row; whether there is a list.
pub fn select(state: &mut UiState, by: Scroll) -> bool {
    let Some((row, _)) = complete::selected(state) else {
        return false;
    };
    let len = complete::offers(state).len();
    state.input.completion = Completion::Offered(crate::ui::widgets::list::step(
        row,
        len,
        by,
        usize::from(complete::ROWS_MAX),
    ));
    true
}

/// Puts the list away until more is written; whether there was one.
pub fn put_away(state: &mut UiState) -> bool {
    let is_there = complete::selected(state).is_some();
    if is_there {
        state.input.completion = Completion::PutAway;
    }
    is_there
}
