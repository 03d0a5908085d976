//! Actions of the completion list: runs the selected command, inserts the selected name, moves the selection, or closes
//! the list.

use crate::ui::app::App;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::panes::lead::complete::Completion;
use crate::ui::panes::lead::{LeadPane, complete};

/// Accepts the selected completion. Returns the action of a command, to be run; `None` if a name was inserted or no
/// completion is open.
pub fn accept(pane: &mut LeadPane, app: &mut App) -> Option<Action> {
    let (_, offer) = complete::selected(pane, app)?;
    if offer.item.is_some() {
        app.input.composer.set(&offer.words);
        app.input.composer.take();
    } else {
        insert(pane, app);
    }
    offer.item
}

/// Replaces the typed word by the selected completion, followed by a space.
pub fn insert(pane: &mut LeadPane, app: &mut App) {
    if let Some((_, offer)) = complete::selected(pane, app) {
        app.input.composer.set(&format!("{} ", offer.words));
        pane.completion = Completion::Fresh;
    }
}

/// Moves the selection. Returns whether a completion list is open.
pub fn select(pane: &mut LeadPane, app: &App, by: Scroll) -> bool {
    let Some((row, _)) = complete::selected(pane, app) else {
        return false;
    };
    let len = complete::candidates(pane, app).len();
    pane.completion = Completion::Selected(crate::ui::widgets::list::step(
        row,
        len,
        by,
        usize::from(complete::ROWS_MAX),
    ));
    true
}

/// Closes the completion list until the user types more. Returns whether it was open.
pub fn dismiss(pane: &mut LeadPane, app: &App) -> bool {
    let is_there = complete::selected(pane, app).is_some();
    if is_there {
        pane.completion = Completion::Dismissed;
    }
    is_there
}
