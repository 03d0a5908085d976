//! What the shell asks of the pane.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::layout;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::{PaneFeature, page, rows};
use crate::ui::panes::inbox::{letters, select_letter, selected_letter, view};
use crate::ui::panes::rows::places;
use crate::ui::popups::thread;
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The messages between the agents.
pub struct InboxPane;

impl PaneFeature for InboxPane {
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
        let (filter, list) = places(app, Pane::Inbox, layout::inside(area));
        out.extend(filter.map(|at| Target {
            at,
            what: Hit::In(Pane::Inbox, Action::Filter),
        }));
        out.extend(rows(Pane::Inbox, list, listed(app, list)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let (_, list) = places(app, Pane::Inbox, layout::inside(area));
        let (len, first) = listed(app, list);
        Scrollbar::of_list(area, list, first, len)
    }

    fn scroll(&self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let page = page(area, |inside| places(app, Pane::Inbox, inside).1);
        let at = selected_letter(app).map_or(0, |(at, _)| at);
        let next = step(at, letters(app).len(), by, page);
        select_letter(app, next);
    }

    fn select(&self, app: &mut App, row: usize) {
        select_letter(app, row);
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        selected_letter(app).is_some_and(|(at, _)| at == row)
    }

    fn follow(&self, app: &mut App, _area: Option<Rect>) {
        app.selected.letter = None;
    }

    fn open(&self, app: &mut App, _area: Option<Rect>) {
        let letter = selected_letter(app).map(|(_, letter)| letter.number);
        if let Some(number) = letter {
            thread::open(app, number);
        }
    }

    fn can_open(&self, app: &App) -> bool {
        !app.model.letters.is_empty()
    }

    fn can_peek(&self, app: &App) -> bool {
        !app.model.letters.is_empty()
    }

    fn copied(&self, app: &App) -> Option<(String, String)> {
        let (_, traced) = selected_letter(app)?;
        Some((
            "the message".into(),
            escape_control_chars(&traced.letter.content),
        ))
    }

    fn filter_changed(&self, app: &mut App) {
        // `None` selects the newest message.
        app.selected.letter = None;
    }

    fn tab_count(&self, app: &App) -> String {
        match app.model.letters.unread(&app.model.team) {
            0 => String::new(),
            unread => format!(" {unread}"),
        }
    }

    fn can_follow(&self, app: &App) -> bool {
        app.selected.letter.is_some()
    }

    fn can_filter(&self, app: &App) -> bool {
        !app.model.letters.is_empty()
    }
}

/// How many rows the list has, and the first one in view.
fn listed(app: &App, list: Rect) -> (usize, usize) {
    let len = letters(app).len();
    let selected = selected_letter(app).map_or(0, |(at, _)| at);
    (len, first_row(len, selected, list.height))
}
