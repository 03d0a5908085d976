//! Focus, selection, scrolling and the way back.

use crate::domain::ids::Name;
use crate::ui::app::App;
use crate::ui::app::effect::Do;
use crate::ui::app::popup::{CommentStage, Popup, Question};
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::navigation::{focus, show};
use crate::ui::keymap::direction::{Scroll, Way};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::lead::complete_update;
use crate::ui::panes::needs::card;
use crate::ui::panes::{board, rows};
use crate::ui::popups::costs;
use crate::ui::popups::picker::rows as picker_rows;
use crate::ui::popups::reader::text_search;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas::{board_area, page_of, viewport};
use crate::ui::shell::{layout, peek};
use crate::ui::theme::Theme;
use crate::ui::widgets::line_input::Searching;
use crate::ui::widgets::list::step;

/// Rows that a page key moves in a picker.
const PAGE: usize = 10;

/// Focuses a pane; if it is focused, toggles full screen.
pub fn focus_or_zoom(app: &mut App, pane: Pane) {
    if app.focus != Focus::Pane(pane) || app.keys.left_composer {
        focus(app, pane);
    } else if app.arrangement.zoom.is_some() {
        app.arrangement.zoom = None;
    } else {
        enlarge(app);
    }
}

/// Shows the focused pane full screen.
pub fn enlarge(app: &mut App) {
    if !frame_layout::shows_one(app) {
        app.arrangement.zoom = Some(app.focus.pane());
    }
}

/// Focuses the next or previous pane; wraps around.
pub fn cycle(app: &mut App, way: Way) {
    let has_todo = app
        .model
        .agents
        .get(&app.shown)
        .is_some_and(|a| !a.todo.items().is_empty());
    let here = app.focus.pane();
    let round: Vec<Pane> = Pane::ALL
        .into_iter()
        .filter(|pane| match pane {
            Pane::Lead | Pane::Board | Pane::Team | Pane::Inbox => true,
            Pane::Todo => has_todo || here == Pane::Todo,
            Pane::Needs => !app.model.requests.is_empty() || here == Pane::Needs,
        })
        .collect();
    let at = round.iter().position(|p| *p == here).unwrap_or(0);
    let next = match way {
        Way::Forward => (at + 1) % round.len(),
        Way::Back => (at + round.len() - 1) % round.len(),
    };
    if let Some(pane) = round.get(next) {
        focus(app, *pane);
    }
}

/// Goes one step back: closes the popup, leaves the composer, clears the filter, ends full screen, returns to the
/// lead.
pub fn back(app: &mut App) {
    if let Some(Popup::Reader(reader)) = app.popups.last_mut()
        && (reader.searching == Searching::Typing || text_search::is_on(reader))
    {
        return crate::ui::popups::reader::update::end(reader);
    }
    if let Some(Popup::EventLog(view)) = app.popups.last_mut()
        && view.has_filter()
    {
        return view.end_filter();
    }
    if let Some(Popup::Comment(comment)) = app.popups.last_mut()
        && comment.stage == CommentStage::Verdict
    {
        comment.stage = CommentStage::Writing;
        return;
    }
    if let Some(Popup::Task(_)) = app.popups.last() {
        return crate::ui::popups::task_form::update::close(app);
    }
    if app.popups.pop().is_some() {
        return;
    }
    if complete_update::put_away(app) {
        return;
    }
    if app.focus == Focus::Composer {
        let narrow = frame_layout::shows_one(app);
        let zoomed = app.arrangement.zoom == Some(Pane::Lead);
        let has_page = crate::ui::app::onboarding::drawn(app).is_some();
        let pane = if narrow || zoomed || has_page || !app.shown.is_lead() {
            Pane::Lead
        } else {
            app.arrangement.tab
        };
        focus(app, pane);
        app.keys.left_composer = true;
    } else if app.filters.end(app.focus.pane())
        || app.focus == Focus::Pane(Pane::Lead) && crate::ui::shell::update::find::end(app)
    {
    } else if app.arrangement.zoom.is_some() {
        app.arrangement.zoom = None;
    } else if let Some(parent) = app.shown.parent() {
        show(app, &parent);
    } else if !app.shown.is_lead() {
        app.open_conversation(&Name::lead());
        if app.focus == Focus::Pane(Pane::Lead) {
            focus(app, Pane::Team);
        }
    } else if app.focus == Focus::Pane(Pane::Needs)
        && let Some(before) = app.keys.before_needs.take()
    {
        app.focus = before;
    }
}

/// Closes the view. At the top level quits crewdeck, after confirmation if agents or jobs are running.
pub fn close(app: &mut App, out: &mut Vec<Do>) {
    let is_view = !app.popups.is_empty() || app.arrangement.zoom.is_some() || !app.shown.is_lead();
    if is_view && app.focus != Focus::Composer {
        back(app);
    } else if app.at_stake() + app.jobs_at_stake() > 0 {
        app.popups.push(Popup::Confirm(Question::Quit));
    } else {
        out.push(Do::Quit);
    }
}

/// Scrolls a conversation or the inbox to the newest entry and follows it.
pub fn follow(state: &mut UiState) {
    if !state.is_in_panes() {
        return crate::ui::popups::event_log::update::follow(state);
    }
    match state.focus.pane() {
        Pane::Lead => scroll_transcript(state, Scroll::Bottom),
        Pane::Inbox => state.selected.letter = None,
        Pane::Todo | Pane::Board | Pane::Team | Pane::Needs => {}
    }
}

/// Selects the next or previous tool call, card or task.
pub fn neighbour(state: &mut UiState, way: Way) {
    match state.focus.pane() {
        Pane::Lead => {
            let viewport = viewport(state);
            let transcript = &mut state.shown_agent().transcript;
            match way {
                Way::Forward => transcript.select_next(),
                Way::Back => transcript.select_prev(),
            }
            transcript.reveal_selected(viewport);
        }
        Pane::Needs => {
            let at = rows::selected_request(state).map_or(0, |(at, _)| at);
            let next = match way {
                Way::Forward => at + 1,
                Way::Back => at.saturating_sub(1),
            };
            if let Some(request) = state.model.requests.at(next) {
                state.selected.request = Some(request.id.clone());
                state.selected.request_scroll = 0;
            }
        }
        Pane::Board => {
            let area = board_area(state);
            board::update::along(state, area, way);
        }
        Pane::Todo | Pane::Team | Pane::Inbox => {}
    }
}

/// Scrolls the focused pane or the top popup.
pub fn scroll(state: &mut UiState, by: Scroll) {
    if complete_update::select(state, by) {
        return;
    }
    if state.popups.is_empty() {
        scroll_pane(state, state.focus.pane(), by);
    } else {
        scroll_popup(state, by);
    }
}

/// Scrolls a pane, focused or not.
pub fn scroll_pane(state: &mut UiState, pane: Pane, by: Scroll) {
    let seen = page_of(state, pane);
    match pane {
        Pane::Lead => scroll_transcript(state, by),
        Pane::Todo => {
            if let Some(at) = rows::selected_todo(state) {
                let len = rows::todo(state).len();
                state.selected.todo = Some(step(at, len, by, seen));
            }
        }
        Pane::Board => {
            let area = board_area(state);
            board::update::scroll(state, area, by);
        }
        Pane::Team => {
            let at = rows::selected_member(state).map_or(0, |(at, _)| at);
            let names: Vec<Name> = rows::team(state).iter().map(|r| r.name().clone()).collect();
            state.selected.member = names.get(step(at, names.len(), by, seen)).cloned();
        }
        Pane::Inbox => {
            let at = rows::selected_letter(state).map_or(0, |(at, _)| at);
            let next = step(at, rows::letters(state).len(), by, seen);
            rows::select_letter(state, next);
        }
        Pane::Needs => {
            let layout = layout::layout(state, state.size);
            let Some(area) = layout.pane(Pane::Needs).map(frame_layout::inside) else {
                return;
            };
            let width = area.width.saturating_sub(2);
            let card = card::card(state, width, area.height, &Theme::default());
            let seen = card.room.max(1);
            let most = card.lines.len().saturating_sub(seen);
            let at = state.selected.request_scroll.min(most);
            state.selected.request_scroll = step(at, most + 1, by, seen);
            if state.selected.request_scroll >= most {
                let request = rows::selected_request(state).map(|(_, r)| r.id.clone());
                state.selected.request_read = request;
            }
        }
    }
}

fn scroll_transcript(state: &mut UiState, by: Scroll) {
    let viewport = viewport(state);
    let app = &mut state.app;
    let agent = app.model.agents.entry(&app.shown);
    agent.transcript.scroll(by, viewport);
}

fn scroll_popup(state: &mut UiState, by: Scroll) {
    match state.popups.last() {
        Some(Popup::Reader(_)) => crate::ui::popups::reader::update::scroll(state, by),
        Some(Popup::Picker(picker)) => {
            let len = picker_rows::picks(state, picker).len();
            if let Some(Popup::Picker(picker)) = state.popups.last_mut() {
                picker.row = step(picker.row, len, by, PAGE);
            }
        }
        Some(Popup::Jobs { .. }) => {
            let len = state.model.jobs.listed().len();
            if let Some(Popup::Jobs { row }) = state.popups.last_mut() {
                *row = step(*row, len, by, PAGE);
            }
        }
        Some(Popup::EventLog(_)) => crate::ui::popups::event_log::update::scroll(state, by),
        Some(Popup::Costs(_)) => costs::update::scroll(state, by),
        Some(Popup::Peek(_)) => peek::update::scroll(state, by),
        Some(Popup::Comment(_) | Popup::Task(_) | Popup::Confirm(_)) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stay_in_the_list() {
        let cases = [
            (0, 5, Scroll::LineUp, 0),
            (4, 5, Scroll::LineDown, 4),
            (0, 5, Scroll::HalfDown, 2),
            (0, 5, Scroll::PageDown, 4),
            (4, 5, Scroll::PageUp, 0),
            (2, 5, Scroll::Bottom, 4),
            (2, 5, Scroll::Top, 0),
            (0, 0, Scroll::Bottom, 0),
        ];
        for (at, len, by, expected) in cases {
            assert_eq!(step(at, len, by, 4), expected, "{at} {len} {by:?}");
        }
    }
}
