//! Merges of completed tasks: one or all, after confirmation.

use super::{Do, popups};
use crate::domain::ids::TaskId;
use crate::protocol::Command;
use crate::protocol::event::Level;
use crate::ui::board;
use crate::ui::popup::{Popup, Question};
use crate::ui::state::UiState;

/// Asks for confirmation to merge the branch of the selected task, if it can be merged.
pub fn ask(state: &mut UiState) {
    let Some((_, id)) = board::selected(state) else {
        state.say_no_task();
        return;
    };
    if let Some(why) = refusal(state, id) {
        state.say_why(why, move |state| refusal(state, id));
        return;
    }
    // The board may change while the dialog is open; this keeps the selection on the task.
    state.selected.task = Some(id);
    popups::push(state, Popup::Confirm(Question::Merge(id)));
}

/// Merges the branch of `task` after confirmation.
pub fn one(state: &mut UiState, task: TaskId, out: &mut Vec<Do>) {
    match refusal(state, task) {
        Some(why) => state.say_why(why, move |state| refusal(state, task)),
        None => {
            let text = format!("Merging the branch of {task}…");
            state.say_while(Level::Info, text, move |state| is_mergeable(state, task));
            out.push(Do::Command(Command::Merge { task }));
        }
    }
}

/// Merges the branches of all completed tasks after confirmation.
pub fn all(state: &mut UiState, out: &mut Vec<Do>) {
    let tasks = board::to_merge(state).as_ref().clone();
    if tasks.len() < 2 {
        // A single branch is merged with `y`. None is left if another window has merged them.
        return;
    }
    state.popups.pop();
    let (text, merging) = (format!("Merging {} branches…", tasks.len()), tasks.clone());
    state.say_while(Level::Info, text, move |state| {
        merging.iter().any(|task| is_mergeable(state, *task))
    });
    out.push(Do::Command(Command::MergeAll { tasks }));
}

/// Closes a merge dialog that no longer applies.
pub fn settle(state: &mut UiState) {
    let mut why = None;
    for popup in &state.popups {
        if let Popup::Confirm(Question::Merge(id)) = popup {
            why = why.or_else(|| refusal(state, *id));
        }
    }
    if let Some(why) = why {
        let is_merge = |p: &Popup| matches!(p, Popup::Confirm(Question::Merge(_)));
        state.popups.retain(|p| !is_merge(p));
        state.say(Level::Info, why);
    }
}

fn is_mergeable(state: &UiState, id: TaskId) -> bool {
    let task = state.board.get(id);
    task.is_some_and(|task| board::is_mergeable(state, task))
}

fn refusal(state: &UiState, id: TaskId) -> Option<String> {
    let task = state.board.get(id);
    task.map_or_else(
        || Some(format!("{id} is no longer on the board.")),
        |task| board::refusal(state, task),
    )
}
