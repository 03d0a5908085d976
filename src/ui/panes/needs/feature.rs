//! What the shell asks of the pane.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::text::escape_control_chars;
use crate::ui::app::App;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::frame::{layout, navigation};
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::model::sentence;
use crate::ui::panes::feature::{PaneFeature, rows};
use crate::ui::panes::needs::{buttons, card, selected_request, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The requests that wait for the user.
pub struct NeedsPane;

impl PaneFeature for NeedsPane {
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

    /// Adds the list, the choices and the buttons. Choices and buttons count once the pane has the focus.
    fn targets(&self, app: &App, area: Rect, out: &mut Vec<Target<Hit>>) {
        let inside = card::inside(area);
        let Some((at, request)) = selected_request(app) else {
            return;
        };
        let places = card::places(app, inside, &Theme::default());
        let mut put = |at, what| out.push(Target { at, what });
        if let Some(last) = places.buttons {
            for button in buttons::buttons(app, request, last) {
                if let Some(action) = button.what.action {
                    put(button.at, Hit::Button(action));
                }
            }
        }
        let counts =
            app.focus == Focus::Pane(Pane::Needs) && !app.model.requests.is_answered(&request.id);
        for (row, number) in places.choices.into_iter().filter(|_| counts) {
            put(row, Hit::Button(Action::Choose(number)));
        }
        let len = app.model.requests.len();
        let first = first_row(len, at, card::listed(app));
        out.extend(rows(Pane::Needs, places.list, (len, first)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let inside = card::inside(area);
        card::places(app, inside, &Theme::default()).bar(area)
    }

    fn scroll(&self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let Some(area) = area.map(layout::inside) else {
            return;
        };
        let width = area.width.saturating_sub(2);
        let card = card::card(app, width, area.height, &Theme::default());
        let seen = card.room.max(1);
        let most = card.lines.len().saturating_sub(seen);
        let at = app.selected.request_scroll.min(most);
        app.selected.request_scroll = step(at, most + 1, by, seen);
        if app.selected.request_scroll >= most {
            let request = selected_request(app).map(|(_, r)| r.id.clone());
            app.selected.request_read = request;
        }
    }

    fn select(&self, app: &mut App, row: usize) {
        if let Some(request) = app.model.requests.at(row) {
            let is_other = app.selected.request.as_ref() != Some(&request.id);
            app.selected.request = Some(request.id.clone());
            if is_other {
                app.selected.request_scroll = 0;
            }
        }
    }

    /// Opening a request leaves it: one click alone must not.
    fn opens(&self, _app: &App, _row: usize, is_second: bool) -> bool {
        is_second
    }

    fn jump(&self, app: &mut App, _area: Option<Rect>, bar: Scrollbar, row: u16) {
        app.selected.request_scroll = bar.first_at(row);
    }

    fn neighbour(&self, app: &mut App, _area: Option<Rect>, way: Way) {
        let at = selected_request(app).map_or(0, |(at, _)| at);
        let next = match way {
            Way::Forward => at + 1,
            Way::Back => at.saturating_sub(1),
        };
        if let Some(request) = app.model.requests.at(next) {
            app.selected.request = Some(request.id.clone());
            app.selected.request_scroll = 0;
        }
    }

    fn open(&self, app: &mut App, _area: Option<Rect>) {
        let asker = selected_request(app).map(|(_, r)| r.target.clone());
        if let Some(agent) = asker {
            navigation::show(app, &agent);
        }
    }

    fn can_open(&self, app: &App) -> bool {
        !app.model.requests.is_empty()
    }

    fn can_peek(&self, app: &App) -> bool {
        !app.model.requests.is_empty()
    }

    fn copied(&self, app: &App) -> Option<(String, String)> {
        let (_, request) = selected_request(app)?;
        let text = format!("{}\n\n{}", sentence::request(request), request.body);
        Some(("the request".into(), escape_control_chars(&text)))
    }

    fn tab_count(&self, app: &App) -> String {
        match app.model.requests.for_person() {
            0 => String::new(),
            waiting => format!(" ({waiting})"),
        }
    }

    fn is_stop(&self, app: &App) -> bool {
        !app.model.requests.is_empty() || app.focus == Focus::Pane(Pane::Needs)
    }

    fn has_neighbour(&self, app: &App) -> bool {
        app.model.requests.len() > 1
    }
}
