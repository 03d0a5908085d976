//! Actions of the completion list: accepting a command, name or path, moving the selection, and closing the list.

use crate::domain::mention;
use crate::ui::app::App;
use crate::ui::app::mentions::FoundFiles;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::panes::lead::complete::{Choice, Completion};
use crate::ui::panes::lead::{LeadPane, complete};

/// Accepts the selected completion. For a command, clears the composer and returns the action of the command; the
/// caller runs it. For other completions, inserts the name or path and returns `None`. Also returns `None` if no
/// completion list is open.
pub fn accept(pane: &mut LeadPane, app: &mut App) -> Option<Action> {
    let (_, offer) = complete::selected_completion(pane, app)?;
    let Choice::Run(action) = offer.item else {
        insert(pane, app);
        return None;
    };
    app.input.composer.set(&offer.words);
    app.input.composer.take();
    Some(action)
}

/// Replaces the typed word by the selected completion, followed by a space. After a directory, a server or a resource
/// template there is no space, so that the list stays open and offers what the user can type next.
pub fn insert(pane: &mut LeadPane, app: &mut App) {
    let Some((_, offer)) = complete::selected_completion(pane, app) else {
        return;
    };
    pane.completion = Completion::Fresh;
    let (before, _) = app.input.composer.before_cursor();
    let Some(typed) = mention::at_cursor(&before) else {
        let text = match offer.item {
            Choice::Start(_) => offer.words,
            _ => format!("{} ", offer.words),
        };
        app.input.composer.set(&text);
        return;
    };
    let written = mention::mentions(&offer.words, |_| true).into_iter().next();
    let path = written.map_or_else(|| offer.words.clone(), |mention| mention.path);
    let is_file = offer.item == Choice::File;
    if is_file || offer.item == Choice::Resource {
        app.input.mentions.remember(&path);
    }
    let text = match offer.item {
        Choice::File if path.ends_with('/') => offer.words.trim_end_matches('"').to_string(),
        Choice::Start(length) => offer.words.chars().take(length).collect(),
        _ => format!("{} ", offer.words),
    };
    let chars = before[typed.start..].chars().count();
    app.input.composer.replace_before_cursor(chars, &text);
}

/// Shows the files that were found for the typed mention. If the user has moved the selection, it stays on the same
/// path as long as that path is listed.
pub fn show_files(pane: &mut LeadPane, app: &mut App, found: FoundFiles) {
    let selected = complete::selected_completion(pane, app);
    app.input.mentions.answer(found);
    if let (Completion::Selected(_), Some((_, chosen))) = (pane.completion, selected) {
        let rows = complete::candidates(pane, app);
        if let Some(at) = rows.iter().position(|row| row.words == chosen.words) {
            pane.completion = Completion::Selected(at);
        }
    }
}

/// Moves the selection in the completion list. Returns `false` if no completion list is open.
pub fn select(pane: &mut LeadPane, app: &App, by: Scroll) -> bool {
    let Some((row, _)) = complete::selected_completion(pane, app) else {
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

/// Closes the completion list until the user types another character. Returns whether the list was open.
pub fn dismiss(pane: &mut LeadPane, app: &App) -> bool {
    let is_there = complete::selected_completion(pane, app).is_some();
    if is_there {
        pane.completion = Completion::Dismissed;
    }
    is_there
}
