//! Actions of the task form: opening it for a new task or an edit, submitting it, and keeping a draft of it.

mod drafts;
pub(in crate::ui) mod form;
pub(in crate::ui) mod layout;
mod popup;
#[cfg(test)]
mod tests;
mod view;

use crate::domain::ids::TaskId;
use crate::protocol::event::UserAction;
use crate::protocol::{Command, TaskCommand};
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{Next, open as open_popup};
use crate::ui::app::{App, Preferences};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
#[cfg(test)]
pub use crate::ui::popups::task_form::drafts::FORMS_MAX;
use crate::ui::popups::task_form::drafts::TaskForms;
use crate::ui::popups::task_form::form::TaskForm;

/// Opens the form for a new task. If the user has a draft of a new task, opens that draft.
pub fn add(app: &mut App) {
    open(app, None, TaskForm::new);
}

/// Opens the form that edits a task. If the user has a draft of this edit, opens that draft. If the task is not on the
/// board, opens the form for a new task.
pub fn edit(app: &mut App, id: TaskId) {
    let board = app.model.board.clone();
    open(app, Some(id), || {
        board.get(id).map_or_else(TaskForm::new, TaskForm::for_task)
    });
}

fn open(app: &mut App, id: Option<TaskId>, make: impl FnOnce() -> TaskForm) {
    let draft = forms(app, |forms| forms.take_draft(id));
    open_popup(app, draft.unwrap_or_else(make));
}

/// Calls `change` with the task forms that are not on the screen, and returns the result of `change`.
fn forms<R>(app: &mut App, change: impl FnOnce(&mut TaskForms) -> R) -> R {
    app.popups.with_kept(change)
}

/// Keeps a form, which the user closed without saving, as a draft, and says so in a status message. Does nothing if the
/// form is empty or unchanged.
fn keep_draft(app: &mut App, form: TaskForm) {
    let is_changed = form
        .to_command(&app.model.board)
        .map_or(true, |command| command.is_some());
    if !is_changed || form.is_empty() {
        return;
    }
    let words = draft_kept_message(&app.prefs, form.id);
    app.say(words);
    forms(app, |forms| forms.store_draft(form));
}

/// Sends the command of the form, and closes the form. If nothing has changed, closes the form without a command. If
/// the form is invalid, or if `FORMS_MAX` sent forms wait for the board to accept or reject them, the form stays open
/// and shows the error.
fn submit(form: &mut TaskForm, app: &mut App, out: &mut Vec<Effect>) -> Next {
    match form.to_command(&app.model.board) {
        Err(why) => form.error = why,
        Ok(Some(_)) if forms(app, |forms| forms.is_full()) => {
            form.error = "the board has not confirmed the previous tasks yet: wait a moment".into();
        }
        Ok(None) => {
            app.say("No changes.");
            return Next::Close;
        }
        Ok(Some(command)) => {
            let form = std::mem::take(form);
            forms(app, |forms| forms.add_sent(form, command.clone()));
            out.push(Effect::Command(Command::Task(Box::new(command))));
            return Next::Close;
        }
    }
    Next::Stay
}

/// Adds `selected`, the task that is selected on the board, to the blockers in the open form, or removes it from them.
/// The form shows an error if no task is selected or `selected` is the task of the form. Does nothing if the form is not
/// the topmost popup.
pub fn toggle_blocker(app: &mut App, selected: Option<TaskId>) {
    let Some(form) = app.popups.top_mut::<TaskForm>() else {
        return;
    };
    match selected {
        None => form.error = "there are no other tasks yet".into(),
        Some(id) if form.id == Some(id) => {
            form.error = format!("task {id} cannot wait for itself: choose another task");
        }
        Some(id) => form.toggle_blocker(id),
    }
}

/// Called when the board has accepted the user's action `act` on a task. If the action came from a form, forgets the
/// sent form, selects the task on the board and shows a status message.
pub fn on_action_accepted(app: &mut App, task: TaskId, act: &UserAction) {
    let (id, words) = match act {
        UserAction::Added => (None, format!("{task} added.")),
        UserAction::Edited => (Some(task), format!("{task} updated.")),
        UserAction::Claimed | UserAction::Released { .. } | UserAction::Completed => return,
    };
    if forms(app, |forms| forms.accept(id)) {
        app.ask_panes(PaneRequest::SelectTask(task));
        app.say(words);
    }
}

/// Called when the crew has rejected `command`. If a form sent the command, the form reopens with the reason, or
/// becomes a draft if a popup or the composer has the focus. Otherwise, does nothing.
pub fn on_command_rejected(app: &mut App, command: &TaskCommand, why: &str) {
    let Some(mut form) = forms(app, |forms| forms.take_rejected(command)) else {
        return;
    };
    let id = form.id;
    form.error = why.into();
    if app.is_in_panes() && app.focus != Focus::Composer {
        open_popup(app, form);
    } else {
        let words = format!(
            "{}. {}",
            why.trim_end_matches('.'),
            draft_kept_message(&app.prefs, id)
        );
        app.warn(words);
        forms(app, |forms| forms.store_draft(form));
    }
}

/// Returns whether there are no drafts, and no sent forms that the board has neither accepted nor rejected.
#[cfg(test)]
pub fn is_clear(app: &mut App) -> bool {
    forms(app, |forms| forms.is_clear())
}

/// Returns the status message that says that a draft was kept, and which key reopens it.
fn draft_kept_message(prefs: &Preferences, id: Option<TaskId>) -> String {
    let action = match id {
        None => Action::AddTask,
        Some(_) => Action::EditTask,
    };
    let key = prefs.keymap.key(Context::In(Pane::Board), action);
    format!("Draft kept; {key} reopens it.")
}
