//! The inbox pane.

mod feature;
pub(in crate::ui) mod view;

use std::sync::Arc;

use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::model::messages::Traced;
pub use feature::InboxPane;

/// Returns the numbers of the messages that match the inbox filter, oldest first.
pub fn letters(app: &App) -> Arc<Vec<u64>> {
    app.model.letters.fitting(app.filters.words(Pane::Inbox))
}

/// Returns the selected message and its row; the newest if none is selected. A message that is filtered out or no
/// longer kept is replaced by the next one.
pub fn selected_letter(app: &App) -> Option<(usize, &Traced)> {
    let rows = letters(app);
    let newest = rows.len().checked_sub(1)?;
    let at = match app.selected.letter {
        None => newest,
        Some(number) => rows.partition_point(|n| *n < number).min(newest),
    };
    Some((at, app.model.letters.get(*rows.get(at)?)?))
}

/// Selects a row of the inbox; the newest row follows new messages.
pub fn select_letter(app: &mut App, at: usize) {
    let rows = letters(app);
    let is_newest = at + 1 >= rows.len();
    app.selected.letter = rows.get(at).copied().filter(|_| !is_newest);
}
