//! Writing a task and changing one: the form is opened, taken, or closed with its draft kept.

use crate::domain::ids::TaskId;
use crate::protocol::Command;
use crate::protocol::event::{Level, PersonAct};
use crate::ui::app::effect::Do;
use crate::ui::app::popup::Popup;
use crate::ui::app::task_form::TaskForm;
use crate::ui::app::{App, popup};
use crate::ui::keymap::direction::Way;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::board;

/// The form that has the keys.
pub fn form(app: &mut App) -> Option<&mut TaskForm> {
    let Some(Popup::Task(form)) = app.popups.last_mut() else {
        return None;
    };
    Some(form)
}

/// Gives the keys to the next field, or to the one before.
pub fn turn(app: &mut App, way: Way) {
    let by = match way {
        Way::Forward => 1,
        Way::Back => -1,
    };
    if let Some(form) = form(app) {
        form.turn(by);
    }
}

/// Opens the form for a new task, or the draft of one.
pub fn add(app: &mut App) {
    open(app, None, TaskForm::new);
}

/// Opens the form for the selected task, or the draft of its change.
pub fn edit(app: &mut App) {
    let Some((_, id)) = board::selected(app) else {
        app.say_no_task();
        return;
    };
    if let Some(why) = board::why_no_edit(app, id) {
        app.say_why(why, move |app| board::why_no_edit(app, id));
        return;
    }
    app.selected.task = Some(id);
    let board = app.model.board.clone();
    open(app, Some(id), || {
        board.get(id).map_or_else(TaskForm::new, TaskForm::of)
    });
}

fn open(app: &mut App, id: Option<TaskId>, make: impl FnOnce() -> TaskForm) {
    let draft = app.input.task_forms.draft(id);
    let form = draft.unwrap_or_else(|| Box::new(make()));
    popup::push(app, Popup::Task(form));
}

/// Closes the form; what is written waits for the next time.
pub fn close(app: &mut App) {
    let Some(Popup::Task(form)) = app.popups.pop() else {
        return;
    };
    let is_other = form
        .wish(&app.model.board)
        .map_or(true, |wish| wish.is_some());
    if !is_other || form.is_empty() {
        return;
    }
    let words = kept(app, form.id);
    app.say(Level::Info, words);
    app.input.task_forms.keep(form);
}

/// Takes what is written, where the board would; else the form says why not.
pub fn take(app: &mut App, out: &mut Vec<Do>) {
    let board = app.model.board.clone();
    let is_full = app.input.task_forms.is_full();
    let Some(form) = form(app) else { return };
    match form.wish(&board) {
        Err(why) => form.error = why,
        Ok(Some(_)) if is_full => {
            form.error = "the board has not answered to the tasks before: wait a moment".into();
        }
        Ok(None) => {
            app.popups.pop();
            app.say(Level::Info, "Nothing was changed.");
        }
        Ok(Some(wish)) => {
            if let Some(Popup::Task(form)) = app.popups.pop() {
                app.input.task_forms.sent(form);
            }
            out.push(Do::Command(Command::Task(Box::new(wish))));
        }
    }
}

/// Lets the task that is selected on the board be waited for, or no more.
pub fn turn_wait(app: &mut App) {
    let selected = board::selected(app).map(|(_, id)| id);
    let Some(form) = form(app) else { return };
    match selected {
        None => form.error = "there is no task to wait for yet".into(),
        Some(id) if form.id == Some(id) => {
            form.error = format!("task {id} can not wait for itself: name another task");
        }
        Some(id) => form.turn_wait(id),
    }
}

/// The board has taken what was written.
pub fn taken(app: &mut App, task: TaskId, act: &PersonAct) {
    let (id, words) = match act {
        PersonAct::Added => (None, format!("{task} is on the board.")),
        PersonAct::Edited => (Some(task), format!("{task} is changed.")),
        PersonAct::Claimed | PersonAct::Released { .. } | PersonAct::Completed => return,
    };
    if app.input.task_forms.answered(id).is_some() {
        app.selected.task = Some(task);
        app.say(Level::Info, words);
    }
}

/// The board has refused what was written, a new task or the change of that one: the form comes back with the reason, or
/// its draft waits where the person writes or reads something else.
pub fn refused(app: &mut App, id: Option<TaskId>, why: &str) {
    let Some(mut form) = app.input.task_forms.answered(id) else {
        return;
    };
    form.error = why.into();
    if app.is_in_panes() && app.focus != Focus::Composer {
        popup::push(app, Popup::Task(form));
    } else {
        let words = format!("{}. {}", why.trim_end_matches('.'), kept(app, id));
        app.say(Level::Warn, words);
        app.input.task_forms.keep(form);
    }
}

/// How a draft is brought back.
fn kept(app: &App, id: Option<TaskId>) -> String {
    let action = match id {
        None => Action::AddTask,
        Some(_) => Action::EditTask,
    };
    let key = app.prefs.keymap.key(Context::In(Pane::Board), action);
    format!("The draft is kept: {key} brings it back.")
}
