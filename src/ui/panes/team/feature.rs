//! What the shell asks of the pane.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::view_cache::ViewCache;
use crate::ui::frame::{layout, navigation};
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::feature::{PaneFeature, page, rows};
use crate::ui::panes::rows::places;
use crate::ui::panes::team::{selected_member, team, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::Target;
use crate::ui::widgets::scrollbar::Scrollbar;

/// The teammates and their subagents.
pub struct TeamPane;

impl PaneFeature for TeamPane {
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
        let (filter, list) = places(app, Pane::Team, layout::inside(area));
        out.extend(filter.map(|at| Target {
            at,
            what: Hit::In(Pane::Team, Action::Filter),
        }));
        out.extend(rows(Pane::Team, list, listed(app, list)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let (_, list) = places(app, Pane::Team, layout::inside(area));
        let (len, first) = listed(app, list);
        Scrollbar::of_list(area, list, first, len)
    }

    fn scroll(&self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let page = page(area, |inside| places(app, Pane::Team, inside).1);
        let at = selected_member(app).map_or(0, |(at, _)| at);
        let names: Vec<Name> = team(app).iter().map(|row| row.name().clone()).collect();
        app.selected.member = names.get(step(at, names.len(), by, page)).cloned();
    }

    fn select(&self, app: &mut App, row: usize) {
        let name = team(app).get(row).map(|row| row.name().clone());
        app.selected.member = name.or(app.selected.member.take());
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        selected_member(app).is_some_and(|(at, _)| at == row)
    }

    fn open(&self, app: &mut App, _area: Option<Rect>) {
        if let Some((_, member)) = selected_member(app) {
            navigation::show(app, &member);
        }
    }

    fn can_open(&self, app: &App) -> bool {
        selected_member(app).is_some()
    }

    fn can_peek(&self, app: &App) -> bool {
        selected_member(app).is_some()
    }

    fn copied(&self, app: &App) -> Option<(String, String)> {
        let (_, name) = selected_member(app)?;
        Some((format!("the name {name}"), name.to_string()))
    }

    fn filter_changed(&self, app: &mut App) {
        app.selected.member = None;
    }

    fn tab_count(&self, app: &App) -> String {
        if app.model.team.members.is_empty() {
            return String::new();
        }
        format!(" {}", app.model.team.present().count())
    }

    fn can_filter(&self, app: &App) -> bool {
        !app.model.team.members.is_empty()
    }

    fn can_copy(&self, app: &App) -> bool {
        !app.model.team.members.is_empty()
    }
}

/// How many rows the list has, and the first one in view.
fn listed(app: &App, list: Rect) -> (usize, usize) {
    let len = team(app).len();
    let selected = selected_member(app).map_or(0, |(at, _)| at);
    (len, first_row(len, selected, list.height))
}
