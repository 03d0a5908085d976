//! The mouse: the wheel scrolls what lies under it, a click gives it the keys.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{board, movement, replay};
use crate::ui::layout;
use crate::ui::pane::{Focus, Pane};
use crate::ui::state::{Page, UiState};
use crate::ui::transcript::Scroll;

/// Lines that one notch of the wheel scrolls.
const NOTCH: usize = 3;

/// Takes what the mouse did in.
pub fn mouse(state: &mut UiState, event: MouseEvent) {
    if state.page != Page::Crew {
        return;
    }
    match event.kind {
        MouseEventKind::ScrollUp => wheel(state, event, Scroll::LineUp),
        MouseEventKind::ScrollDown => wheel(state, event, Scroll::LineDown),
        MouseEventKind::Down(MouseButton::Left) if state.popups.is_empty() => click(state, event),
        _ => {}
    }
}

fn wheel(state: &mut UiState, event: MouseEvent, by: Scroll) {
    state.dirty = true;
    if !state.popups.is_empty() {
        movement::scroll(state, by);
        return;
    }
    let under = layout::layout(state, state.size).at(event.column, event.row);
    if let Some(focus) = under {
        for _ in 0..NOTCH {
            movement::scroll_pane(state, focus.pane(), by);
        }
    }
}

fn click(state: &mut UiState, event: MouseEvent) {
    let line = layout::layout(state, state.size).replay;
    if let Some(line) = line.filter(|r| r.contains((event.column, event.row).into())) {
        replay::seek(state, line, event.column);
        return;
    }
    match layout::layout(state, state.size).at(event.column, event.row) {
        Some(Focus::Composer) => movement::compose(state),
        Some(Focus::Pane(Pane::Board)) => board::click(state, event.column, event.row),
        Some(Focus::Pane(pane)) => movement::focus(state, pane),
        None => return,
    }
    state.dirty = true;
}
