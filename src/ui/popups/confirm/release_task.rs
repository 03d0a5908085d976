//! The dialog that confirms releasing a task whose owner is a running teammate.

use crate::domain::ids::{Name, TaskId};
use crate::domain::text::one_line;
use crate::protocol::TaskCommand;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::task_rules::{TaskAction, why_outdated};
use crate::ui::popups::confirm::{Question, send};

#[derive(Debug)]
pub struct ReleaseTask {
    pub task: TaskId,
    /// The owner of the task at the time when the dialog was opened.
    pub from: Name,
}

impl Question for ReleaseTask {
    const CONFIRM: &'static str = "release";

    fn title(&self) -> &'static str {
        "Release"
    }

    fn text(&self, app: &App) -> String {
        let (id, from) = (self.task, &self.from);
        let Some(task) = app.model.board.get(id) else {
            return String::new();
        };
        let consequence = if from.is_lead() {
            format!("{from} gets a message and will not claim this task again.")
        } else {
            format!("{from} is stopped, gets a message and will not claim this task again.")
        };
        let tree = match task.worktree.as_str() {
            "" => String::new(),
            tree => format!(
                "\n.worktrees/{} is kept, including its uncommitted changes.",
                one_line(tree)
            ),
        };
        format!(
            "Release {from}'s task {id} ({})? The task goes back to the board.\n{consequence}{tree}",
            one_line(&task.subject)
        )
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        release(app, self.task, self.from.clone(), out);
    }

    fn why_outdated(&self, app: &App) -> Option<String> {
        why_outdated(app, self.task, TaskAction::Release, Some(&self.from))
    }
}

/// Sends the command that releases a task. If `from` is no longer the owner of the task, the command changes nothing.
pub fn release(app: &mut App, task: TaskId, from: Name, out: &mut Vec<Effect>) {
    let words = format!("Releasing {task}…");
    send(app, words, TaskCommand::Release { task, from }, out);
}
