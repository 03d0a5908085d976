//! The popup with the full text of an item of the shown todo list.

use ratatui::text::Line;

use crate::domain::text::escape_control_chars;
use crate::domain::todo::TodoStatus;
use crate::ui::app::App;
use crate::ui::model::style;
use crate::ui::popups::pager::{Page, Pager, PagerRow, text_rows};
use crate::ui::text::wrap;
use crate::ui::theme::Theme;

/// The page with the full text of a todo item.
#[derive(Debug)]
pub struct TodoPage {
    at: usize,
    /// The text of the shown item, stored before an event is applied. The event may move the item to another index.
    /// After the event, the page shows the item that has this text.
    remembered: Option<String>,
}

impl TodoPage {
    /// Creates the pager for the item at the index `at`, counted from 0, of `App::shown_todo`.
    pub fn pager(at: usize) -> Pager<TodoPage> {
        Pager::new(TodoPage {
            at,
            remembered: None,
        })
    }
}

impl Page for TodoPage {
    const TIP: &'static str = "A step of the agent's todo list";

    fn title(&self, _app: &App) -> String {
        format!("Todo {}", self.at + 1)
    }

    fn rows(&self, app: &App, width: usize, theme: &Theme) -> Vec<PagerRow> {
        let Some(item) = app.shown_todo().get(self.at) else {
            let words = "This item is no longer on the list.";
            return text_rows(vec![Line::styled(words, theme.dim)]);
        };
        let (shape, style) = style::todo(item.status, theme);
        let words = match item.status {
            TodoStatus::Pending => "not started",
            TodoStatus::InProgress => "in progress",
            TodoStatus::Completed => "done",
        };
        let mut out = vec![Line::styled(format!("{shape} {words}"), style)];
        out.push(Line::default());
        let text = wrap(&escape_control_chars(&item.text), width).into_iter();
        out.extend(text.map(|line| Line::styled(line, theme.text)));
        text_rows(out)
    }

    fn before_event(&mut self, app: &App) {
        let item = app.shown_todo().get(self.at);
        self.remembered = item.map(|item| item.text.clone());
    }

    fn after_event(&mut self, app: &App) {
        let Some(text) = self.remembered.take() else {
            return;
        };
        let mut items = app.shown_todo().iter();
        self.at = items.position(|item| item.text == text).unwrap_or(self.at);
    }
}
