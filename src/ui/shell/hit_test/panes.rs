//! Mouse targets of the panes and their frames.

use ratatui::layout::Rect;

use crate::ui::frame;
use crate::ui::frame::hit::{Hit, Scrolls, listed};
use crate::ui::frame::layout as frame_layout;
use crate::ui::keymap::Action;
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::board::{Shown, places};
use crate::ui::panes::lead::follow;
use crate::ui::panes::needs::{buttons, card};
use crate::ui::panes::{board, rows};
use crate::ui::shell::hit_test::Placed;
use crate::ui::shell::state::UiState;
use crate::ui::theme::Theme;
use crate::ui::widgets::list::first_row;
use crate::ui::widgets::scrollbar::Scrollbar;

/// Adds the targets on a pane's frame: title (focuses the pane), follow mark and scroll bar.
pub fn on_the_frame(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<Placed<Hit>>) {
    out.push(Placed {
        at: frame::title_place(state, pane, area),
        what: Hit::Button(Action::Focus(pane)),
    });
    let follow = (pane == Pane::Lead).then(|| follow::follow_mark(state, area));
    if let Some(mark) = follow.flatten() {
        out.push(mark.map(|_| Hit::In(pane, Action::Follow)));
    }
    out.extend(scrollbar(state, pane, area).map(|bar| Placed {
        at: bar.at,
        what: Hit::Scrollbar(Scrolls::Pane(pane), bar),
    }));
}

/// Returns the scroll bar of a pane.
fn scrollbar(state: &UiState, pane: Pane, area: Rect) -> Option<Scrollbar> {
    let inside = frame_layout::inside(area);
    let list = |(len, first)| Scrollbar::of_list(area, inside, first, len);
    match pane {
        Pane::Todo => list(todo(state, inside)),
        Pane::Team | Pane::Inbox => {
            let (_, inside) = rows::places(state, pane, inside);
            let (len, first) = listed_in(state, pane, inside);
            Scrollbar::of_list(area, inside, first, len)
        }
        Pane::Board => board::scrollbar(state, &places(state, inside), area),
        Pane::Lead => {
            let talk = frame_layout::talk(state, area);
            let transcript = &state.model.agents.get(&state.shown)?.transcript;
            let scrolled = transcript.scrolled(frame_layout::viewport(talk));
            Scrollbar::new(area, talk, scrolled?)
        }
        Pane::Needs => {
            let inside = card::inside(area);
            card::places(state, inside, &Theme::default()).bar(area)
        }
    }
}

/// Returns the number of todo rows and the index of the first one in view.
fn todo(state: &UiState, inside: Rect) -> (usize, usize) {
    (
        rows::todo(state).len(),
        rows::first_todo(state, inside.height),
    )
}

/// Returns the same as [`todo()`] for the team or the inbox.
fn listed_in(state: &UiState, pane: Pane, list: Rect) -> (usize, usize) {
    let (len, selected) = if pane == Pane::Team {
        let selected = rows::selected_member(state).map(|(at, _)| at);
        (rows::team(state).len(), selected)
    } else {
        let selected = rows::selected_letter(state).map(|(at, _)| at);
        (rows::letters(state).len(), selected)
    };
    (len, first_row(len, selected.unwrap_or(0), list.height))
}

/// Adds the targets inside a pane, and the pane itself below them.
pub fn inside(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<Placed<Hit>>) {
    let inside = frame_layout::inside(area);
    let mut found: Vec<Placed<Hit>> = Vec::new();
    let mut list = |(len, first): (usize, usize), inside: Rect| {
        let rows = listed(inside, first, len);
        found.extend(rows.map(|(at, row)| Placed {
            at,
            what: Hit::Row(pane, row),
        }));
    };
    let mut put = |at, what| out.push(Placed { at, what });
    match pane {
        Pane::Todo => list(todo(state, inside), inside),
        Pane::Team | Pane::Inbox => {
            let (filter, inside) = rows::places(state, pane, inside);
            list(listed_in(state, pane, inside), inside);
            if let Some(row) = filter {
                put(row, Hit::In(pane, Action::Filter));
            }
        }
        Pane::Board => {
            let places = places(state, inside);
            if let Some(row) = places.filter {
                put(row, Hit::In(pane, Action::Filter));
            }
            for (at, task) in board::in_view(state, &places) {
                put(at, Hit::Task(task));
            }
            if let Shown::Graph(_) = places.shown {
                put(places.body, Hit::Ground);
            }
        }
        Pane::Lead => {
            for (at, row) in frame_layout::talk(state, area).rows().zip(0..) {
                put(at, Hit::Talk(row));
            }
        }
        Pane::Needs => card(state, area, out),
    }
    out.append(&mut found);
    out.push(Placed {
        at: area,
        what: Hit::Pane(pane),
    });
}

/// Adds the list, the choices and the buttons of Needs you. Choices count only while the pane has the focus.
fn card(state: &UiState, area: Rect, out: &mut Vec<Placed<Hit>>) {
    let inside = card::inside(area);
    let Some((at, request)) = rows::selected_request(state) else {
        return;
    };
    let places = card::places(state, inside, &Theme::default());
    let mut put = |at, what| out.push(Placed { at, what });
    if let Some(last) = places.buttons {
        for button in buttons::buttons(state, request, last) {
            if let Some(action) = button.what.action {
                put(button.at, Hit::Button(action));
            }
        }
    }
    let counts =
        state.focus == Focus::Pane(Pane::Needs) && !state.model.requests.is_answered(&request.id);
    for (row, number) in places.choices.into_iter().filter(|_| counts) {
        put(row, Hit::Button(Action::Choose(number)));
    }
    let len = state.model.requests.len();
    let first = first_row(len, at, card::listed(state));
    for (row, place) in listed(places.list, first, len) {
        put(row, Hit::Row(Pane::Needs, place));
    }
}
