//! The person's own hand on the board: claim, release and complete a task, and where its worktree is.

use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::text::harmless;
use crate::domain::worktree::Losses;
use crate::protocol::event::Level;
use crate::protocol::{Command, TaskWish};
use crate::ui::app::UiState;
use crate::ui::app::effect::Do;
use crate::ui::app::popup;
use crate::ui::app::popup::{Judged, Popup, Question};
use crate::ui::model::board::branches;
use crate::ui::panes::board;
use crate::ui::panes::board::Hand;
use crate::ui::popups::confirm;

/// The selected task, if the person can do that with it; else says why not.
fn selected(state: &mut UiState, hand: Hand) -> Option<(TaskId, Option<Name>)> {
    let Some((_, id)) = board::selected(state) else {
        state.say_no_task();
        return None;
    };
    let task = state.model.board.get(id)?;
    let owner = board::owner(task);
    match board::why_not(state, task, hand) {
        Some(why) => {
            state.say_why(why, move |state| {
                let task = state.model.board.get(id)?;
                board::why_not(state, task, hand)
            });
            None
        }
        None => {
            // The board may change before it is done: the selection stays with the task.
            state.selected.task = Some(id);
            Some((id, owner))
        }
    }
}

fn wish(state: &mut UiState, words: String, wish: TaskWish, out: &mut Vec<Do>) {
    state.say(Level::Info, words);
    out.push(Do::Command(Command::Task(Box::new(wish))));
}

/// Takes the selected task.
pub fn claim(state: &mut UiState, out: &mut Vec<Do>) {
    if let Some((task, _)) = selected(state, Hand::Claim) {
        wish(
            state,
            format!("Claiming {task}…"),
            TaskWish::Claim { task },
            out,
        );
    }
}

/// Puts the selected task back on the board; asks first where a teammate at work has it.
pub fn release(state: &mut UiState, out: &mut Vec<Do>) {
    let Some((task, Some(from))) = selected(state, Hand::Release) else {
        return;
    };
    if !from.is_user() && board::owner_is_here(state, &from) {
        popup::push(state, Popup::Confirm(Question::Release { task, from }));
    } else {
        release_now(state, task, from, out);
    }
}

/// Puts a task back on the board, which was asked.
pub fn release_now(state: &mut UiState, task: TaskId, from: Name, out: &mut Vec<Do>) {
    let words = format!("Releasing {task}…");
    wish(state, words, TaskWish::Release { task, from }, out);
}

/// Completes the selected task; asks first where it is nobody's.
pub fn complete(state: &mut UiState, out: &mut Vec<Do>) {
    match selected(state, Hand::Complete) {
        None => {}
        Some((task, None)) => {
            popup::push(state, Popup::Confirm(Question::Complete(task)));
        }
        Some((task, Some(_))) => complete_now(state, task, out),
    }
}

/// Completes a task, which was asked where that is needed.
pub fn complete_now(state: &mut UiState, task: TaskId, out: &mut Vec<Do>) {
    wish(
        state,
        format!("Completing {task}…"),
        TaskWish::Complete { task },
        out,
    );
}

/// Copies the path of the selected task's worktree.
pub fn copy_place(state: &mut UiState, out: &mut Vec<Do>) {
    let Some(id) = confirm::with_worktree(state) else {
        return;
    };
    let task = state.model.board.get(id);
    let Some(path) = task.map(|task| path(state, task)) else {
        return;
    };
    state.say(
        Level::Info,
        format!("Copied the path of {id}'s worktree: {path}"),
    );
    out.push(Do::Copy(path));
}

/// Where a task is worked on, as a shell takes it.
fn path(state: &UiState, task: &Task) -> String {
    let root = state
        .model
        .setup
        .as_ref()
        .map_or(".", |setup| setup.root.as_str());
    harmless(&format!("{root}/.worktrees/{}", task.worktree))
}

/// Looks what would be lost with the selected task's worktree, to ask about it.
pub fn ask_removal(state: &mut UiState, out: &mut Vec<Do>) {
    let Some(task) = confirm::with_worktree(state) else {
        return;
    };
    if let Some(why) = board::why_no_removal(state, task) {
        state.say_why(why, move |state| board::why_no_removal(state, task));
        return;
    }
    state.say(Level::Info, format!("Looking at the worktree of {task}…"));
    out.push(Do::Command(Command::JudgeWorktree { task }));
}

/// What would be lost with a worktree is known: asks.
pub fn judged(state: &mut UiState, task: TaskId, losses: &Losses, size: &str) {
    if !state.is_in_panes() {
        // The person does something else by now.
        return;
    }
    state.flash = None;
    popup::push(
        state,
        Popup::Confirm(Question::RemoveTree(Judged {
            task,
            losses: losses.clone(),
            size: size.into(),
        })),
    );
}

/// Removes a worktree, which was asked; where something is lost, that is asked first.
pub fn removal(state: &mut UiState, judged: Judged, out: &mut Vec<Do>) {
    if judged.losses.is_empty() {
        remove_now(state, judged, out);
    } else {
        popup::push(state, Popup::Confirm(Question::LoseTree(judged)));
    }
}

/// Removes a worktree, and what would be lost was told.
pub fn remove_now(state: &mut UiState, judged: Judged, out: &mut Vec<Do>) {
    let (task, told) = (judged.task, judged.losses);
    let text = format!("Removing the worktree of {task}…");
    state.say_while(Level::Info, text, move |state| {
        let task = state.model.board.get(task);
        task.is_some_and(|task| branches::has_tree(state, task))
    });
    out.push(Do::Command(Command::RemoveWorktree { task, told }));
}

/// Takes a question back whose answer means nothing any more.
pub fn settle(state: &mut UiState) {
    let asked = state.popups.iter().find_map(|popup| {
        let Popup::Confirm(question) = popup else {
            return None;
        };
        match question {
            Question::Release { task, from } => Some((*task, Hand::Release, Some(from.clone()))),
            Question::Complete(task) => Some((*task, Hand::Complete, None)),
            Question::Quit
            | Question::Force(_)
            | Question::Merge(_)
            | Question::RemoveTree(_)
            | Question::LoseTree(_)
            | Question::ApproveSettings => None,
        }
    });
    let Some((id, hand, from)) = asked else {
        return;
    };
    let why = match state.model.board.get(id) {
        None => Some(format!("{id} is not on the board any more.")),
        Some(task) => {
            let owner = board::owner(task);
            let is_other = owner.as_ref().map(Name::as_str) != from.as_ref().map(Name::as_str);
            let other = || format!("{id} has another owner by now.");
            board::why_not(state, task, hand).or_else(|| is_other.then(other))
        }
    };
    if let Some(why) = why {
        let asks = |p: &Popup| {
            matches!(
                p,
                Popup::Confirm(Question::Release { .. } | Question::Complete(_))
            )
        };
        state.popups.retain(|p| !asks(p));
        state.say(Level::Info, why);
    }
}
