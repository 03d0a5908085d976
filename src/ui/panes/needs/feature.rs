//! Implements [`PaneFeature`] for the requests: drawing, mouse, keys and preview.

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::domain::request::{RequestKind, Verdict};
use crate::domain::text::escape_control_chars;
use crate::domain::timestamp::Timestamp;
use crate::protocol::EventKind;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::TextCursor;
use crate::ui::frame::hit::Hit;
use crate::ui::frame::{layout, navigation};
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context, KeyBinding};
use crate::ui::model::sentence;
use crate::ui::panes::feature::{PaneCanvas, PaneFeature, Preview, SelectedItem, rows};
use crate::ui::panes::needs::{NeedsPane, buttons, card, view};
use crate::ui::theme::Theme;
use crate::ui::widgets::list::{first_row, step};
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Minimum height of the pane including its frame, in rows, if its screen column has that many rows.
const HEIGHT_MIN: u16 = 6;

impl PaneFeature for NeedsPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        view::draw(self, app, area, canvas);
        None
    }

    /// Adds the headings of the requests as mouse targets. While the pane has the focus, also adds the choices and
    /// buttons of the selected request.
    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let inside = card::inside(area);
        let Some((at, request)) = self.selected_request(app) else {
            return;
        };
        let places = card::card_layout(self, app, inside, &Theme::default());
        let mut put = |at, what| out.push(PlacedPart { at, what });
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
        let first = first_row(len, at, card::heading_rows(app));
        out.extend(rows(Pane::Needs, places.list, (len, first)));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let inside = card::inside(area);
        card::card_layout(self, app, inside, &Theme::default()).bar(area)
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let Some(area) = area.map(layout::inside) else {
            return;
        };
        let width = area.width.saturating_sub(2);
        let card = card::card(self, app, width, area.height, &Theme::default());
        let seen = card.room.max(1);
        let most = card.lines.len().saturating_sub(seen);
        let at = self.scroll.min(most);
        self.scroll = step(at, most + 1, by, seen);
        if self.scroll >= most {
            self.seen_to_end = self.selected_id(app);
        }
    }

    fn select(&mut self, app: &App, row: usize) {
        if let Some(request) = app.model.requests.at(row)
            && self.selected.as_ref() != Some(&request.id)
        {
            self.show(request.id.clone());
        }
    }

    /// Returns `true` only for the second click on a request, because opening a request leaves this pane and shows the
    /// conversation of the agent that made the request.
    fn opens(&self, _app: &App, _row: usize, is_second: bool) -> bool {
        is_second
    }

    fn jump(&mut self, _app: &mut App, _area: Option<Rect>, bar: Scrollbar, row: u16) {
        self.scroll = bar.first_at(row);
    }

    fn neighbour(&mut self, app: &mut App, _area: Option<Rect>, way: Way) {
        let at = self.selected_request(app).map_or(0, |(at, _)| at);
        let next = match way {
            Way::Forward => at + 1,
            Way::Back => at.saturating_sub(1),
        };
        if let Some(request) = app.model.requests.at(next) {
            self.show(request.id.clone());
        }
    }

    fn open(&mut self, app: &mut App, _area: Option<Rect>) {
        let target = self.selected_request(app).map(|(_, r)| r.target.clone());
        if let Some(agent) = target {
            navigation::show(app, &agent);
        }
    }

    fn can_open(&self, app: &App) -> bool {
        !app.model.requests.is_empty()
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let (_, request) = self.selected_request(app)?;
        let text = format!("{}\n\n{}", sentence::request(request), request.body);
        Some(("the request".into(), escape_control_chars(&text)))
    }

    fn selected_item(&self, app: &App) -> Option<SelectedItem> {
        self.selected_id(app).map(SelectedItem::Request)
    }

    /// Returns `false` for a request that the pane shows whole: its preview would repeat the same lines.
    fn can_peek(&self, app: &App, area: Option<Rect>) -> bool {
        self.selected_request(app).is_some()
            && !area.is_some_and(|area| card::shows_all(self, app, area))
    }

    fn why_no_preview(&self, app: &App) -> &'static str {
        if app.model.requests.is_empty() {
            "This pane has nothing to preview yet."
        } else {
            "The pane already shows the whole request."
        }
    }

    fn preview(&self, app: &App, columns: usize, theme: &Theme) -> Option<Preview> {
        let (at, request) = self.selected_request(app)?;
        let width = u16::try_from(columns).unwrap_or(u16::MAX);
        let heading = sentence::heading(request, &app.model.board, columns);
        let mut lines = vec![Line::styled(heading, theme.heading), Line::default()];
        let words = card::text(app, request, width, usize::MAX, theme).into_iter();
        let words = words.chain(card::choices(request, width, theme));
        lines.extend(words.map(|(_, line)| line));
        Some(Preview {
            title: format!("Request {} of {}", at + 1, app.model.requests.len()),
            lines,
            begin: 0,
            agent: None,
        })
    }

    /// Selects another request, which the preview then shows whole. Does not call [`PaneFeature::scroll`] as other
    /// panes do, because that scrolls the text of the selected request.
    fn step_preview(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        match by {
            Scroll::LineDown => self.neighbour(app, area, Way::Forward),
            Scroll::LineUp => self.neighbour(app, area, Way::Back),
            _ => {
                let at = self.selected_request(app).map_or(0, |(at, _)| at);
                let len = app.model.requests.len();
                if let Some(request) = app.model.requests.at(step(at, len, by, len.max(1))) {
                    self.show(request.id.clone());
                }
            }
        }
    }

    fn preview_was_read(&mut self, app: &App) {
        self.seen_to_end = self.selected_id(app);
    }

    fn act(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        action: Action,
        out: &mut Vec<Effect>,
    ) -> bool {
        match action {
            Action::Waiting => self.focus_oldest(app),
            Action::Approve => self.decide(app, area, Verdict::Approve, out),
            Action::Reject => self.decide(app, area, Verdict::Reject, out),
            Action::ApproveForTeam => self.choose_scope(app, area),
            Action::Comment => self.comment(app),
            Action::EditComment => self.edit_comment(app, out),
            Action::Choose(number) => self.choose(app, area, number, out),
            _ => return false,
        }
        true
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        let request = || self.selected_request(app).map(|(_, request)| request);
        Some(match action {
            Action::Waiting => {
                app.popups.is_empty()
                    && app.model.requests.for_user() > 0
                    && app.focus != Focus::Pane(Pane::Needs)
            }
            Action::Approve => request().is_some_and(|r| r.kind != RequestKind::Question),
            Action::ApproveForTeam => request()
                .and_then(|r| r.call.as_ref())
                .is_some_and(|c| !c.scopes.is_empty()),
            Action::Reject | Action::Comment | Action::EditComment => {
                !app.model.requests.is_empty()
            }
            _ => return None,
        })
    }

    /// Returns the label of the key that edits a text for the selected request, and of the keys that decline or answer
    /// the selected question: the labels of their buttons in the card. Returns `None` for all other keys and requests, so
    /// that these have the labels of the key table.
    fn hint(&self, app: &App, binding: &KeyBinding) -> Option<String> {
        if binding.context != Context::In(Pane::Needs) || !app.is_in_panes() {
            return None;
        }
        let (_, request) = self.selected_request(app)?;
        let is_question = request.kind == RequestKind::Question;
        let words = match binding.action {
            Action::EditComment if is_question => "answer in $EDITOR",
            Action::EditComment if request.kind == RequestKind::Plan => "edit the plan",
            Action::EditComment => "comment in $EDITOR",
            Action::Reject if is_question => "decline",
            Action::Comment if is_question && request.choices.is_empty() => "answer",
            Action::Comment if is_question => "own answer",
            _ => return None,
        };
        Some(words.into())
    }

    fn inner_context(&self, app: &App) -> Option<Context> {
        let (_, request) = self.selected_request(app)?;
        (!request.choices.is_empty()).then_some(Context::Choices)
    }

    fn content_rows(&self, app: &App) -> usize {
        app.model.requests.len()
    }

    fn wanted_height(&self, app: &App, width: u16, most: u16) -> u16 {
        let text = card::height(self, app, width.saturating_sub(4), most);
        text.saturating_add(2).max(HEIGHT_MIN).min(most)
    }

    fn has_tab(&self, app: &App) -> bool {
        self.is_stop(app)
    }

    fn highlights_tab(&self) -> bool {
        true
    }

    fn handle_request(&mut self, request: &PaneRequest) {
        match request {
            PaneRequest::SelectRequest(id) => self.selected = Some(id.clone()),
            PaneRequest::ShowRequest(id) => self.show(id.clone()),
            PaneRequest::SelectTask(_)
            | PaneRequest::SelectAgent(_)
            | PaneRequest::ConversationOpened { .. }
            | PaneRequest::ScreenRestored(_) => {}
        }
    }

    fn before_event(&mut self, app: &App, _event: &EventKind) {
        self.before = self.selected_id(app);
    }

    fn after_event(&mut self, app: &App) {
        let after = self.selected_id(app);
        let before = self.before.take();
        if before == after {
            return;
        }
        // The next key can be meant for an earlier request only if a request was visible or this pane had the focus.
        let is_another = before.is_some() || app.focus == Focus::Pane(Pane::Needs);
        self.since = if is_another {
            app.now
        } else {
            Timestamp::default()
        };
        self.selected = after;
        self.scroll = 0;
    }

    fn tab_count(&self, app: &App) -> String {
        match app.model.requests.for_user() {
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
