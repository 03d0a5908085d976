//! What the shell asks of the pane.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::app::popup;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::feature::{PaneFeature, page, rows};
use crate::ui::panes::todo::{first_todo, selected_todo, todo, todo_progress, view};
use crate::ui::popups::todo_item::TodoPage;
use crate::ui::theme::Theme;
use crate::ui::widgets::list::step;
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The todo list of the shown agent.
pub struct TodoListPane;

impl PaneFeature for TodoListPane {
    fn draw(
        &self,
        app: &App,
        _cache: &mut ViewCache,
        theme: &Theme,
        area: Rect,
        buffer: &mut Buffer,
    ) -> Option<Position> {
        view::draw(app, theme, area, buffer);
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<Target<Hit>>) {
        let inside = layout::inside(area);
        out.extend(rows(Pane::Todo, inside, listed(app, inside)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let inside = layout::inside(area);
        let (len, first) = listed(app, inside);
        Scrollbar::of_list(area, inside, first, len)
    }

    fn scroll(&self, app: &mut App, area: Option<Rect>, by: Scroll) {
        if let Some(at) = selected_todo(app) {
            let len = todo(app).len();
            app.selected.todo = Some(step(at, len, by, page(area, |inside| inside)));
        }
    }

    fn select(&self, app: &mut App, row: usize) {
        app.selected.todo = Some(row);
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        selected_todo(app) == Some(row)
    }

    fn open(&self, app: &mut App, _area: Option<Rect>) {
        if let Some(at) = selected_todo(app) {
            popup::open(app, TodoPage::pager(at));
        }
    }

    fn can_open(&self, app: &App) -> bool {
        !todo(app).is_empty()
    }

    fn copied(&self, app: &App) -> Option<(String, String)> {
        let list = &app.model.agents.get(&app.shown)?.todo;
        let text = escape_control_chars(&list.render());
        (!list.items().is_empty()).then(|| ("the todo list".into(), text))
    }

    fn tab_count(&self, app: &App) -> String {
        todo_progress(app).map_or_else(String::new, |p| format!(" {p}"))
    }

    fn is_stop(&self, app: &App) -> bool {
        !todo(app).is_empty() || app.focus == Focus::Pane(Pane::Todo)
    }

    fn can_copy(&self, _app: &App) -> bool {
        true
    }
}

/// How many rows the list has, and the first one in view.
fn listed(app: &App, inside: Rect) -> (usize, usize) {
    (todo(app).len(), first_todo(app, inside.height))
}
