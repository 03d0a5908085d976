//! The pane with the todo list of the shown agent.

mod feature;
#[cfg(test)]
mod tests;
mod toggle;
pub(in crate::ui) mod view;

use crate::domain::todo::{TodoItem, TodoStatus};
use crate::ui::app::App;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::widgets::list::first_row;

#[derive(Debug, Default)]
pub struct TodoListPane {
    /// The index of the selected item. `None` means the item in progress, or the first one if none is in progress.
    pub selected: Option<usize>,
    /// The text of the item that was selected before the current event. After the event, the item with this text is
    /// selected.
    before: Option<String>,
    /// The focus, the full-screen pane and the tab as they were before the user switched to the list. They are restored
    /// when the user switches back.
    before_toggle: Option<(Focus, Option<Pane>, Pane)>,
}

impl TodoListPane {
    /// Returns the index of the selected item. If no item is selected, returns the index of the item in progress, or 0
    /// if none is in progress. `None` if the list is empty.
    pub fn selected_row(&self, app: &App) -> Option<usize> {
        let last = app.shown_todo().len().checked_sub(1)?;
        let selected = self.selected.map(|at| at.min(last));
        Some(selected.unwrap_or_else(|| current_todo(app)))
    }

    /// Returns the index of the first visible item in a list of `height` rows. If no item is selected, the list is
    /// scrolled only as far as needed to show the item in progress.
    pub fn first_row(&self, app: &App, height: u16) -> usize {
        let len = app.shown_todo().len();
        if let Some(at) = self.selected {
            return first_row(len, at.min(len.saturating_sub(1)), height);
        }
        let height = usize::from(height);
        let first = (current_todo(app) + 1).saturating_sub(height);
        first.min(len.saturating_sub(height))
    }
}

fn current_todo(app: &App) -> usize {
    let items = app.shown_todo().iter();
    let mut status = items.map(|item| item.status);
    let current = status.position(|status| status == TodoStatus::InProgress);
    current.unwrap_or(0)
}

/// Returns whether the shown todo list is not empty and all its items are completed.
fn todo_is_done(app: &App) -> bool {
    let items = app.shown_todo();
    let is_done = |item: &TodoItem| item.status == TodoStatus::Completed;
    !items.is_empty() && items.iter().all(is_done)
}

/// Returns the number of completed items and of all items in the shown todo list, such as `2/4`; `None` if the list is
/// empty.
pub fn todo_progress(app: &App) -> Option<String> {
    let list = &app.model.agents.get(&app.shown)?.todo;
    (!list.items().is_empty()).then(|| format!("{}/{}", list.done(), list.items().len()))
}
