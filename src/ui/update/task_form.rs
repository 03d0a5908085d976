//! The task form: opened for a new task or an edit, submitted, or closed with its draft kept.

use super::Do;
use super::movement::Way;
use super::popups;
use crate::domain::ids::TaskId;
use crate::protocol::Command;
use crate::protocol::event::{Level, PersonAct};
use crate::ui::board;
use crate::ui::keymap::{Action, Context};
use crate::ui::popup::Popup;
use crate::ui::state::UiState;
use crate::ui::state::pane::{Focus, Pane};
use crate::ui::writing::task_form::TaskForm;

/// Returns the form if it is the top popup.
pub fn form(state: &mut UiState) -> Option<&mut TaskForm> {
    let Some(Popup::Task(form)) = state.popups.last_mut() else {
        return None;
    };
    Some(form)
}

/// Focuses the next or previous field.
pub fn turn(state: &mut UiState, way: Way) {
    let by = match way {
        Way::Forward => 1,
        Way::Back => -1,
    };
    if let Some(form) = form(state) {
        form.turn(by);
    }
}

/// Opens the form for a new task, or its draft.
pub fn add(state: &mut UiState) {
    open(state, None, TaskForm::new);
}

/// Opens the form for the selected task, or the draft of its edit.
pub fn edit(state: &mut UiState) {
    let Some((_, id)) = board::selected(state) else {
        state.say_no_task();
        return;
    };
    if let Some(why) = board::why_no_edit(state, id) {
        state.say_why(why, move |state| board::why_no_edit(state, id));
        return;
    }
    state.selected.task = Some(id);
    let board = state.board.clone();
    open(state, Some(id), || {
        board.get(id).map_or_else(TaskForm::new, TaskForm::of)
    });
}

fn open(state: &mut UiState, id: Option<TaskId>, make: impl FnOnce() -> TaskForm) {
    let draft = state.task_forms.draft(id);
    let form = draft.unwrap_or_else(|| Box::new(make()));
    popups::push(state, Popup::Task(form));
}

/// Closes the form and keeps its draft.
pub fn close(state: &mut UiState) {
    let Some(Popup::Task(form)) = state.popups.pop() else {
        return;
    };
    let is_other = form.wish(&state.board).map_or(true, |wish| wish.is_some());
    if !is_other || form.is_empty() {
        return;
    }
    let words = kept(state, form.id);
    state.say(Level::Info, words);
    state.task_forms.keep(form);
}

/// Submits the form if it is valid; otherwise the form shows the error.
pub fn take(state: &mut UiState, out: &mut Vec<Do>) {
    let board = state.board.clone();
    let is_full = state.task_forms.is_full();
    let Some(form) = form(state) else { return };
    match form.wish(&board) {
        Err(why) => form.error = why,
        Ok(Some(_)) if is_full => {
            form.error = "the board has not confirmed the previous tasks yet: wait a moment".into();
        }
        Ok(None) => {
            state.popups.pop();
            state.say(Level::Info, "No changes.");
        }
        Ok(Some(wish)) => {
            if let Some(Popup::Task(form)) = state.popups.pop() {
                state.task_forms.sent(form);
            }
            out.push(Do::Command(Command::Task(Box::new(wish))));
        }
    }
}

/// Adds or removes the task selected on the board as a blocker.
pub fn turn_wait(state: &mut UiState) {
    let selected = board::selected(state).map(|(_, id)| id);
    let Some(form) = form(state) else { return };
    match selected {
        None => form.error = "there are no other tasks yet".into(),
        Some(id) if form.id == Some(id) => {
            form.error = format!("task {id} cannot wait for itself: choose another task");
        }
        Some(id) => form.turn_wait(id),
    }
}

/// Handles an accepted form.
pub fn taken(state: &mut UiState, task: TaskId, act: &PersonAct) {
    let (id, words) = match act {
        PersonAct::Added => (None, format!("{task} added.")),
        PersonAct::Edited => (Some(task), format!("{task} updated.")),
        PersonAct::Claimed | PersonAct::Released { .. } | PersonAct::Completed => return,
    };
    if state.task_forms.answered(id).is_some() {
        state.selected.task = Some(task);
        state.say(Level::Info, words);
    }
}

/// Handles a rejected form, of a new task or of an edit: it reopens with the reason, or stays a draft if the user is
/// busy elsewhere.
pub fn refused(state: &mut UiState, id: Option<TaskId>, why: &str) {
    let Some(mut form) = state.task_forms.answered(id) else {
        return;
    };
    form.error = why.into();
    if state.is_in_panes() && state.focus != Focus::Composer {
        popups::push(state, Popup::Task(form));
    } else {
        let words = format!("{}. {}", why.trim_end_matches('.'), kept(state, id));
        state.say(Level::Warn, words);
        state.task_forms.keep(form);
    }
}

/// Returns the message that names the key for the draft.
fn kept(state: &UiState, id: Option<TaskId>) -> String {
    let action = match id {
        None => Action::AddTask,
        Some(_) => Action::EditTask,
    };
    let key = state.keymap.key(Context::In(Pane::Board), action);
    format!("Draft kept; {key} reopens it.")
}
