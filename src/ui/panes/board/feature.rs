//! What the shell asks of the pane.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::app::popup;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::model::board::index;
use crate::ui::model::board::index::BoardStatus;
use crate::ui::panes::board;
use crate::ui::panes::board::{Shown, update, view};
use crate::ui::panes::feature::PaneFeature;
use crate::ui::popups::task_page::TaskPage;
use crate::ui::theme::Theme;
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The task board.
pub struct BoardPane;

impl PaneFeature for BoardPane {
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
        let places = board::places(app, layout::inside(area));
        let mut put = |at, what| out.push(Target { at, what });
        if let Some(row) = places.filter {
            put(row, Hit::In(Pane::Board, Action::Filter));
        }
        for (at, task) in board::in_view(app, &places) {
            put(at, Hit::Task(task));
        }
        if let Shown::Graph(_) = places.shown {
            put(places.body, Hit::Ground);
        }
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let places = board::places(app, layout::inside(area));
        board::scrollbar(app, &places, area)
    }

    fn scroll(&self, app: &mut App, area: Option<Rect>, by: Scroll) {
        update::scroll(app, inside(area), by);
    }

    fn jump(&self, app: &mut App, area: Option<Rect>, bar: Scrollbar, row: u16) {
        update::jump(app, inside(area), bar.first_at(row), bar.row_at(row));
    }

    fn neighbour(&self, app: &mut App, area: Option<Rect>, way: Way) {
        update::along(app, inside(area), way);
    }

    fn open(&self, app: &mut App, _area: Option<Rect>) {
        if let Some((_, id)) = board::selected(app) {
            popup::open(app, TaskPage::pager(id));
        }
    }

    fn can_open(&self, app: &App) -> bool {
        board::selected(app).is_some()
    }

    fn can_peek(&self, app: &App) -> bool {
        board::selected(app).is_some()
    }

    fn copied(&self, app: &App) -> Option<(String, String)> {
        let (_, id) = board::selected(app)?;
        let task = app.model.board.get(id)?;
        let text = format!("{id} {}\n\n{}", task.subject, task.description);
        Some((format!("task {id}"), escape_control_chars(text.trim_end())))
    }

    fn filter_changed(&self, app: &mut App) {
        app.selected.task = None;
    }

    fn tab_count(&self, app: &App) -> String {
        if app.model.board.is_empty() {
            return String::new();
        }
        let done = index(app).count(BoardStatus::Done);
        format!(" {done}/{}", app.model.board.len())
    }

    fn has_neighbour(&self, app: &App) -> bool {
        !app.model.board.is_empty()
    }

    fn can_filter(&self, app: &App) -> bool {
        !app.model.board.is_empty()
    }

    fn can_copy(&self, app: &App) -> bool {
        !app.model.board.is_empty()
    }
}

/// The inside of the frame; empty where the board is not in view.
fn inside(area: Option<Rect>) -> Rect {
    area.map(layout::inside).unwrap_or_default()
}
