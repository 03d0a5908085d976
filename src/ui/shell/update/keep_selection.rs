//! Keeps the selected items selected when an event changes their list; items are compared by identity, not by row.

use crate::protocol::{BoardEvent, EventKind};
use crate::ui::app::App;
use crate::ui::app::popup::{Next, Popup};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::board::index;
use crate::ui::panes::{board, team, todo};

/// The selection before an event.
#[derive(Debug, Default)]
pub struct Selection {
    /// The text of the selected todo item.
    todo: Option<String>,
    /// The selected row of the board.
    task_row: Option<usize>,
}

/// Returns the current selection; `None` for deltas of answers and outputs, which change no list.
pub fn before(app: &mut App, event: &EventKind) -> Option<Selection> {
    if event.is_delta() {
        return None;
    }
    // No explicit selection means the first row; pin the item that is there now.
    match app.focus {
        Focus::Pane(Pane::Team) if app.selected.member.is_none() => {
            app.selected.member = team::selected_member(app).map(|(_, name)| name);
        }
        Focus::Pane(Pane::Board) if app.selected.task.is_none() => {
            app.selected.task = board::selected(app).map(|(_, id)| id);
        }
        Focus::Pane(_) | Focus::Composer => {}
    }
    of_popup(app, Popup::before_event);
    let todo = |at: usize| Some(todo::todo(app).get(at)?.text.clone());
    let mut out = Selection {
        todo: app.selected.todo.and_then(todo),
        ..Selection::default()
    };
    if let (EventKind::Board(BoardEvent::BoardChanged { .. }), Some(_)) = (event, app.selected.task)
    {
        out.task_row = board::selected(app).map(|(row, _)| row);
    }
    Some(out)
}

/// Restores the selection. A removed item is replaced by the one now in its row.
pub fn after(app: &mut App, before: Option<Selection>) {
    let Some(before) = before else { return };
    let selected = before.todo.and_then(|text| {
        let mut items = todo::todo(app).iter();
        items.position(|item| item.text == text)
    });
    app.selected.todo = selected.or(app.selected.todo);
    if let Some(row) = before.task_row {
        keep_task_row(app, row);
    }
    of_popup(app, Popup::after_event);
}

fn of_popup(app: &mut App, change: impl FnOnce(&mut dyn Popup, &App)) {
    let _ = app.with_popup(|popup, app| {
        change(popup, app);
        Next::Stay
    });
}

/// Replaces a task that left the list (filtered or removed) by the one in its row.
fn keep_task_row(app: &mut App, row: usize) {
    let all = board::rows(app);
    let index = index(app);
    let place = app.selected.task.and_then(|id| index.place(id));
    if place.is_some_and(|place| all.row_of(place).is_some()) {
        return;
    }
    let next = all.get(row).or_else(|| all.get(all.len().checked_sub(1)?));
    let next = next.and_then(|row| index.id(row.task));
    app.selected.task = next.or(app.selected.task);
}
