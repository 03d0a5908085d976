//! The dialog that confirms merging the branch of a task. It also offers to merge the branches of all completed tasks.

use crate::domain::ids::TaskId;
use crate::domain::text::one_line;
use crate::domain::worktree::BranchState;
use crate::protocol::Command;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::popup::Next;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::CrewModel;
use crate::ui::model::board::branches;
use crate::ui::popups::confirm::Question;

/// Maximum number of tasks for which the dialog says that their branches cannot be merged yet, because another task
/// must be completed first. Further such tasks are not mentioned.
const WAITING_MAX: usize = 3;

#[derive(Debug)]
pub struct MergeTask(pub TaskId);

impl Question for MergeTask {
    const CONFIRM: &'static str = "merge";

    fn title(&self) -> &'static str {
        "Merge"
    }

    fn text(&self, app: &App) -> String {
        let id = self.0;
        let Some(task) = app.model.board.get(id) else {
            return String::new();
        };
        let (size, into) = match branches::branch(app, task) {
            Some(BranchState::Unmerged { into, size }) => (
                size.map_or_else(String::new, |size| format!(" ({size})")),
                format!(" into {}", one_line(into)),
            ),
            Some(BranchState::Merged { .. } | BranchState::Empty | BranchState::Gone) | None => {
                (String::new(), String::new())
            }
        };
        let others = match branches::to_merge(app).len() {
            0 | 1 => String::new(),
            n => {
                let all = app
                    .prefs
                    .keymap
                    .key(Context::ConfirmMerge, Action::MergeAll);
                let how = if has_checks(app) {
                    "lands all that are green together"
                } else {
                    "merges them all in dependency order and stops at the first conflict"
                };
                format!("\n{n} completed tasks are unmerged. {all} {how}.")
            }
        };
        let waiting: Vec<String> = branches::unmerged_tasks(app)
            .iter()
            .filter_map(|(id, open)| {
                Some(format!(
                    "\n{id} is not included: {} must be completed first.",
                    (*open)?
                ))
            })
            .take(WAITING_MAX)
            .collect();
        let waiting = if others.is_empty() {
            String::new()
        } else {
            waiting.concat()
        };
        let checked = if has_checks(app) {
            "\nThe checks run on the merged state first. Red branches are taken out and get a task."
        } else {
            ""
        };
        format!(
            "Merge wt/{}{size}{into}?\n{id} {}{checked}{others}{waiting}",
            one_line(&task.worktree),
            one_line(&task.subject)
        )
    }

    fn buttons(&self, app: &App) -> &'static [(Action, &'static str)] {
        if branches::to_merge(app).len() > 1 {
            &[
                (Action::Accept, "merge"),
                (Action::MergeAll, "all"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ]
        } else {
            &[
                (Action::Accept, "merge"),
                (Action::Diff, "diff"),
                (Action::Back, "cancel"),
            ]
        }
    }

    fn on_confirm(&self, app: &mut App, out: &mut Vec<Effect>) {
        let task = self.0;
        match refusal(app, task) {
            Some(why) => app.say_why(why, move |app| refusal(app, task)),
            None => {
                let text = format!("Merging the branch of {task}…");
                app.say_while(text, move |app| is_mergeable(app, task));
                out.push(Effect::Command(Command::Merge { task }));
            }
        }
    }

    fn context(&self) -> Context {
        Context::ConfirmMerge
    }

    fn act(&self, app: &mut App, action: Action, out: &mut Vec<Effect>) -> Next {
        match action {
            Action::MergeAll => merge_all(app, out),
            Action::Diff => {
                let task = self.0;
                out.push(Effect::Command(Command::ShowDiff { task }));
                Next::Stay
            }
            _ => Next::Pass,
        }
    }

    fn why_outdated(&self, app: &App) -> Option<String> {
        refusal(app, self.0)
    }
}

/// Sends the command that merges all branches that can be merged now, and closes the dialog. Does nothing and keeps the
/// dialog open if there are fewer than two.
fn merge_all(app: &mut App, out: &mut Vec<Effect>) -> Next {
    let tasks = branches::to_merge(app).as_ref().clone();
    if tasks.len() < 2 {
        // The user merges a single branch with `y` instead. No branch is left if the user has merged them in another
        // window.
        return Next::Stay;
    }
    let (text, merging) = (format!("Merging {} branches…", tasks.len()), tasks.clone());
    app.say_while(text, move |app| {
        merging.iter().any(|task| is_mergeable(app, *task))
    });
    out.push(Effect::Command(Command::MergeAll { tasks }));
    Next::Close
}

/// Returns whether the settings have checks, so that branches are checked together before they land.
fn has_checks(model: &CrewModel) -> bool {
    model.setup.as_ref().is_some_and(|setup| setup.checks)
}

fn is_mergeable(model: &CrewModel, id: TaskId) -> bool {
    let task = model.board.get(id);
    task.is_some_and(|task| branches::is_mergeable(model, task))
}

/// Returns why the branch of a task cannot be merged now; `None` if it can.
pub fn refusal(model: &CrewModel, id: TaskId) -> Option<String> {
    let task = model.board.get(id);
    task.map_or_else(
        || Some(format!("{id} is no longer on the board.")),
        |task| branches::refusal(model, task),
    )
}
