//! Completion of the first word of a message: runs a command or inserts a name.

use crate::ui::app::App;
use crate::ui::app::input::Completion;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::panes::lead::complete;

/// The result of accepting the selected completion.
pub enum Accepted {
    /// A command to run.
    Command(Action),
    /// A name was inserted.
    Name,
    /// No completion is open.
    Nothing,
}

/// Accepts the selected completion.
pub fn take(app: &mut App) -> Accepted {
    let Some((_, offer)) = complete::selected(app) else {
        return Accepted::Nothing;
    };
    match offer.item {
        Some(action) => {
            app.input.composer.set(&offer.words);
            app.input.composer.take();
            Accepted::Command(action)
        }
        None => {
            put_in(app);
            Accepted::Name
        }
    }
}

/// Inserts the selected word, followed by a blank.
pub fn put_in(app: &mut App) {
    if let Some((_, offer)) = complete::selected(app) {
        app.input.composer.set(&format!("{} ", offer.words));
        app.input.completion = Completion::Fresh;
    }
}

/// Moves the selection. Returns whether a completion list is open.
pub fn select(app: &mut App, by: Scroll) -> bool {
    let Some((row, _)) = complete::selected(app) else {
        return false;
    };
    let len = complete::candidates(app).len();
    app.input.completion = Completion::Selected(crate::ui::widgets::list::step(
        row,
        len,
        by,
        usize::from(complete::ROWS_MAX),
    ));
    true
}

/// Hides the list until more is typed. Returns whether it was open.
pub fn put_away(app: &mut App) -> bool {
    let is_there = complete::selected(app).is_some();
    if is_there {
        app.input.completion = Completion::Dismissed;
    }
    is_there
}
