//! Keeps the selected items selected when an event changes their list; items are compared by identity, not by row.

use super::costs;
use crate::domain::ids::JobId;
use crate::protocol::EventKind;
use crate::ui::board;
use crate::ui::popup::{Choice, Popup, Text};
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::state::rows::{self, Does};
use crate::ui::state::{Models, UiState};

/// The selection before an event.
#[derive(Debug, Default)]
pub struct Selection {
    /// The selected item of a picker.
    pick: Option<Does>,
    job: Option<JobId>,
    /// The texts of the selected and of the opened todo item.
    todo: [Option<String>; 2],
    /// The selected row of the board.
    task_row: Option<usize>,
}

/// Returns the current selection; `None` for deltas of answers and outputs, which change no list.
pub fn before(state: &mut UiState, event: &EventKind) -> Option<Selection> {
    if event.is_delta() {
        return None;
    }
    // No explicit selection means the first row; pin the item that is there now.
    match state.focus {
        Focus::Pane(Pane::Team) if state.selected.member.is_none() => {
            state.selected.member = rows::selected_member(state).map(|(_, name)| name);
        }
        Focus::Pane(Pane::Board) if state.selected.task.is_none() => {
            state.selected.task = board::selected(state).map(|(_, id)| id);
        }
        Focus::Pane(_) | Focus::Composer => {}
    }
    costs::pin(state);
    let todo = |at: usize| Some(rows::todo(state).get(at)?.text.clone());
    let mut out = Selection {
        todo: [state.selected.todo.and_then(todo), None],
        ..Selection::default()
    };
    if let (EventKind::BoardChanged { .. }, Some(_)) = (event, state.selected.task) {
        out.task_row = board::selected(state).map(|(row, _)| row);
    }
    match state.popups.last() {
        Some(Popup::Picker(picker)) => {
            let picks = rows::picks(state, picker);
            out.pick = picks.into_iter().nth(picker.row).map(|pick| pick.does);
        }
        Some(Popup::Jobs { row }) => {
            out.job = state.jobs.listed().get(*row).map(|job| job.id.clone());
        }
        Some(Popup::Reader(reader)) => {
            if let Text::Todo(at) = reader.text {
                out.todo[1] = todo(at);
            }
        }
        Some(_) | None => {}
    }
    Some(out)
}

/// Restores the selection. A removed item is replaced by the one now in its row.
pub fn after(state: &mut UiState, before: Option<Selection>) {
    let Some(before) = before else { return };
    let [selected, read] = before.todo.map(|text| {
        let text = text?;
        rows::todo(state).iter().position(|item| item.text == text)
    });
    state.selected.todo = selected.or(state.selected.todo);
    if let Some(row) = before.task_row {
        keep_task_row(state, row);
    }
    let at = match state.popups.last() {
        Some(Popup::Picker(picker)) => {
            let picks = rows::picks(state, picker);
            let wanted = before.pick.as_ref();
            let at = picks.iter().position(|pick| Some(&pick.does) == wanted);
            let last = picks.len().saturating_sub(1);
            match (&picker.choice, wanted) {
                // The list has just arrived: select the current model.
                (Choice::Models, None) if picker.search.text().is_empty() => {
                    Some(model_in_use(state))
                }
                (_, _) => Some(at.unwrap_or(picker.row.min(last))),
            }
        }
        Some(Popup::Jobs { row }) => {
            let jobs = state.jobs.listed();
            let at = jobs.iter().position(|j| Some(&j.id) == before.job.as_ref());
            Some(at.unwrap_or_else(|| (*row).min(jobs.len().saturating_sub(1))))
        }
        Some(Popup::Reader(_)) => read,
        Some(_) | None => None,
    };
    let Some(at) = at else { return };
    match state.popups.last_mut() {
        Some(Popup::Picker(picker)) => picker.row = at,
        Some(Popup::Jobs { row }) => *row = at,
        Some(Popup::Reader(reader)) => {
            if let Text::Todo(item) = &mut reader.text {
                *item = at;
            }
        }
        Some(_) | None => {}
    }
}

/// Replaces a task that left the list (filtered or removed) by the one in its row.
fn keep_task_row(state: &mut UiState, row: usize) {
    let all = board::rows(state);
    let index = board::index(state);
    let place = state.selected.task.and_then(|id| index.place(id));
    if place.is_some_and(|place| all.row_of(place).is_some()) {
        return;
    }
    let next = all.get(row).or_else(|| all.get(all.len().checked_sub(1)?));
    let next = next.and_then(|row| index.id(row.task));
    state.selected.task = next.or(state.selected.task);
}

/// Returns the row of the current model in the list of models.
pub fn model_in_use(state: &UiState) -> usize {
    let Models::Listed(names) = &state.models else {
        return 0;
    };
    let current = state.setup.as_ref().map_or("", |s| s.model.as_str());
    let latest = format!("{current}:latest");
    let at = names.iter().position(|name| name == current);
    at.or_else(|| names.iter().position(|name| *name == latest))
        .unwrap_or(0)
}
