//! The user's own actions on the selected task: claim, release, complete, edit and merge it, and manage its worktree.

use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::text::escape_control_chars;
use crate::protocol::{Command, TaskCommand};
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::open as open_popup;
use crate::ui::app::task_rules::{
    TaskAction, owner, owner_is_here, why_no_edit, why_no_removal, why_not,
};
use crate::ui::model::CrewModel;
use crate::ui::model::board::branches;
use crate::ui::popups::confirm::complete_task::{CompleteTask, complete};
use crate::ui::popups::confirm::merge_task::{MergeTask, refusal};
use crate::ui::popups::confirm::release_task::{ReleaseTask, release};
use crate::ui::popups::confirm::{Confirmation, send};
use crate::ui::popups::task_form;

/// Returns the selected task and its owner if the user may do `action` with the task. Otherwise shows the reason as a
/// status message and returns `None`.
fn selected_for(
    app: &mut App,
    selected: Option<TaskId>,
    action: TaskAction,
) -> Option<(TaskId, Option<Name>)> {
    let Some(id) = selected else {
        app.say_no_task();
        return None;
    };
    let task = app.model.board.get(id)?;
    let owner = owner(task);
    match why_not(app, task, action) {
        Some(why) => {
            app.say_why(why, move |app| {
                let task = app.model.board.get(id)?;
                why_not(app, task, action)
            });
            None
        }
        None => {
            // The board may change before the action is carried out, so the task is selected explicitly.
            app.ask_panes(PaneRequest::SelectTask(id));
            Some((id, owner))
        }
    }
}

pub fn claim(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    if let Some((task, _)) = selected_for(app, selected, TaskAction::Claim) {
        send(
            app,
            format!("Claiming {task}…"),
            TaskCommand::Claim { task },
            out,
        );
    }
}

/// Releases the selected task; asks for confirmation if the lead or a teammate that has not shut down owns it. If the
/// task cannot be released, a status message says why.
pub fn release_selected(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    let Some((task, Some(from))) = selected_for(app, selected, TaskAction::Release) else {
        return;
    };
    if !from.is_user() && owner_is_here(app, &from) {
        open_popup(app, Confirmation(ReleaseTask { task, from }));
    } else {
        release(app, task, from, out);
    }
}

/// Completes the selected task; asks for confirmation if it has no owner. If the task cannot be completed, a status
/// message says why.
pub fn complete_selected(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    match selected_for(app, selected, TaskAction::Complete) {
        None => {}
        Some((task, None)) => {
            open_popup(app, Confirmation(CompleteTask(task)));
        }
        Some((task, Some(_))) => complete(app, task, out),
    }
}

/// Copies the path of the selected task's worktree to the clipboard. If there is no worktree, shows the reason as a
/// status message.
pub fn copy_worktree_path(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    let Some(id) = with_worktree(app, selected) else {
        return;
    };
    let task = app.model.board.get(id);
    let Some(path) = task.map(|task| path(app, task)) else {
        return;
    };
    app.say(format!("Copied the path of {id}'s worktree: {path}"));
    out.push(Effect::Copy(path));
}

/// Returns the path of the task's worktree, with control characters escaped, so that the path can be displayed and
/// copied.
fn path(model: &CrewModel, task: &Task) -> String {
    let root = model
        .setup
        .as_ref()
        .map_or(".", |setup| setup.root.as_str());
    escape_control_chars(&format!("{root}/.worktrees/{}", task.worktree))
}

/// Asks the crew what would be lost if the worktree of the selected task were removed. When the crew replies, the
/// dialog that confirms the removal opens. If the worktree cannot be removed, shows the reason as a status message
/// instead.
pub fn ask_removal(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    let Some(task) = with_worktree(app, selected) else {
        return;
    };
    if let Some(why) = why_no_removal(app, task) {
        app.say_why(why, move |app| why_no_removal(app, task));
        return;
    }
    app.say(format!("Checking the worktree of {task}…"));
    out.push(Effect::Command(Command::InspectWorktree { task }));
}

/// Asks for confirmation to merge the branch of the selected task. If the branch cannot be merged, shows the reason as
/// a status message instead.
pub fn merge(app: &mut App, selected: Option<TaskId>) {
    let Some(id) = selected else {
        app.say_no_task();
        return;
    };
    if let Some(why) = refusal(app, id) {
        app.say_why(why, move |app| refusal(app, id));
        return;
    }
    // The board may change while the dialog is open, so the task is selected explicitly.
    app.ask_panes(PaneRequest::SelectTask(id));
    open_popup(app, Confirmation(MergeTask(id)));
}

/// Returns the selected task if it may have a worktree. Otherwise returns `None` and says in a status message why there
/// is no worktree.
fn with_worktree(app: &mut App, selected: Option<TaskId>) -> Option<TaskId> {
    let Some(id) = selected else {
        app.say_no_task();
        return None;
    };
    let why = move |app: &App| branches::why_no_worktree(app, app.model.board.get(id)?);
    if let Some(text) = why(app) {
        app.say_why(text, why);
        return None;
    }
    Some(id)
}

/// Asks the crew for the diff of the selected task's branch. If there is no worktree, shows the reason as a status
/// message.
pub fn ask_diff(app: &mut App, selected: Option<TaskId>, out: &mut Vec<Effect>) {
    if let Some(task) = with_worktree(app, selected) {
        out.push(Effect::Command(Command::ShowDiff { task }));
    }
}

/// Opens the form that edits the selected task. If the user has closed this form before without saving, the unsaved
/// text is restored. If the task cannot be edited, shows the reason as a status message instead.
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
    task_form::edit(app, id);
}
