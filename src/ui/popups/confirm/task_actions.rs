//! The user's own actions on the board: claim, release and complete tasks, and manage their worktrees.

use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::text::escape_control_chars;
use crate::domain::worktree::Losses;
use crate::protocol::event::NoticeLevel;
use crate::protocol::{Command, TaskCommand};
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{Confirmation, Popup, WorktreeCheck};
use crate::ui::app::task_rules::{TaskAction, owner, owner_is_here, why_no_removal, why_not};
use crate::ui::app::{App, popup};
use crate::ui::model::CrewModel;
use crate::ui::model::board::branches;
use crate::ui::popups::confirm;

/// Returns the selected task and its owner if the user may act on it; otherwise says why not.
fn selected(
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
            // The board may change before the action is done; this keeps the selection on the task.
            app.ask_panes(PaneRequest::SelectTask(id));
            Some((id, owner))
        }
    }
}

fn wish(app: &mut App, words: String, wish: TaskCommand, out: &mut Vec<Effect>) {
    app.say(NoticeLevel::Info, words);
    out.push(Effect::Command(Command::Task(Box::new(wish))));
}

/// Claims the selected task.
pub fn claim(app: &mut App, task: Option<TaskId>, out: &mut Vec<Effect>) {
    if let Some((task, _)) = selected(app, task, TaskAction::Claim) {
        wish(
            app,
            format!("Claiming {task}…"),
            TaskCommand::Claim { task },
            out,
        );
    }
}

/// Releases the selected task; asks for confirmation if a running teammate owns it.
pub fn release(app: &mut App, task: Option<TaskId>, out: &mut Vec<Effect>) {
    let Some((task, Some(from))) = selected(app, task, TaskAction::Release) else {
        return;
    };
    if !from.is_user() && owner_is_here(app, &from) {
        popup::push(app, Popup::Confirm(Confirmation::Release { task, from }));
    } else {
        release_now(app, task, from, out);
    }
}

/// Releases a task after confirmation.
pub fn release_now(app: &mut App, task: TaskId, from: Name, out: &mut Vec<Effect>) {
    let words = format!("Releasing {task}…");
    wish(app, words, TaskCommand::Release { task, from }, out);
}

/// Completes the selected task; asks for confirmation if it has no owner.
pub fn complete(app: &mut App, task: Option<TaskId>, out: &mut Vec<Effect>) {
    match selected(app, task, TaskAction::Complete) {
        None => {}
        Some((task, None)) => {
            popup::push(app, Popup::Confirm(Confirmation::Complete(task)));
        }
        Some((task, Some(_))) => complete_now(app, task, out),
    }
}

/// Completes a task, after confirmation where needed.
pub fn complete_now(app: &mut App, task: TaskId, out: &mut Vec<Effect>) {
    wish(
        app,
        format!("Completing {task}…"),
        TaskCommand::Complete { task },
        out,
    );
}

/// Copies the path of the selected task's worktree.
pub fn copy_place(app: &mut App, task: Option<TaskId>, out: &mut Vec<Effect>) {
    let Some(id) = confirm::with_worktree(app, task) else {
        return;
    };
    let task = app.model.board.get(id);
    let Some(path) = task.map(|task| path(app, task)) else {
        return;
    };
    app.say(
        NoticeLevel::Info,
        format!("Copied the path of {id}'s worktree: {path}"),
    );
    out.push(Effect::Copy(path));
}

/// Returns the path of the task's worktree.
fn path(model: &CrewModel, task: &Task) -> String {
    let root = model
        .setup
        .as_ref()
        .map_or(".", |setup| setup.root.as_str());
    escape_control_chars(&format!("{root}/.worktrees/{}", task.worktree))
}

/// Checks what removing the selected task's worktree would lose, before the confirmation.
pub fn ask_removal(app: &mut App, task: Option<TaskId>, out: &mut Vec<Effect>) {
    let Some(task) = confirm::with_worktree(app, task) else {
        return;
    };
    if let Some(why) = why_no_removal(app, task) {
        app.say_why(why, move |app| why_no_removal(app, task));
        return;
    }
    app.say(
        NoticeLevel::Info,
        format!("Checking the worktree of {task}…"),
    );
    out.push(Effect::Command(Command::JudgeWorktree { task }));
}

/// Asks for confirmation once the possible losses are known.
pub fn judged(app: &mut App, task: TaskId, losses: &Losses, size: &str) {
    if !app.is_in_panes() {
        // The user is doing something else now.
        return;
    }
    app.status = None;
    popup::push(
        app,
        Popup::Confirm(Confirmation::RemoveWorktree(WorktreeCheck {
            task,
            losses: losses.clone(),
            size: size.into(),
        })),
    );
}

/// Removes a worktree after confirmation; asks a second time if work would be lost.
pub fn removal(app: &mut App, judged: WorktreeCheck, out: &mut Vec<Effect>) {
    if judged.losses.is_empty() {
        remove_now(app, judged, out);
    } else {
        popup::push(app, Popup::Confirm(Confirmation::LoseWork(judged)));
    }
}

/// Removes a worktree whose losses were shown to the user.
pub fn remove_now(app: &mut App, judged: WorktreeCheck, out: &mut Vec<Effect>) {
    let (task, told) = (judged.task, judged.losses);
    let text = format!("Removing the worktree of {task}…");
    app.say_while(NoticeLevel::Info, text, move |app| {
        let task = app.model.board.get(task);
        task.is_some_and(|task| branches::has_tree(app, task))
    });
    out.push(Effect::Command(Command::RemoveWorktree { task, told }));
}

/// Closes a dialog that no longer applies.
pub fn settle(app: &mut App) {
    let asked = app.popups.iter().find_map(|popup| {
        let Popup::Confirm(question) = popup else {
            return None;
        };
        match question {
            Confirmation::Release { task, from } => {
                Some((*task, TaskAction::Release, Some(from.clone())))
            }
            Confirmation::Complete(task) => Some((*task, TaskAction::Complete, None)),
            Confirmation::Quit
            | Confirmation::Force(_)
            | Confirmation::Merge(_)
            | Confirmation::RemoveWorktree(_)
            | Confirmation::LoseWork(_)
            | Confirmation::ApproveSettings => None,
        }
    });
    let Some((id, action, from)) = asked else {
        return;
    };
    let why = match app.model.board.get(id) {
        None => Some(format!("{id} is no longer on the board.")),
        Some(task) => {
            let owner = owner(task);
            let is_other = owner.as_ref().map(Name::as_str) != from.as_ref().map(Name::as_str);
            let other = || format!("{id} now has another owner.");
            why_not(app, task, action).or_else(|| is_other.then(other))
        }
    };
    if let Some(why) = why {
        let asks = |p: &Popup| {
            matches!(
                p,
                Popup::Confirm(Confirmation::Release { .. } | Confirmation::Complete(_))
            )
        };
        app.popups.retain(|p| !asks(p));
        app.say(NoticeLevel::Info, why);
    }
}
