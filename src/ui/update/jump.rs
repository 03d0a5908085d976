//! Mouse input on scrollbars: scrolls to the dragged position.

use super::{board, movement, peek, read};
use crate::ui::hit::Scrolls;
use crate::ui::layout::scrollbar::Scrollbar;
use crate::ui::popup::peek::Go;
use crate::ui::popup::{Popup, Text};
use crate::ui::state::UiState;
use crate::ui::state::pane::Pane;
use crate::ui::state::rows;

/// Scrolls so that the thumb of `bar` is at a screen row. Does not focus the pane.
pub fn jump(state: &mut UiState, of: Scrolls, bar: Scrollbar, row: u16) {
    match of {
        Scrolls::Pane(pane) => pane_to(state, pane, bar, row),
        Scrolls::Popup => popup_to(state, bar, row),
    }
}

fn pane_to(state: &mut UiState, pane: Pane, bar: Scrollbar, row: u16) {
    let (first, at) = (bar.first_at(row), bar.row_at(row));
    match pane {
        Pane::Lead => {
            let viewport = movement::viewport(state);
            // Entries differ in height, so the end is set explicitly.
            let is_end = row + 1 >= bar.at.bottom();
            let first = if is_end { bar.scrolled.len } else { first };
            let agent = state.agents.entry(&state.shown);
            agent.transcript.jump(first, viewport);
        }
        Pane::Board => board::jump(state, first, at),
        Pane::Todo | Pane::Team | Pane::Inbox => select(state, pane, at),
        Pane::Needs => state.selected.request_scroll = first,
    }
}

/// Selects a row of a pane's list; the newest message is followed.
pub fn select(state: &mut UiState, pane: Pane, at: usize) {
    match pane {
        Pane::Todo => state.selected.todo = Some(at),
        Pane::Team => {
            let name = rows::team(state).get(at).map(|row| row.name().clone());
            state.selected.member = name.or(state.selected.member.take());
        }
        Pane::Inbox => rows::select_letter(state, at),
        Pane::Needs => {
            if let Some(request) = state.requests.at(at) {
                let is_other = state.selected.request.as_ref() != Some(&request.id);
                state.selected.request = Some(request.id.clone());
                if is_other {
                    state.selected.request_scroll = 0;
                }
            }
        }
        Pane::Lead | Pane::Board => {}
    }
}

fn popup_to(state: &mut UiState, bar: Scrollbar, row: u16) {
    let (first, at) = (bar.first_at(row), bar.row_at(row));
    match state.popups.last_mut() {
        Some(Popup::Reader(reader)) if matches!(reader.text, Text::Help(_)) => {
            read::select_near(state, at);
        }
        Some(Popup::Reader(reader)) => {
            reader.scroll = first;
            if matches!(reader.text, Text::Diff(_)) {
                read::scrolled(state);
            }
        }
        Some(Popup::Picker(picker)) => picker.row = at,
        Some(Popup::Jobs { row }) => *row = at,
        Some(Popup::EventLog(_)) => super::event_log::select(state, at),
        Some(Popup::Costs(_)) => super::costs::select(state, at),
        Some(Popup::Peek(_)) => peek::read(state, Go::To(first)),
        Some(Popup::Comment(_) | Popup::Task(_) | Popup::Confirm(_)) | None => {}
    }
}
