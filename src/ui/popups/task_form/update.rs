//! The task form: opened for a new task or an edit, submitted, or closed with its draft kept.

use crate::domain::ids::TaskId;
use crate::protocol::Command;
use crate::protocol::event::{NoticeLevel, UserAction};
use crate::ui::app::Preferences;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::Popup;
use crate::ui::app::task_form::TaskForm;
use crate::ui::app::task_rules::why_no_edit;
use crate::ui::app::{App, popup};
use crate::ui::keymap::direction::Way;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};

/// Returns the form if it is the top popup.
pub fn form(app: &mut App) -> Option<&mut TaskForm> {
    let Some(Popup::Task(form)) = app.popups.last_mut() else {
        return None;
    };
    Some(form)
}

/// Focuses the next or previous field.
pub fn turn(app: &mut App, way: Way) {
    let by = match way {
        Way::Forward => 1,
        Way::Back => -1,
    };
    if let Some(form) = form(app) {
        form.cycle_focus(by);
    }
}

/// Opens the form for a new task, or its draft.
pub fn add(app: &mut App) {
    open(app, None, TaskForm::new);
}

/// Opens the form for the selected task, or the draft of its edit.
pub fn edit(app: &mut App, selected: Option<TaskId>) {
    let Some(id) = selected else {
        app.say_no_task();
        return;
    };
    if let Some(why) = why_no_edit(app, id) {
        app.say_why(why, move |app| why_no_edit(app, id));
        return;
    }
    app.ask_panes(PaneRequest::SelectTask(id));
    let board = app.model.board.clone();
    open(app, Some(id), || {
        board.get(id).map_or_else(TaskForm::new, TaskForm::for_task)
    });
}

fn open(app: &mut App, id: Option<TaskId>, make: impl FnOnce() -> TaskForm) {
    let draft = app.input.task_forms.take_draft(id);
    let form = draft.unwrap_or_else(|| Box::new(make()));
    popup::push(app, Popup::Task(form));
}

/// Closes the form and keeps its draft.
pub fn close(app: &mut App) {
    let Some(Popup::Task(form)) = app.popups.pop() else {
        return;
    };
    let is_other = form
        .to_command(&app.model.board)
        .map_or(true, |wish| wish.is_some());
    if !is_other || form.is_empty() {
        return;
    }
    let words = kept(&app.prefs, form.id);
    app.say(NoticeLevel::Info, words);
    app.input.task_forms.store_draft(form);
}

/// Submits the form if it is valid; otherwise the form shows the error.
pub fn take(app: &mut App, out: &mut Vec<Effect>) {
    let board = app.model.board.clone();
    let is_full = app.input.task_forms.is_full();
    let Some(form) = form(app) else { return };
    match form.to_command(&board) {
        Err(why) => form.error = why,
        Ok(Some(_)) if is_full => {
            form.error = "the board has not confirmed the previous tasks yet: wait a moment".into();
        }
        Ok(None) => {
            app.popups.pop();
            app.say(NoticeLevel::Info, "No changes.");
        }
        Ok(Some(wish)) => {
            if let Some(Popup::Task(form)) = app.popups.pop() {
                app.input.task_forms.add_sent(form);
            }
            out.push(Effect::Command(Command::Task(Box::new(wish))));
        }
    }
}

/// Adds or removes the task selected on the board as a blocker.
pub fn turn_wait(app: &mut App, selected: Option<TaskId>) {
    let Some(form) = form(app) else { return };
    match selected {
        None => form.error = "there are no other tasks yet".into(),
        Some(id) if form.id == Some(id) => {
            form.error = format!("task {id} cannot wait for itself: choose another task");
        }
        Some(id) => form.toggle_blocker(id),
    }
}

/// Handles an accepted form.
pub fn taken(app: &mut App, task: TaskId, act: &UserAction) {
    let (id, words) = match act {
        UserAction::Added => (None, format!("{task} added.")),
        UserAction::Edited => (Some(task), format!("{task} updated.")),
        UserAction::Claimed | UserAction::Released { .. } | UserAction::Completed => return,
    };
    if app.input.task_forms.take_answered(id).is_some() {
        app.ask_panes(PaneRequest::SelectTask(task));
        app.say(NoticeLevel::Info, words);
    }
}

/// Handles a rejected form, of a new task or of an edit: it reopens with the reason, or stays a draft if the user is
/// busy elsewhere.
pub fn refused(app: &mut App, id: Option<TaskId>, why: &str) {
    let Some(mut form) = app.input.task_forms.take_answered(id) else {
        return;
    };
    form.error = why.into();
    if app.is_in_panes() && app.focus != Focus::Composer {
        popup::push(app, Popup::Task(form));
    } else {
        let words = format!("{}. {}", why.trim_end_matches('.'), kept(&app.prefs, id));
        app.say(NoticeLevel::Warn, words);
        app.input.task_forms.store_draft(form);
    }
}

/// Returns the message that names the key for the draft.
fn kept(prefs: &Preferences, id: Option<TaskId>) -> String {
    let action = match id {
        None => Action::AddTask,
        Some(_) => Action::EditTask,
    };
    let key = prefs.keymap.key(Context::In(Pane::Board), action);
    format!("Draft kept; {key} reopens it.")
}
