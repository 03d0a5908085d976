//! Implements [`PaneFeature`] for the conversation: drawing, mouse and keys.

use ratatui::layout::Rect;

use crate::domain::request::RequestKind;
use crate::domain::text::escape_control_chars;
use crate::ui::app::effect::Effect;
use crate::ui::app::pane_request::PaneRequest;
use crate::ui::app::popup::TextCursor;
use crate::ui::app::{App, answering};
use crate::ui::frame::hit::Hit;
use crate::ui::frame::{END_SEARCH, layout};
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};
use crate::ui::panes::feature::{PaneCanvas, PaneFeature};
use crate::ui::panes::lead::complete::{self, Completion};
use crate::ui::panes::lead::{
    LeadPane, complete_update, conversation_area, follow, onboarding, search, view,
};
use crate::ui::popups::copy_menu;
use crate::ui::transcript::Viewport;
use crate::ui::widgets::line_input::LineInput;
use crate::ui::widgets::placed::PlacedPart;
use crate::ui::widgets::scrollbar::Scrollbar;

impl PaneFeature for LeadPane {
    fn draw(&self, app: &App, area: Rect, canvas: PaneCanvas<'_>) -> TextCursor {
        view::draw(app, area, canvas)
    }

    fn targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let rows = conversation_area(app, area).rows().zip(0..);
        out.extend(rows.map(|(at, row)| PlacedPart {
            at,
            what: Hit::ConversationRow(row),
        }));
    }

    fn frame_targets(&self, app: &App, area: Rect, out: &mut Vec<PlacedPart<Hit>>) {
        let mark = follow::follow_mark(app, area);
        out.extend(mark.map(|mark| mark.map(|_| Hit::In(Pane::Lead, Action::Follow))));
    }

    fn scrollbar(&self, app: &App, area: Rect) -> Option<Scrollbar> {
        let conversation_area = conversation_area(app, area);
        let transcript = &app.model.agents.get(&app.shown)?.transcript;
        let scrolled = transcript.scroll_state(layout::viewport(conversation_area));
        Scrollbar::new(area, conversation_area, scrolled?)
    }

    fn scroll(&mut self, app: &mut App, area: Option<Rect>, by: Scroll) {
        let viewport = viewport(app, area);
        app.shown_agent().transcript.scroll(by, viewport);
    }

    fn jump(&mut self, app: &mut App, area: Option<Rect>, bar: Scrollbar, row: u16) {
        let viewport = viewport(app, area);
        // The entries of a conversation differ in height, so the position within the scrollbar is not exact. The last
        // row of the scrollbar always scrolls to the end.
        let is_end = row + 1 >= bar.at.bottom();
        let first = if is_end {
            bar.scrolled.len
        } else {
            bar.first_at(row)
        };
        app.shown_agent().transcript.jump(first, viewport);
    }

    fn neighbour(&mut self, app: &mut App, area: Option<Rect>, way: Way) {
        let viewport = viewport(app, area);
        let transcript = &mut app.shown_agent().transcript;
        match way {
            Way::Forward => transcript.select_next(),
            Way::Back => transcript.select_prev(),
        }
        transcript.reveal_selected(viewport);
    }

    fn follow(&mut self, app: &mut App, area: Option<Rect>) {
        self.scroll(app, area, Scroll::Bottom);
    }

    fn open(&mut self, app: &mut App, area: Option<Rect>) {
        let viewport = viewport(app, area);
        let transcript = &mut app.shown_agent().transcript;
        transcript.toggle_selected();
        transcript.reveal_selected(viewport);
    }

    fn can_open(&self, app: &App) -> bool {
        let agent = app.model.agents.get(&app.shown);
        agent.is_some_and(|agent| agent.has_entries)
    }

    fn content_rows(&self, app: &App) -> usize {
        usize::from(self.can_open(app))
    }

    fn handle_request(&mut self, request: &PaneRequest) {
        if let PaneRequest::ConversationOpened { is_other: true } = request {
            self.completion = Completion::Fresh;
        }
    }

    fn typing_context(&self, app: &App) -> Option<Context> {
        app.is_searching().then_some(Context::Search)
    }

    fn inner_context(&self, app: &App) -> Option<Context> {
        if complete::selected_completion(self, app).is_some() {
            return Some(Context::Completion);
        }
        crate::ui::app::onboarding::has_keys(app).then_some(Context::FirstRun)
    }

    fn act(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        action: Action,
        out: &mut Vec<Effect>,
    ) -> bool {
        match action {
            Action::Move(by) => return complete_update::select(self, app, by),
            Action::Complete => complete_update::insert(self, app),
            Action::Search => app.shown_agent().transcript.begin_search(),
            Action::NextMatch => search::next(app, Way::Forward, viewport(app, area)),
            Action::PrevMatch => search::next(app, Way::Back, viewport(app, area)),
            Action::NextPrompt => search::prompt(app, Way::Forward, viewport(app, area)),
            Action::PrevPrompt => search::prompt(app, Way::Back, viewport(app, area)),
            Action::CopyMenu => copy_menu::open(app),
            Action::Print => out.extend(search::whole(app).map(Effect::Print)),
            Action::ReadInEditor => out.extend(search::whole(app).map(Effect::OpenInEditor)),
            Action::StartDemo
            | Action::CheckAgain
            | Action::CreateRepository
            | Action::ApproveSettings
            | Action::SkipSettings => onboarding::act(app, area, action, out),
            _ => return false,
        }
        true
    }

    fn offers(&self, app: &App, action: Action) -> Option<bool> {
        match action {
            Action::Search
            | Action::PrevPrompt
            | Action::NextPrompt
            | Action::CopyMenu
            | Action::Print
            | Action::ReadInEditor => Some(self.can_open(app)),
            Action::ApproveShown => {
                Some(answering::request(app).is_some_and(|r| r.kind != RequestKind::Question))
            }
            Action::RejectShown => Some(answering::request(app).is_some()),
            Action::UnfoldPaste => Some(app.input.composer.has_chip()),
            Action::NextMatch | Action::PrevMatch => {
                let agent = app.model.agents.get(&app.shown);
                let has_match = agent.is_some_and(|a| a.transcript.match_position().1 > 0);
                Some(has_match && app.popups.is_empty())
            }
            _ => None,
        }
    }

    fn edit_text(
        &mut self,
        app: &mut App,
        area: Option<Rect>,
        edit: &mut dyn FnMut(&mut LineInput),
    ) -> bool {
        let is_searching = app.is_searching();
        if is_searching {
            let viewport = viewport(app, area);
            app.shown_agent().transcript.edit_search(edit, viewport);
        }
        is_searching
    }

    fn text_changed(&mut self) {
        self.completion = Completion::Fresh;
    }

    fn select(&mut self, _app: &App, row: usize) {
        self.completion = Completion::Selected(row);
    }

    fn accept(&mut self, app: &mut App) -> Option<Action> {
        if app.is_searching() {
            search::keep(app);
        }
        complete_update::accept(self, app)
    }

    fn step_back(&mut self, app: &mut App) -> bool {
        if complete_update::dismiss(self, app) {
            return true;
        }
        let is_active = search::is_active(app);
        if is_active {
            app.shown_agent().transcript.end_search();
        }
        is_active
    }

    fn back_label(&self, app: &App) -> Option<&'static str> {
        search::is_active(app).then_some(END_SEARCH)
    }

    fn clipboard_text(&self, app: &App) -> Option<(String, String)> {
        let agent = app.model.agents.get(&app.shown)?;
        if let Some((what, text)) = agent.transcript.selected_text() {
            return Some((what.into(), text));
        }
        let said = &agent.last_answer;
        let what = format!("the last answer of {}", app.shown);
        (!said.is_empty()).then(|| (what, escape_control_chars(said)))
    }

    fn has_neighbour(&self, app: &App) -> bool {
        self.can_open(app)
    }

    fn can_copy(&self, app: &App) -> bool {
        let agent = app.model.agents.get(&app.shown);
        agent.is_some_and(|agent| !agent.last_answer.is_empty())
    }
}

/// Returns the size of the visible part of the conversation, in a pane with the frame `area`; zero if the pane is not
/// visible.
fn viewport(app: &App, area: Option<Rect>) -> Viewport {
    let conversation_area = area
        .map(|area| conversation_area(app, area))
        .unwrap_or_default();
    layout::viewport(conversation_area)
}
