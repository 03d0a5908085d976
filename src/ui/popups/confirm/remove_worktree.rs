//! The dialogs that confirm the removal of a task's worktree. If work would be lost, a second dialog lists that work.

use crate::domain::ids::TaskId;
use crate::domain::text::{escape_control_chars, one_line};
use crate::domain::worktree::Losses;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::open as open_popup;
use crate::ui::keymap::Context;
use crate::ui::model::CrewModel;
use crate::ui::model::board::branches;
use crate::ui::popups::confirm::{Confirmation, Question};

/// What the crew has reported about a worktree that the user wants to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WorktreeCheck {
    task: TaskId,
    /// The work in the worktree that would be lost for good, and the unmerged commits, which would stay on its branch.
    losses: Losses,
    /// Whether the user has marked the worktree to be kept, so that it is not removed automatically.
    is_kept: bool,
    /// The size of the worktree on disk, formatted with its unit.
    size: String,
}

/// The dialog that asks whether to remove the worktree. If the user confirms and work would be lost, the dialog
/// [`LoseWork`] follows.
#[derive(Debug)]
pub struct RemoveWorktree(WorktreeCheck);

/// The dialog that follows [`RemoveWorktree`] if work would be lost. It asks whether to remove the worktree anyway.
#[derive(Debug)]
pub struct LoseWork(WorktreeCheck);

/// Called when the crew has reported what would be lost by removing a worktree. Opens the dialog [`RemoveWorktree`],
/// unless the user has opened a popup in the meantime.
pub fn ask(app: &mut App, task: TaskId, losses: &Losses, is_kept: bool, size: &str) {
    if !app.is_in_panes() {
        return;
    }
    app.status = None;
    let check = WorktreeCheck {
        task,
        losses: losses.clone(),
        is_kept,
        size: size.into(),
    };
    open_popup(app, Confirmation(RemoveWorktree(check)));
}

impl Question for RemoveWorktree {
    const CONFIRM: &'static str = "remove";

    fn title(&self) -> &'static str {
        "Remove worktree"
    }

    fn text(&self, app: &App) -> String {
        let (id, size) = (self.0.task, &self.0.size);
        let losses = if self.0.losses.is_empty() {
            "Nothing would be lost.".to_string()
        } else {
            format!(
                "It has {}. You will be asked again before any work is lost.",
                self.0.losses
            )
        };
        let mark = if self.0.is_kept {
            "It is marked to be kept. "
        } else {
            ""
        };
        format!(
            "Remove .worktrees/{} ({size}) of {id}?\n{mark}{}",
            tree(app, id),
            escape_control_chars(&losses)
        )
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        if self.0.losses.is_empty() {
            remove(app, &self.0, out);
        } else {
            open_popup(app, Confirmation(LoseWork(self.0.clone())));
        }
    }
}

impl Question for LoseWork {
    const CONFIRM: &'static str = "remove anyway";

    fn title(&self) -> &'static str {
        "Lose work"
    }

    fn text(&self, app: &App) -> String {
        let tree = tree(app, self.0.task);
        let (gone, kept) = (self.0.losses.permanent(), self.0.losses.restorable());
        let mut words = format!("Remove .worktrees/{tree} anyway?");
        if !gone.is_empty() {
            words.push_str(&format!("\nLost for good: {gone}."));
        }
        if !kept.is_empty() {
            words.push_str(&format!("\nKept on the branch wt/{tree}: {kept}."));
        }
        escape_control_chars(&words)
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        remove(app, &self.0, out);
    }

    fn context(&self) -> Context {
        Context::ConfirmLoss
    }
}

fn tree(model: &CrewModel, id: TaskId) -> String {
    let task = model.board.get(id);
    task.map_or_else(String::new, |task| one_line(&task.worktree))
}

/// Sends the command that removes a worktree, and shows a status message until the worktree is gone. The command contains
/// the losses that the user has seen and confirmed.
fn remove(app: &mut App, check: &WorktreeCheck, out: &mut Vec<Effect>) {
    let (task, confirmed) = (check.task, check.losses.clone());
    let text = format!("Removing the worktree of {task}…");
    app.say_while(text, move |app| {
        let task = app.model.board.get(task);
        task.is_some_and(|task| branches::has_worktree(app, task))
    });
    out.push(Effect::Command(Command::RemoveWorktree { task, confirmed }));
}
