//! Implements [`PaneFeature`] for the team: drawing, mouse, keys and preview.

use crate::ui::model::CrewModel;
use ratatui::layout::Rect;

use crate::domain::ids::Name;
use crate::domain::team::{Activity, MemberStatus};
use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::list_filter::ListFilter;
use crate::ui::frame::{layout, navigation};
use crate::ui::keymap::direction::Scroll;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::feature::{PaneCanvas, PaneFeature, Preview, SelectedItem, page};
use crate::ui::panes::team::{TeamLine, TeamPane, preview, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

impl PaneFeature for TeamPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        view::draw(self, app, area, canvas);
        None
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let places = self.places(app, layout::inside(area));
        let parts = [
            (places.filter, Action::Filter),
            (places.headings, Action::Sort),
        ];
        for (at, action) in parts {
            let what = Hit::In(Pane::Team, action);
            out.extend(at.map(|at| PlacedPart { at, what }));
        }
        let lines = self.lines(app, places).into_iter();
        out.extend(lines.zip(places.list.rows()).map(|(line, at)| {
            let (TeamLine::Agent(row) | TeamLine::Action(row)) = line;
            let what = Hit::Row(Pane::Team, row);
            PlacedPart { at, what }
        }));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let list = self.places(app, layout::inside(area)).list;
        let (len, first) = self.list_position(app, list);
        Scrollbar::of_list(area, list, first, len)
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let page = page(area, |inside| self.places(app, inside).list);
        let at = self.selected_member(app).map_or(0, |(at, _)| at);
        let names: Vec<Name> = self
            .rows(app)
            .iter()
            .map(|row| row.name().clone())
            .collect();
        self.selected = names.get(step(at, names.len(), by, page)).cloned();
    }

    fn select(&mut self, app: &App, row: usize) {
        let name = self.rows(app).get(row).map(|row| row.name().clone());
        self.selected = name.or(self.selected.take());
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        self.selected_member(app).is_some_and(|(at, _)| at == row)
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        if let Some((_, member)) = self.selected_member(app) {
            navigation::show(app, &member);
        }
    }

    fn can_open(&self, app: &App) -> bool {
        self.selected_member(app).is_some()
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let (_, name) = self.selected_member(app)?;
        Some((format!("the name {name}"), name.to_string()))
    }

    fn text_changed(&mut self) {
        self.selected = None;
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

    fn content_rows(&self, app: &App) -> usize {
        self.unfiltered_rows(app).len()
    }

    fn filter(&self) -> Option<&ListFilter> {
        Some(&self.filter)
    }

    fn filter_mut(&mut self) -> Option<&mut ListFilter> {
        Some(&mut self.filter)
    }

    fn selected_item(&self, app: &App) -> Option<SelectedItem> {
        let (_, name) = self.selected_member(app)?;
        Some(SelectedItem::Agent(name))
    }

    fn preview(&self, app: &App, columns: usize, theme: &Theme) -> Option<Preview> {
        let (_, name) = self.selected_member(app)?;
        Some(Preview {
            title: name.to_string(),
            lines: preview::lines(app, &name, columns, theme),
            begin: 0,
            agent: Some(name),
        })
    }

    fn act(
        &mut self,
        app: &mut App,
        _area: Option<Rect>,
        action: Action,
        out: &mut Vec<Effect>,
    ) -> bool {
        match action {
            Action::AskShutdown => self.ask_shutdown(app, out),
            Action::KillTeammate => self.force(app),
            Action::Nudge => self.nudge(app, out),
            Action::Rewind => self.rewind(app, out),
            Action::Sort => self.sort_by_next(app, out),
            _ => return false,
        }
        true
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        if action == Action::Sort {
            return Some(app.model.team.members.len() > 1);
        }
        if action == Action::Rewind {
            return Some(self.selected_member(app).is_some());
        }
        let is_own = matches!(
            action,
            Action::AskShutdown | Action::KillTeammate | Action::Nudge
        );
        is_own.then(|| {
            let selected = self.selected_member(app);
            let member = selected.and_then(|(_, name)| app.model.team.find(&name));
            member.is_some_and(|m| m.status != MemberStatus::Shutdown)
        })
    }

    fn tour_tip(&self, app: &App) -> Option<String> {
        let (_, member) = self.selected_member(app)?;
        let open = app.prefs.keymap.key(Context::In(Pane::Team), Action::Open);
        let is_live = app.activity(&member) != Activity::Gone;
        let live = if is_live { "live " } else { "" };
        Some(format!(
            "{open} opens the {live}transcript of the selected agent"
        ))
    }

    fn handle_request(&mut self, request: &PaneRequest) {
        match request {
            PaneRequest::ScreenRestored(screen) => self.sort = screen.team_sort,
            PaneRequest::SelectAgent(name) => self.selected = Some(name.clone()),
            _ => {}
        }
    }

    fn before_event(&mut self, app: &App, _event: &EventKind) {
        // `None` means that the first row is selected. The event may put another agent there, so the current agent is
        // selected explicitly.
        if app.focus == Focus::Pane(Pane::Team) && self.selected.is_none() {
            self.selected = self.selected_member(app).map(|(_, name)| name);
        }
    }
}

impl TeamPane {
    /// Returns the number of rows in the list and the index of the first visible row.
    fn list_position(&self, model: &CrewModel, list: Rect) -> (usize, usize) {
        let len = self.rows(model).len();
        let selected = self.selected_member(model).map_or(0, |(at, _)| at);
        (len, first_row(len, selected, list.height))
    }
}
