//! Merging the branches of completed tasks: asked first, one or all.

use crate::domain::ids::TaskId;
use crate::protocol::Command;
use crate::protocol::event::Level;
use crate::ui::app::UiState;
use crate::ui::app::effect::Do;
use crate::ui::app::popup;
use crate::ui::app::popup::{Popup, Question};
use crate::ui::model::board::branches;
use crate::ui::panes::board;

/// Asks whether the branch of the selected task is to be merged, where it can be.
pub fn ask(state: &mut UiState) {
    let Some((_, id)) = board::selected(state) else {
        state.say_no_task();
        return;
    };
    if let Some(why) = refusal(state, id) {
        state.say_why(why, move |state| refusal(state, id));
        return;
    }
    // The board may change while the question stands: the selection stays with it.
    state.selected.task = Some(id);
    popup::push(state, Popup::Confirm(Question::Merge(id)));
}

/// Merges the branch of `task`, which was asked.
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

/// Merges the branches of all completed tasks, which was asked.
pub fn all(state: &mut UiState, out: &mut Vec<Do>) {
    let tasks = branches::to_merge(state).as_ref().clone();
    if tasks.len() < 2 {
        // One is what y is for; none is left where somebody else has merged them.
        return;
    }
    state.popups.pop();
    let (text, merging) = (format!("Merging {} branches…", tasks.len()), tasks.clone());
    state.say_while(Level::Info, text, move |state| {
        merging.iter().any(|task| is_mergeable(state, *task))
    });
    out.push(Do::Command(Command::MergeAll { tasks }));
}

/// Takes a question back about what is merged meanwhile.
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
    let task = state.model.board.get(id);
    task.is_some_and(|task| branches::is_mergeable(state, task))
}

fn refusal(state: &UiState, id: TaskId) -> Option<String> {
    let task = state.model.board.get(id);
    task.map_or_else(
        || Some(format!("{id} is not on the board any more.")),
        |task| branches::refusal(state, task),
    )
}
