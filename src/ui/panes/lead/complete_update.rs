//! Completing the first word of a message: a command is carried out, a name is put in.

use crate::ui::app::App;
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
pub fn take(app: &mut App) -> Taken {
    let Some((_, offer)) = complete::selected(app) else {
        return Taken::Nothing;
    };
    match offer.does {
        Does::Action(action) => {
            app.input.composer.set(&offer.words);
            app.input.composer.take();
            Taken::Command(action)
        }
        Does::In(..)
        | Does::Address(_)
        | Does::Model(_)
        | Does::Allow(_)
        | Does::TakeBack(_)
        | Does::Theme(_)
        | Does::Copy(_) => {
            put_in(app);
            Taken::Name
        }
    }
}

/// Puts the selected word into the message, with a blank behind it.
pub fn put_in(app: &mut App) {
    if let Some((_, offer)) = complete::selected(app) {
        app.input.composer.set(&format!("{} ", offer.words));
        app.input.completion = Completion::Fresh;
    }
}

/// Selects another row; whether there is a list.
pub fn select(app: &mut App, by: Scroll) -> bool {
    let Some((row, _)) = complete::selected(app) else {
        return false;
    };
    let len = complete::offers(app).len();
    app.input.completion = Completion::Offered(crate::ui::widgets::list::step(
        row,
        len,
        by,
        usize::from(complete::ROWS_MAX),
    ));
    true
}

/// Puts the list away until more is written; whether there was one.
pub fn put_away(app: &mut App) -> bool {
    let is_there = complete::selected(app).is_some();
    if is_there {
        app.input.completion = Completion::PutAway;
    }
    is_there
}
