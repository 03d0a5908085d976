//! Actions of the completion list: runs the selected command, inserts the selected name, moves the selection, or closes
//! the list.

use crate::domain::mention;
use crate::ui::app::App;
use crate::ui::app::mentions::FoundFiles;
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

/// Replaces the typed word by the selected completion, followed by a space. The list stays open after a directory, for
/// the files in it.
pub fn insert(pane: &mut LeadPane, app: &mut App) {
    let Some((_, offer)) = complete::selected(pane, app) else {
        return;
    };
    pane.completion = Completion::Fresh;
    let (before, _) = app.input.composer.before_cursor();
    let Some(typed) = mention::at_cursor(&before) else {
        app.input.composer.set(&format!("{} ", offer.words));
        return;
    };
    let path = offer.words.trim_start_matches('@').trim_matches('"');
    let is_file = offer.aside.is_empty();
    if is_file {
        app.input.mentions.remember(path);
    }
    let text = if is_file && path.ends_with('/') {
        offer.words.trim_end_matches('"').to_string()
    } else {
        format!("{} ", offer.words)
    };
    let chars = before[typed.start..].chars().count();
    app.input.composer.replace_before_cursor(chars, &text);
}

/// Shows the files that match. The row that the user has moved to stays selected if it is still there.
pub fn show_files(pane: &mut LeadPane, app: &mut App, found: FoundFiles) {
    let selected = complete::selected(pane, app);
    app.input.mentions.answer(found);
    if let (Completion::Selected(_), Some((_, chosen))) = (pane.completion, selected) {
        let rows = complete::candidates(pane, app);
        if let Some(at) = rows.iter().position(|row| row.words == chosen.words) {
            pane.completion = Completion::Selected(at);
        }
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
