//! Implements [`PaneFeature`] for the team: drawing, mouse, keys and preview.

use crate::ui::model::CrewModel;
use ratatui::layout::Rect;

use crate::domain::team::{Activity, MemberStatus};
use crate::domain::text::one_line;
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
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::panes::feature::{PaneCanvas, PaneFeature, Preview, SelectedItem, page};
use crate::ui::panes::team::{TeamItem, TeamLine, TeamPane, TeamRow, preview, view};
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
        let rows = self.rows(app);
        let at = self.selected_row(&rows).unwrap_or(0);
        let to = rows.get(step(at, rows.len(), by, page));
        let item = to.map(TeamRow::item);
        self.keep_host_open(app);
        self.selected = item;
    }

    fn select(&mut self, app: &App, row: usize) {
        let item = self.rows(app).get(row).map(TeamRow::item);
        self.keep_host_open(app);
        self.selected = item.or(self.selected.take());
    }

    fn opens(&self, app: &App, row: usize, _is_second: bool) -> bool {
        let rows = self.rows(app);
        // One click on the heading of a host expands or collapses it.
        let is_heading = rows.get(row).is_some_and(|row| row.agent().is_none());
        is_heading || self.selected_row(&rows) == Some(row)
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        match self.selected_item_row(app) {
            Some((_, TeamItem::Agent(name))) => navigation::show(app, &name),
            Some((_, TeamItem::Host(host))) => self.toggle_host(app, &host),
            Some((_, TeamItem::LeftHosts)) => self.toggle_left_hosts(app),
            None => {}
        }
    }

    fn can_open(&self, app: &App) -> bool {
        self.selected_item_row(app).is_some()
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let name = match self.selected_item_row(app)?.1 {
            TeamItem::Agent(name) => name.to_string(),
            TeamItem::Host(host) => one_line(&host),
            TeamItem::LeftHosts => return None,
        };
        Some((format!("the name {name}"), name))
    }

    fn hint(&self, app: &App, binding: &KeyBinding) -> Option<String> {
        if (binding.context, binding.action) != (Context::In(Pane::Team), Action::Open) {
            return None;
        }
        let rows = self.rows(app);
        let is_open = self
            .selected_row(&rows)
            .and_then(|at| rows.get(at)?.is_open());
        let word = if is_open? { "collapse" } else { "expand" };
        Some(word.into())
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
        !app.model.team.members.is_empty() || !app.model.team.hosts().is_empty()
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

    fn why_no_preview(&self, app: &App) -> &'static str {
        match self.selected_item_row(app) {
            Some((_, TeamItem::Host(_) | TeamItem::LeftHosts)) => {
                "Select an agent to preview it. A host has no preview."
            }
            Some((_, TeamItem::Agent(_))) | None => "This pane has nothing to preview yet.",
        }
    }

    fn step_preview(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let page = page(area, |inside| self.places(app, inside).list);
        let rows = self.rows(app);
        let selected = self.selected_row(&rows);
        // A host has no preview, so its heading is skipped.
        let agents: Vec<usize> = (0..rows.len())
            .filter(|at| rows.get(*at).is_some_and(|row| row.agent().is_some()))
            .collect();
        let at = agents.iter().position(|at| Some(*at) == selected);
        let to = agents.get(step(at.unwrap_or(0), agents.len(), by, page));
        let item = to.and_then(|at| rows.get(*at)).map(TeamRow::item);
        self.keep_host_open(app);
        self.selected = item.or(self.selected.take());
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
            PaneRequest::SelectAgent(name) => {
                self.selected = Some(TeamItem::Agent(name.clone()));
            }
            _ => {}
        }
    }

    fn before_event(&mut self, app: &App, _event: &EventKind) {
        // `None` means that the first agent is selected. The event may put another agent there, so the current agent is
        // selected explicitly.
        if app.focus == Focus::Pane(Pane::Team) && self.selected.is_none() {
            self.selected = self.selected_item_row(app).map(|(_, item)| item);
        }
    }
}

impl TeamPane {
    /// Returns the number of rows in the list and the index of the first visible row.
    fn list_position(&self, model: &CrewModel, list: Rect) -> (usize, usize) {
        let rows = self.rows(model);
        let selected = self.selected_row(&rows).unwrap_or(0);
        (rows.len(), first_row(rows.len(), selected, list.height))
    }
}
