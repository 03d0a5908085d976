//! Keeps the selected items selected when an event changes their list; items are compared by identity, not by row.

use crate::domain::ids::JobId;
use crate::protocol::EventKind;
use crate::ui::app::popup::{Choice, Popup, Text};
use crate::ui::frame::pick::PickEffect;
use crate::ui::keymap::pane::Pane;
use crate::ui::popups::costs;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::picker::rows::model_in_use;
use crate::ui::shell::state::UiState;

/// The selection before an event.
#[derive(Debug, Default)]
pub struct Selection {
    /// The selected item of a picker.
    pick: Option<PickEffect>,
    job: Option<JobId>,
    /// The text of the opened todo item.
    todo: Option<String>,
}

/// Returns the current selection; `None` for deltas of answers and outputs, which change no list.
pub fn before(state: &mut UiState, event: &EventKind) -> Option<Selection> {
    if event.is_delta() {
        return None;
    }
    for pane in Pane::ALL {
        state.panes.get_mut(pane).before_event(&state.app, event);
    }
    let app = &mut state.app;
    costs::update::pin(app);
    let mut out = Selection::default();
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
                out.todo = app.shown_todo().get(at).map(|item| item.text.clone());
            }
        }
        Some(_) | None => {}
    }
    Some(out)
}

/// Restores the selection. A removed item is replaced by the one now in its row.
pub fn after(state: &mut UiState, before: Option<Selection>) {
    let Some(before) = before else { return };
    for pane in Pane::ALL {
        state.panes.get_mut(pane).after_event(&state.app);
    }
    let app = &mut state.app;
    let read = before.todo.and_then(|text| {
        let mut items = app.shown_todo().iter();
        items.position(|item| item.text == text)
    });
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
