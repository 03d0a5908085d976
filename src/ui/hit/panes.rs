//! What can be pressed in the panes and on their frames.

use ratatui::layout::Rect;

use super::{Hit, Placed, listed};
use crate::ui::board::{self, Shown};
use crate::ui::keymap::Action;
use crate::ui::pane::{Focus, Pane};
use crate::ui::rows::{self, first_row};
use crate::ui::state::UiState;
use crate::ui::{bars, layout, needs_card};

/// Adds the words on a pane's frame: its title does what its number does, and what follows the newest follows it.
pub fn on_the_frame(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<Placed<Hit>>) {
    out.push(Placed {
        at: bars::title_place(state, pane, area),
        what: Hit::Button(Action::Focus(pane)),
    });
    let follow = (pane == Pane::Lead).then(|| bars::follow_mark(state, area));
    if let Some(mark) = follow.flatten() {
        out.push(mark.map(|_| Hit::In(pane, Action::Follow)));
    }
}

/// Adds what lies in a pane, and the pane itself behind it.
pub fn inside(state: &UiState, pane: Pane, area: Rect, out: &mut Vec<Placed<Hit>>) {
    let inside = layout::inside(area);
    let mut put = |at, what| out.push(Placed { at, what });
    let mut list = |len: usize, first: usize| {
        for (at, row) in listed(inside, first, len) {
            put(at, Hit::Row(pane, row));
        }
    };
    match pane {
        Pane::Todo => list(
            rows::todo(state).len(),
            rows::first_todo(state, inside.height),
        ),
        Pane::Team => {
            let len = rows::team(state).len();
            let selected = rows::selected_member(state).map_or(0, |(at, _)| at);
            list(len, first_row(len, selected, inside.height));
        }
        Pane::Inbox => {
            let len = state.letters.len();
            let selected = rows::selected_letter(state).unwrap_or(0);
            list(len, first_row(len, selected, inside.height));
        }
        Pane::Board => {
            let places = board::places(state, inside);
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
            for (at, row) in layout::talk(state, area).rows().zip(0..) {
                put(at, Hit::Talk(row));
            }
        }
        Pane::Needs => card(state, area, out),
    }
    out.push(Placed {
        at: area,
        what: Hit::Pane(pane),
    });
}

/// Adds the list, the choices and the buttons of what waits. Choices and buttons count once the pane has the keys.
fn card(state: &UiState, area: Rect, out: &mut Vec<Placed<Hit>>) {
    let inside = needs_card::inside(area);
    let Some((at, request)) = rows::selected_request(state) else {
        return;
    };
    let places = needs_card::places(state, inside);
    let mut put = |at, what| out.push(Placed { at, what });
    if let Some(last) = places.buttons {
        for button in bars::buttons(state, request, last) {
            if let Some(action) = button.what.action {
                put(button.at, Hit::Button(action));
            }
        }
    }
    let counts =
        state.focus == Focus::Pane(Pane::Needs) && !state.requests.is_answered(&request.id);
    for (row, number) in places.choices.into_iter().filter(|_| counts) {
        put(row, Hit::Button(Action::Choose(number)));
    }
    let len = state.requests.len();
    let first = first_row(len, at, needs_card::listed(state));
    for (row, place) in listed(places.list, first, len) {
        put(row, Hit::Row(Pane::Needs, place));
    }
}
