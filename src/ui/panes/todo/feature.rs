//! Implements [`PaneFeature`] for the todo list: drawing, mouse and keys.

use ratatui::layout::Rect;

use crate::domain::text::escape_control_chars;
use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::{self, TextCursor};
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::feature::{PaneCanvas, PaneFeature, page, rows};
use crate::ui::panes::todo::{TodoListPane, todo_is_done, todo_progress, view};
use crate::ui::popups::todo_item::TodoPage;
use crate::ui::widgets::list::step;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

impl PaneFeature for TodoListPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        view::draw(self, app, area, canvas);
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let inside = layout::inside(area);
        out.extend(rows(Pane::Todo, inside, self.list_position(app, inside)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let inside = layout::inside(area);
        let (len, first) = self.list_position(app, inside);
        Scrollbar::of_list(area, inside, first, len)
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        if let Some(at) = self.selected_row(app) {
            let len = app.shown_todo().len();
            self.selected = Some(step(at, len, by, page(area, |inside| inside)));
        }
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.selected = Some(row);
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        self.selected_row(app) == Some(row)
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        if let Some(at) = self.selected_row(app) {
            popup::open(app, TodoPage::pager(at));
        }
    }

    fn can_open(&self, app: &App) -> bool {
        !app.shown_todo().is_empty()
    }

    fn act(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        action: Action,
        out: &mut Vec<Effect>,
    ) -> bool {
        if action != Action::Todo {
            return false;
        }
        self.toggle(app, area.is_some(), out);
        true
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let list = &app.model.agents.get(&app.shown)?.todo;
        let text = escape_control_chars(&list.render());
        (!list.items().is_empty()).then(|| ("the todo list".into(), text))
    }

    fn tab_count(&self, app: &App) -> String {
        todo_progress(app).map_or_else(String::new, |p| format!(" {p}"))
    }

    fn is_stop(&self, app: &App) -> bool {
        !app.shown_todo().is_empty() || app.focus == Focus::Pane(Pane::Todo)
    }

    fn can_copy(&self, _app: &App) -> bool {
        true
    }

    fn content_rows(&self, app: &App) -> usize {
        app.shown_todo().len()
    }

    /// Returns the height of the list: two rows for the frame and one for each item, at least three and at most `most`.
    /// If all items are completed and the pane does not have the focus, the height is one row, which shows the title
    /// and the count.
    fn wanted_height(&self, app: &App, _width: u16, most: u16) -> u16 {
        if todo_is_done(app) && app.focus != Focus::Pane(Pane::Todo) {
            return 1;
        }
        let items = u16::try_from(app.shown_todo().len().max(1)).unwrap_or(u16::MAX);
        items.saturating_add(2).min(most)
    }

    fn handle_request(&mut self, request: &PaneRequest) {
        if let PaneRequest::ConversationOpened { .. } = request {
            self.selected = None;
        }
    }

    fn before_event(&mut self, app: &App, _event: &EventKind) {
        let item = self.selected.and_then(|at| app.shown_todo().get(at));
        self.before = item.map(|item| item.text.clone());
    }

    fn after_event(&mut self, app: &App) {
        let text = self.before.take();
        let mut items = app.shown_todo().iter();
        let at = text.and_then(|text| items.position(|item| item.text == text));
        self.selected = at.or(self.selected);
    }
}

impl TodoListPane {
    /// Returns the number of rows in the list and the index of the first visible row.
    fn list_position(&self, app: &App, inside: Rect) -> (usize, usize) {
        (app.shown_todo().len(), self.first_row(app, inside.height))
    }
}
