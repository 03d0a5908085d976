//! The todo pane.

mod feature;
pub(in crate::ui) mod view;

use crate::domain::todo::{TodoItem, TodoStatus};
use crate::ui::app::App;
use crate::ui::widgets::list::first_row;
pub use feature::TodoListPane;

/// Returns the shown todo list.
pub fn todo(app: &App) -> &[TodoItem] {
    app.shown_todo()
}

/// Returns the index of the selected todo item; the one in progress if none is selected.
pub fn selected_todo(app: &App) -> Option<usize> {
    let last = todo(app).len().checked_sub(1)?;
    let selected = app.selected.todo.map(|at| at.min(last));
    Some(selected.unwrap_or_else(|| current_todo(app)))
}

pub fn current_todo(app: &App) -> usize {
    let items = todo(app).iter();
    let mut status = items.map(|item| item.status);
    let current = status.position(|status| status == TodoStatus::InProgress);
    current.unwrap_or(0)
}

/// Returns the first visible todo item. Without a selection the list is scrolled only as far as the item in progress
/// needs.
pub fn first_todo(app: &App, height: u16) -> usize {
    let len = todo(app).len();
    if let Some(at) = app.selected.todo {
        return first_row(len, at.min(len.saturating_sub(1)), height);
    }
    let height = usize::from(height);
    let first = (current_todo(app) + 1).saturating_sub(height);
    first.min(len.saturating_sub(height))
}

/// Returns whether the shown todo list exists and is complete.
pub fn todo_is_done(app: &App) -> bool {
    let items = todo(app);
    let is_done = |item: &TodoItem| item.status == TodoStatus::Completed;
    !items.is_empty() && items.iter().all(is_done)
}

/// Returns the progress of the shown todo list, such as `2/4`; `None` without a list.
pub fn todo_progress(app: &App) -> Option<String> {
    let list = &app.model.agents.get(&app.shown)?.todo;
    (!list.items().is_empty()).then(|| format!("{}/{}", list.done(), list.items().len()))
}
