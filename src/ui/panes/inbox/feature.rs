//! Implements [`PaneFeature`] for the inbox: drawing, mouse, keys and preview.

use crate::ui::model::CrewModel;
use ratatui::layout::Rect;

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::feature::{PaneCanvas, PaneFeature, Preview, SelectedItem, page, rows};
use crate::ui::panes::inbox::{InboxPane, view};
use crate::ui::popups::thread;
use crate::ui::text::aging::ShownAge;
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

impl PaneFeature for InboxPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        view::draw(self, app, area, canvas);
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let (filter, list) = self.filter.areas(layout::inside(area));
        out.extend(filter.map(|at| PlacedPart {
            at,
            what: Hit::In(Pane::Inbox, Action::Filter),
        }));
        out.extend(rows(Pane::Inbox, list, self.list_position(app, list)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let (_, list) = self.filter.areas(layout::inside(area));
        let (len, first) = self.list_position(app, list);
        Scrollbar::of_list(area, list, first, len)
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let page = page(area, |inside| self.filter.areas(inside).1);
        let at = self.selected_message(app).map_or(0, |(at, _)| at);
        let next = step(at, self.message_numbers(app).len(), by, page);
        self.select_row(app, next);
    }

    fn select(&mut self, app: &App, row: usize) {
        self.select_row(app, row);
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        self.selected_message(app).is_some_and(|(at, _)| at == row)
    }

    fn follow(&mut self, _app: &mut App, _area: Option<Rect>) {
        self.selected = None;
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        let message = self
            .selected_message(app)
            .map(|(_, message)| message.number);
        if let Some(number) = message {
            thread::open(app, number);
        }
    }

    fn can_open(&self, app: &App) -> bool {
        !app.model.messages.is_empty()
    }

    fn can_peek(&self, app: &App, _area: Option<Rect>) -> bool {
        !app.model.messages.is_empty()
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let (_, traced) = self.selected_message(app)?;
        Some((
            "the message".into(),
            escape_control_chars(&traced.message.content),
        ))
    }

    fn text_changed(&mut self) {
        // `None` means that the newest message is selected, also when newer messages arrive.
        self.selected = None;
    }

    fn tab_count(&self, app: &App) -> String {
        match app.model.messages.unread(&app.model.team) {
            0 => String::new(),
            unread => format!(" {unread}"),
        }
    }

    fn can_follow(&self, _app: &App) -> bool {
        self.selected.is_some()
    }

    fn can_filter(&self, app: &App) -> bool {
        !app.model.messages.is_empty()
    }

    fn content_rows(&self, app: &App) -> usize {
        app.model.messages.rows()
    }

    fn filter(&self) -> Option<&ListFilter> {
        Some(&self.filter)
    }

    fn filter_mut(&mut self) -> Option<&mut ListFilter> {
        Some(&mut self.filter)
    }

    fn selected_item(&self, app: &App) -> Option<SelectedItem> {
        let (_, traced) = self.selected_message(app)?;
        Some(SelectedItem::Message(traced.number))
    }

    fn preview(&self, app: &App, columns: usize, theme: &Theme) -> Option<Preview> {
        let (_, traced) = self.selected_message(app)?;
        let thread = thread::lay_out(app, traced, columns, theme);
        Some(Preview {
            title: thread::title(app, traced),
            lines: thread.lines,
            begin: thread.opened,
            agent: None,
        })
    }

    fn preview_ages(&self, app: &App) -> Vec<ShownAge> {
        let selected = self.selected_message(app);
        selected.map_or_else(Vec::new, |(_, traced)| thread::ages(app, traced.number))
    }

    fn tour_tip(&self, app: &App) -> Option<String> {
        let key = |context, action| app.prefs.keymap.key(context, action);
        (!app.model.messages.is_empty()).then(|| {
            format!(
                "{}/{}: select a message, {}: open it",
                key(Context::Panes, Action::Move(Scroll::LineUp)),
                key(Context::Panes, Action::Move(Scroll::LineDown)),
                key(Context::In(Pane::Inbox), Action::Open),
            )
        })
    }
}

impl InboxPane {
    /// Returns the number of rows in the list and the index of the first visible row.
    fn list_position(&self, model: &CrewModel, list: Rect) -> (usize, usize) {
        let len = self.message_numbers(model).len();
        let selected = self.selected_message(model).map_or(0, |(at, _)| at);
        (len, first_row(len, selected, list.height))
    }
}
