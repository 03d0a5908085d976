//! The dialog that confirms completing a task that has no owner.

use crate::domain::ids::TaskId;
use crate::domain::text::one_line;
use crate::protocol::TaskCommand;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::task_rules::{TaskAction, why_outdated};
use crate::ui::popups::confirm::{Question, send};

#[derive(Debug)]
pub struct CompleteTask(pub TaskId);

impl Question for CompleteTask {
    const CONFIRM: &'static str = "complete";

    fn title(&self) -> &'static str {
        "Complete"
    }

    fn text(&self, app: &App) -> String {
        let id = self.0;
        let subject = app.model.board.get(id).map_or("", |task| &task.subject);
        format!(
            "Complete {id} ({})? The task has no owner. This cannot be undone.",
            one_line(subject)
        )
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        complete(app, self.0, out);
    }

    fn why_outdated(&self, app: &App) -> Option<String> {
        why_outdated(app, self.0, TaskAction::Complete, None)
    }
}

/// Sends the command that completes a task, without asking for confirmation, and shows a status message.
pub fn complete(app: &mut App, task: TaskId, out: &mut Vec<Effect>) {
    let words = format!("Completing {task}…");
    send(app, words, TaskCommand::Complete { task }, out);
}
