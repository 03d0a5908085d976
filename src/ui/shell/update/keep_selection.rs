//! Keeps the selected items selected when an event changes their list; items are compared by identity, not by row.

use crate::domain::ids::JobId;
use crate::protocol::{BoardEvent, EventKind};
use crate::ui::app::App;
use crate::ui::app::popup::{Choice, Popup, Text};
use crate::ui::frame::pick::PickEffect;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::board::index;
use crate::ui::panes::{board, team, todo};
use crate::ui::popups::costs;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::picker::rows::model_in_use;

/// The selection before an event.
#[derive(Debug, Default)]
pub struct Selection {
    /// The selected item of a picker.
    pick: Option<PickEffect>,
    job: Option<JobId>,
    /// The texts of the selected and of the opened todo item.
    todo: [Option<String>; 2],
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
    costs::update::pin(app);
    let todo = |at: usize| Some(todo::todo(app).get(at)?.text.clone());
    let mut out = Selection {
        todo: [app.selected.todo.and_then(todo), None],
        ..Selection::default()
    };
    if let (EventKind::Board(BoardEvent::BoardChanged { .. }), Some(_)) = (event, app.selected.task)
    {
        out.task_row = board::selected(app).map(|(row, _)| row);
    }
    match app.popups.last() {
        Some(Popup::Picker(picker)) => {
            let picks = picker_rows::picker_rows(app, picker);
            out.pick = picks.into_iter().nth(picker.row).map(|pick| pick.does);
        }
        Some(Popup::Jobs { row }) => {
            out.job = app.model.jobs.listed().get(*row).map(|job| job.id.clone());
        }
        Some(Popup::Pager(reader)) => {
            if let Text::Todo(at) = reader.text {
                out.todo[1] = todo(at);
            }
        }
        Some(_) | None => {}
    }
    Some(out)
}

/// Restores the selection. A removed item is replaced by the one now in its row.
pub fn after(app: &mut App, before: Option<Selection>) {
    let Some(before) = before else { return };
    let [selected, read] = before.todo.map(|text| {
        let text = text?;
        todo::todo(app).iter().position(|item| item.text == text)
    });
    app.selected.todo = selected.or(app.selected.todo);
    if let Some(row) = before.task_row {
        keep_task_row(app, row);
    }
    let at = match app.popups.last() {
        Some(Popup::Picker(picker)) => {
            let picks = picker_rows::picker_rows(app, picker);
            let wanted = before.pick.as_ref();
            let at = picks.iter().position(|pick| Some(&pick.does) == wanted);
            let last = picks.len().saturating_sub(1);
            match (&picker.choice, wanted) {
                // The list has just arrived: select the current model.
                (Choice::Models, None) if picker.search.text().is_empty() => {
                    Some(model_in_use(app))
                }
                (_, _) => Some(at.unwrap_or(picker.row.min(last))),
            }
        }
        Some(Popup::Jobs { row }) => {
            let jobs = app.model.jobs.listed();
            let at = jobs.iter().position(|j| Some(&j.id) == before.job.as_ref());
            Some(at.unwrap_or_else(|| (*row).min(jobs.len().saturating_sub(1))))
        }
        Some(Popup::Pager(_)) => read,
        Some(_) | None => None,
    };
    let Some(at) = at else { return };
    match app.popups.last_mut() {
        Some(Popup::Picker(picker)) => picker.row = at,
        Some(Popup::Jobs { row }) => *row = at,
        Some(Popup::Pager(reader)) => {
            if let Text::Todo(item) = &mut reader.text {
                *item = at;
            }
        }
        Some(_) | None => {}
    }
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
