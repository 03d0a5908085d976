//! Merges of completed tasks: one or all, after confirmation.

use crate::domain::ids::TaskId;
use crate::protocol::Command;
use crate::protocol::event::NoticeLevel;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{Confirmation, Popup};
use crate::ui::app::{App, popup};
use crate::ui::model::CrewModel;
use crate::ui::model::board::branches;

/// Asks for confirmation to merge the branch of the selected task, if it can be merged.
pub fn ask(app: &mut App, selected: Option<TaskId>) {
    let Some(id) = selected else {
        app.say_no_task();
        return;
    };
    if let Some(why) = refusal(app, id) {
        app.say_why(why, move |app| refusal(app, id));
        return;
    }
    // The board may change while the dialog is open; this keeps the selection on the task.
    app.ask_panes(PaneRequest::SelectTask(id));
    popup::push(app, Popup::Confirm(Confirmation::Merge(id)));
}

/// Merges the branch of `task` after confirmation.
pub fn one(app: &mut App, task: TaskId, out: &mut Vec<Effect>) {
    match refusal(app, task) {
        Some(why) => app.say_why(why, move |app| refusal(app, task)),
        None => {
            let text = format!("Merging the branch of {task}…");
            app.say_while(NoticeLevel::Info, text, move |app| is_mergeable(app, task));
            out.push(Effect::Command(Command::Merge { task }));
        }
    }
}

/// Merges the branches of all completed tasks after confirmation.
pub fn all(app: &mut App, out: &mut Vec<Effect>) {
    let tasks = branches::to_merge(app).as_ref().clone();
    if tasks.len() < 2 {
        // A single branch is merged with ` y`. None is left if another window has merged them.
        return;
    }
    app.popups.pop();
    let (text, merging) = (format!("Merging {} branches…", tasks.len()), tasks.clone());
    app.say_while(NoticeLevel::Info, text, move |app| {
        merging.iter().any(|task| is_mergeable(app, *task))
    });
    out.push(Effect::Command(Command::MergeAll { tasks }));
}

/// Closes a merge dialog that no longer applies.
pub fn settle(app: &mut App) {
    let mut why = None;
    for popup in &app.popups {
        if let Popup::Confirm(Confirmation::Merge(id)) = popup {
            why = why.or_else(|| refusal(app, *id));
        }
    }
    if let Some(why) = why {
        let is_merge = |p: &Popup| matches!(p, Popup::Confirm(Confirmation::Merge(_)));
        app.popups.retain(|p| !is_merge(p));
        app.say(NoticeLevel::Info, why);
    }
}

fn is_mergeable(model: &CrewModel, id: TaskId) -> bool {
    let task = model.board.get(id);
    task.is_some_and(|task| branches::is_mergeable(model, task))
}

fn refusal(model: &CrewModel, id: TaskId) -> Option<String> {
    let task = model.board.get(id);
    task.map_or_else(
        || Some(format!("{id} is no longer on the board.")),
        |task| branches::refusal(model, task),
    )
}
