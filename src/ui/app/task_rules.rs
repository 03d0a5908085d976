//! What the user may do with tasks, and why an action is refused. The rules are those of the task graph; the messages
//! name the keys that help. Pure.

use crate::domain::graph::{Claimer, GraphError};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::CrewModel;
use crate::ui::text::display_name;

/// An action of the user on a task. The rules of the board can refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskAction {
    Claim,
    /// Removes the owner, so that others can claim the task.
    Release,
    Complete,
}

/// Returns whether `task` is open and owned by the user.
pub fn is_own(task: &Task) -> bool {
    task.is_open_for(Name::user().as_str())
}

/// Returns the owner of `task`; `None` if it has none, or if the name of the owner is not valid.
pub fn owner(task: &Task) -> Option<Name> {
    Name::party(&task.owner).ok()
}

/// Returns whether `owner` is the lead or a teammate that has not shut down.
pub fn owner_is_here(model: &CrewModel, owner: &Name) -> bool {
    model.present().iter().any(|name| name.same(owner))
}

/// Returns why `action` on `task` is not possible for the user now, according to the events so far; `None` if it is
/// possible.
pub fn why_not(app: &App, task: &Task, action: TaskAction) -> Option<String> {
    let id = task.id;
    let refused = match action {
        TaskAction::Claim => app.model.board.check_claim(id, &Claimer::user()),
        TaskAction::Complete => app.model.board.check_complete(id, &Name::user()),
        TaskAction::Release if task.status == TaskStatus::Completed => {
            Err(GraphError::Completed(id))
        }
        TaskAction::Release if is_ownerless(task) => return Some(ownerless_message(id)),
        TaskAction::Release if task.owner.is_empty() => {
            return Some(format!("{id} has no owner: nothing to release."));
        }
        TaskAction::Release if owner(task).is_none() => {
            let owner = one_line(&task.owner);
            return Some(format!(
                "{id} is owned by {owner}, who is not on this team. Release it with the program that claimed it."
            ));
        }
        TaskAction::Release => Ok(()),
    };
    let error = refused.err()?;
    Some(app.prefs.keymap.expand_keys(&refusal_message(task, &error)))
}

/// Returns why a dialog that asks the user to confirm `action` is outdated; `None` if it is not. `from` is the owner
/// that the task had when the dialog was opened.
pub fn why_outdated(
    app: &App,
    id: TaskId,
    action: TaskAction,
    from: Option<&Name>,
) -> Option<String> {
    let Some(task) = app.model.board.get(id) else {
        return Some(format!("{id} is no longer on the board."));
    };
    let owner = owner(task);
    let is_other = owner.as_ref().map(Name::as_str) != from.map(Name::as_str);
    let other = || format!("{id} now has another owner.");
    why_not(app, task, action).or_else(|| is_other.then(other))
}

/// Returns why the user cannot edit the task `id`; `None` if the task can be edited or is not on the board.
pub fn why_no_edit(model: &CrewModel, id: TaskId) -> Option<String> {
    let task = model.board.get(id)?;
    let is_done = task.status == TaskStatus::Completed;
    is_done.then(|| format!("Cannot edit {id}: it is completed."))
}

/// Returns why the worktree of the task `id` cannot be removed now, according to the events so far: an agent or the
/// user has a task in progress in it. Returns `None` if no such task is known, or if the task is not on the board.
pub fn why_no_removal(model: &CrewModel, id: TaskId) -> Option<String> {
    let tree = &model.board.get(id)?.worktree;
    let mut tasks = model.board.tasks();
    let at_work = |t: &&Task| {
        t.worktree == *tree && t.status == TaskStatus::InProgress && !t.owner.is_empty()
    };
    let task = tasks.find(at_work)?;
    let id = task.id;
    let who_has = match display_name(&task.owner) {
        you if you == "you" => "you have".into(),
        owner => format!("{owner} has"),
    };
    Some(format!(
        "Worktree not removed: {who_has} {id} in progress there."
    ))
}

/// Returns whether `task` is in progress without an owner. crewdeck never saves such a task; another program has
/// changed the task's file.
fn is_ownerless(task: &Task) -> bool {
    task.status == TaskStatus::InProgress && task.owner.is_empty()
}

fn ownerless_message(id: TaskId) -> String {
    format!(
        "{id} is in progress and has no owner. To return it to the board: crewdeck task release {} --as user",
        id.0
    )
}

/// Returns the message for a refused action. It contains a placeholder such as `{board.release}` for each key that
/// helps; `KeyMap::expand_keys` replaces the placeholders.
fn refusal_message(task: &Task, error: &GraphError) -> String {
    let id = task.id;
    if let GraphError::Completed(_) = error {
        format!("{id} is already completed.")
    } else if let GraphError::Claimed(..) | GraphError::OtherOwner(..) | GraphError::Owned(..) =
        error
    {
        let owner = one_line(&task.owner);
        match owner.as_str() {
            "user" => format!("{id} is already yours."),
            "" => ownerless_message(id),
            _ => format!("{id} is owned by {owner}: {{board.release}} releases it."),
        }
    } else if let GraphError::Blocked(_, open) = error {
        format!("{id} waits for {open}.")
    } else if let GraphError::Busy { open, .. } = error {
        format!(
            "You already own {open}. Select it: {{board.complete_task}} completes it, {{board.release}} releases it."
        )
    } else {
        format!("{error}.")
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::user_actions_board;

    #[test]
    fn refusal_gives_the_reason_and_the_key_that_helps() {
        let state = user_actions_board(160, 45, Some(6));
        let why = |id, action| why_not(&state, state.model.board.get(TaskId(id)).unwrap(), action);
        let no = |text: &str| Some(text.to_string());
        let busy = no("You already own #6. Select it: d completes it, u releases it.");
        let cases = [
            (
                1,
                no("#1 is already completed."),
                no("#1 is already completed."),
                no("#1 is already completed."),
            ),
            (
                2,
                no("#2 is owned by alice: u releases it."),
                None,
                no("#2 is owned by alice: u releases it."),
            ),
            (
                3,
                no("#3 is owned by carol: u releases it."),
                None,
                no("#3 is owned by carol: u releases it."),
            ),
            (
                4,
                no("#4 waits for #2."),
                no("#4 has no owner: nothing to release."),
                no("#4 waits for #2."),
            ),
            (5, busy, no("#5 has no owner: nothing to release."), None),
            (6, no("#6 is already yours."), None, None),
        ];
        for (id, claim, release, complete) in cases {
            assert_eq!(why(id, TaskAction::Claim), claim, "{id} claim");
            assert_eq!(why(id, TaskAction::Release), release, "{id} release");
            assert_eq!(why(id, TaskAction::Complete), complete, "{id} complete");
        }
        let state = user_actions_board(160, 45, None);
        let tagged = state.model.board.get(TaskId(5)).unwrap();
        assert_eq!(tagged.tags, ["rust"]);
        assert_eq!(
            why_not(&state, tagged, TaskAction::Claim),
            None,
            "the user has every tag"
        );
    }
}
