//! Mouse input on scrollbars: scrolls to the dragged position.

use crate::ui::app::App;
use crate::ui::app::popup::{Popup, Text};
use crate::ui::frame::hit::Scrolls;
use crate::ui::keymap::pane::Pane;
use crate::ui::panes::{board, rows};
use crate::ui::popups::reader;
use crate::ui::shell::peek;
use crate::ui::shell::peek::Go;
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::areas;
use crate::ui::widgets::scrollbar::Scrollbar;

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
            let viewport = areas::viewport(state);
            // Entries differ in height, so the end is set explicitly.
            let is_end = row + 1 >= bar.at.bottom();
            let first = if is_end { bar.scrolled.len } else { first };
            let agent = state.shown_agent();
            agent.transcript.jump(first, viewport);
        }
        Pane::Board => {
            let area = areas::board_area(state);
            board::update::jump(state, area, first, at);
        }
        Pane::Todo | Pane::Team | Pane::Inbox => select(state, pane, at),
        Pane::Needs => state.selected.request_scroll = first,
    }
}

/// Selects a row of a pane's list; the newest message is followed.
pub fn select(app: &mut App, pane: Pane, at: usize) {
    match pane {
        Pane::Todo => app.selected.todo = Some(at),
        Pane::Team => {
            let name = rows::team(app).get(at).map(|row| row.name().clone());
            app.selected.member = name.or(app.selected.member.take());
        }
        Pane::Inbox => rows::select_letter(app, at),
        Pane::Needs => {
            if let Some(request) = app.model.requests.at(at) {
                let is_other = app.selected.request.as_ref() != Some(&request.id);
                app.selected.request = Some(request.id.clone());
                if is_other {
                    app.selected.request_scroll = 0;
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
            reader::update::select_near(state, at);
        }
        Some(Popup::Reader(reader)) => {
            reader.scroll = first;
            if matches!(reader.text, Text::Diff(_)) {
                reader::update::scrolled(state);
            }
        }
        Some(Popup::Picker(picker)) => picker.row = at,
        Some(Popup::Jobs { row }) => *row = at,
        Some(Popup::EventLog(_)) => crate::ui::popups::event_log::update::select(state, at),
        Some(Popup::Costs(_)) => crate::ui::popups::costs::update::select(state, at),
        Some(Popup::Peek(_)) => peek::update::read(state, Go::To(first)),
        Some(Popup::Comment(_) | Popup::Task(_) | Popup::Confirm(_)) | None => {}
    }
}
