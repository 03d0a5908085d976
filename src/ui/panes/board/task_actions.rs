//! Pure: what the person can do with a task by key, and why not: the rules are the board's own, the words name the keys.

use crate::domain::graph::{Claimer, GraphError};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::ui::app::App;
use crate::ui::model::Model;
use crate::ui::text::called;

/// What the person does to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hand {
    /// Takes it.
    Claim,
    /// Puts it back on the board.
    Release,
    /// Completes it.
    Complete,
}

/// Whether `task` is the person's.
pub fn is_own(task: &Task) -> bool {
    task.is_open_for(Name::user().as_str())
}

/// Whose task it is, where that is somebody with a name.
pub fn owner(task: &Task) -> Option<Name> {
    Name::party(&task.owner).ok()
}

/// Whether its owner is at work here.
pub fn owner_is_here(model: &Model, owner: &Name) -> bool {
    model.present().iter().any(|name| name.same(owner))
}

/// Why the person can not do that with `task` now; `None`: it can, as far as is known.
pub fn why_not(app: &App, task: &Task, hand: Hand) -> Option<String> {
    let id = task.id;
    let refused = match hand {
        Hand::Claim => app.model.board.may_claim(id, &Claimer::person()),
        Hand::Complete => app.model.board.may_complete(id, &Name::user()),
        Hand::Release if task.status == TaskStatus::Completed => Err(GraphError::Finished(id)),
        Hand::Release if task.owner.is_empty() => {
            return Some(format!("{id} is nobody's: it is on the board already."));
        }
        Hand::Release if owner(task).is_none() => {
            let owner = one_line(&task.owner);
            return Some(format!(
                "{id} belongs to {owner}, who is not on this team: release it with the program that claimed it."
            ));
        }
        Hand::Release => Ok(()),
    };
    let error = refused.err()?;
    Some(app.prefs.keymap.told(&words(task, &error)))
}

/// Why the person can not change the words of that task; `None`: it can.
pub fn why_no_edit(model: &Model, id: TaskId) -> Option<String> {
    let task = model.board.get(id)?;
    let is_done = task.status == TaskStatus::Completed;
    is_done.then(|| format!("{id} is completed: it stays as it is."))
}

/// Why the worktree of that task can not be removed now; `None`: it can, as far as is known.
pub fn why_no_removal(model: &Model, id: TaskId) -> Option<String> {
    let tree = &model.board.get(id)?.worktree;
    let mut tasks = model.board.tasks();
    let at_work = |t: &&Task| {
        t.worktree == *tree && t.status == TaskStatus::InProgress && !t.owner.is_empty()
    };
    let task = tasks.find(at_work)?;
    let id = task.id;
    let who_has = match called(&task.owner) {
        you if you == "you" => "you have".into(),
        owner => format!("{owner} has"),
    };
    Some(format!(
        "The worktree stays: {who_has} {id} in progress there."
    ))
}

/// A refusal for one who has keys.
fn words(task: &Task, error: &GraphError) -> String {
    let id = task.id;
    if let GraphError::Finished(_) = error {
        format!("{id} is completed already.")
    } else if let GraphError::Claimed(..) | GraphError::Foreign(..) = error {
        let owner = one_line(&task.owner);
        match owner.as_str() {
            "user" => format!("{id} is yours already."),
            "" => format!("{id} is in progress, and nobody is named."),
            _ => format!("{id} is the task of {owner}: {{board.release}} releases it."),
        }
    } else if let GraphError::Blocked(_, open) = error {
        format!("{id} waits for {open}.")
    } else if let GraphError::Busy { open, .. } = error {
        format!(
            "You work on {open} already: {{board.complete_task}} there completes it, {{board.release}} releases it."
        )
    } else {
        format!("{error}.")
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::fixture::hands;

    #[test]
    fn each_refusal_says_why_and_names_the_key_that_helps() {
        let state = hands(160, 45, Some(6));
        let why = |id, hand| why_not(&state, state.model.board.get(TaskId(id)).unwrap(), hand);
        let no = |text: &str| Some(text.to_string());
        let busy = no("You work on #6 already: d there completes it, u releases it.");
        let cases = [
            (
                1,
                no("#1 is completed already."),
                no("#1 is completed already."),
                no("#1 is completed already."),
            ),
            (
                2,
                no("#2 is the task of alice: u releases it."),
                None,
                no("#2 is the task of alice: u releases it."),
            ),
            (
                3,
                no("#3 is the task of carol: u releases it."),
                None,
                no("#3 is the task of carol: u releases it."),
            ),
            (
                4,
                no("#4 waits for #2."),
                no("#4 is nobody's: it is on the board already."),
                no("#4 waits for #2."),
            ),
            (
                5,
                busy,
                no("#5 is nobody's: it is on the board already."),
                None,
            ),
            (6, no("#6 is yours already."), None, None),
        ];
        for (id, claim, release, complete) in cases {
            assert_eq!(why(id, Hand::Claim), claim, "{id} claim");
            assert_eq!(why(id, Hand::Release), release, "{id} release");
            assert_eq!(why(id, Hand::Complete), complete, "{id} complete");
        }
        let state = hands(160, 45, None);
        let tagged = state.model.board.get(TaskId(5)).unwrap();
        assert_eq!(tagged.tags, ["rust"]);
        assert_eq!(
            why_not(&state, tagged, Hand::Claim),
            None,
            "the person has every tag"
        );
    }
}
