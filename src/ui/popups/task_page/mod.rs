//! The popup with all details of a task. The keys that work on the selected task of the board also work here, for the
//! shown task.

mod checks;
mod lines;

use ratatui::text::Line;

use crate::domain::ids::TaskId;
use crate::ui::app::App;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::model::CrewModel;
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
pub use crate::ui::popups::task_page::lines::lines;
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskPage(TaskId);

impl TaskPage {
    pub fn id(self) -> TaskId {
        self.0
    }

    pub fn pager(id: TaskId) -> Pager<TaskPage> {
        Pager::new(TaskPage(id))
    }
}

/// Returns the times whose age the page of task `id` shows. When such an age changes, the screen is redrawn.
pub(in crate::ui) fn ages(model: &CrewModel, id: TaskId) -> Vec<ShownAge> {
    let Some(task) = model.board.get(id) else {
        return Vec::new();
    };
    let times = [task.created_at, task.updated_at];
    let times = times.into_iter().chain(model.history.since(task));
    times.map(ShownAge::at_once).collect()
}

impl Page for TaskPage {
    const TIP: &'static str = "The details and the history of the task";

    fn title(&self, _app: &App) -> String {
        format!("Task {}", self.0)
    }

    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let lines = match app.model.board.get(self.0) {
            Some(task) => lines(app, task, width, theme),
            None => {
                let words = "This task is no longer on the board.";
                vec![Line::styled(words, theme.dim)]
            }
        };
        text_rows(lines)
    }

    fn ages(&self, app: &App) -> Vec<ShownAge> {
        ages(app, self.0)
    }

    fn contexts(&self) -> &'static [Context] {
        // The keys of the pager come first, because Enter and the blank mean something else on the board.
        &[Context::Reader, Context::In(Pane::Board)]
    }

    fn refuses(&self, action: Action) -> bool {
        matches!(
            action,
            Action::ToggleGraph
                | Action::Pan(_)
                | Action::ZoomIn
                | Action::ZoomOut
                | Action::Next
                | Action::Prev
                | Action::Open
                | Action::Peek
                | Action::AddTask
        )
    }
}
