//! Mouse input: wheel, clicks and drags.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::ui::app::effect::Effect;
use crate::ui::app::popup::{Next, Popup};
use crate::ui::frame::hit::{Drag, Hit, ScrollTarget};
use crate::ui::frame::navigation;
use crate::ui::keymap::Action;
use crate::ui::keymap::direction::{PanDirection, Scroll};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::panes::feature::NOTCH;
use crate::ui::shell::layout::areas;
use crate::ui::shell::peek::{Peek, ScrollTo};
use crate::ui::shell::state::UiState;
use crate::ui::shell::update::act::{act, follow};
use crate::ui::shell::update::{compose, cursor, jump, movement, replay, screen};
use crate::ui::shell::{hit_test, layout, peek};

pub fn mouse(state: &mut UiState, event: MouseEvent, out: &mut Vec<Effect>) {
    match event.kind {
        MouseEventKind::ScrollUp => wheel(state, event, PanDirection::Up),
        MouseEventKind::ScrollDown => wheel(state, event, PanDirection::Down),
        MouseEventKind::ScrollLeft => wheel(state, event, PanDirection::Left),
        MouseEventKind::ScrollRight => wheel(state, event, PanDirection::Right),
        MouseEventKind::Down(MouseButton::Left) => {
            // The button of the previous drag may have been released outside the window, without an event.
            end_drag(state, out);
            click(state, event, out);
        }
        MouseEventKind::Drag(MouseButton::Left) => drag(state, event, out),
        // A move without a pressed button means that the event of the release was missed.
        MouseEventKind::Up(MouseButton::Left) | MouseEventKind::Moved => end_drag(state, out),
        MouseEventKind::Down(_) | MouseEventKind::Up(_) | MouseEventKind::Drag(_) => {}
    }
}

fn end_drag(state: &mut UiState, out: &mut Vec<Effect>) {
    match std::mem::take(&mut state.pointer.drag) {
        Drag::Border => out.push(Effect::SaveScreen(state.arrangement.screen)),
        Drag::Nothing | Drag::Ground(..) | Drag::Replay(_) | Drag::Scrollbar(..) => {}
    }
}

fn drag(state: &mut UiState, event: MouseEvent, out: &mut Vec<Effect>) {
    let is_covered = match state.pointer.drag {
        Drag::Scrollbar(ScrollTarget::Popup, _) => state.popups.is_empty(),
        _ => !state.is_in_panes(),
    };
    if is_covered {
        // The dragged element is no longer on top, because a popup was opened or closed.
        return end_drag(state, out);
    }
    let here = Position::new(event.column, event.row);
    match state.pointer.drag {
        Drag::Nothing => return,
        Drag::Border => screen::drag(state, event.column),
        Drag::Ground(pane, before) => {
            let by = |from: u16, to: u16| {
                isize::from(from.cast_signed()) - isize::from(to.cast_signed())
            };
            let area = areas::frame_of(state, pane);
            // The content follows the mouse, so the visible part moves in the opposite direction.
            let by = (by(before.x, here.x), by(before.y, here.y));
            state.panes.get_mut(pane).drag(&state.app, area, by);
            state.pointer.drag = Drag::Ground(pane, here);
        }
        Drag::Replay(line) => replay::seek(state, line, event.column),
        Drag::Scrollbar(of, bar) => jump::jump(state, of, bar, event.row),
    }
    state.pointer.clicked = None;
    state.dirty = true;
}

/// Returns the scroll direction of the mouse wheel. With Shift, up becomes left and down becomes right.
fn wheel_direction(event: MouseEvent, toward: PanDirection) -> PanDirection {
    if !event.modifiers.contains(KeyModifiers::SHIFT) {
        return toward;
    }
    match toward {
        PanDirection::Up | PanDirection::Left => PanDirection::Left,
        PanDirection::Down | PanDirection::Right => PanDirection::Right,
    }
}

fn wheel(state: &mut UiState, event: MouseEvent, toward: PanDirection) {
    state.dirty = true;
    state.pointer.clicked = None;
    let toward = wheel_direction(event, toward);
    let lines = match toward {
        PanDirection::Up => Some(Scroll::LineUp),
        PanDirection::Down => Some(Scroll::LineDown),
        PanDirection::Left | PanDirection::Right => None,
    };
    if state.popups.top::<Peek>().is_some()
        && !peek::update::is_in_list(state, Position::new(event.column, event.row))
    {
        for by in std::iter::repeat_n(lines, NOTCH).flatten() {
            peek::update::read(state, ScrollTo::By(by));
        }
        return;
    }
    if let Some(popup) = state.popups.last() {
        // In a list, one step of the wheel moves the selection by one row.
        let times = if popup.is_text() { NOTCH } else { 1 };
        for by in std::iter::repeat_n(lines, times).flatten() {
            movement::scroll(state, by);
        }
        return;
    }
    let under = layout::layout(state, state.size).at(event.column, event.row);
    let Some(pane) = under.map(Focus::pane) else {
        return;
    };
    let zooms = event.modifiers.contains(KeyModifiers::CONTROL);
    let area = areas::frame_of(state, pane);
    let feature = state.panes.get_mut(pane);
    feature.wheel(&mut state.app, area, toward, zooms);
}

fn click(state: &mut UiState, event: MouseEvent, out: &mut Vec<Effect>) {
    let here = Position::new(event.column, event.row);
    let hit = hit_test::at(state, here.x, here.y);
    // True if the previous click hit the same target and no key was pressed in between.
    let is_second = state.pointer.clicked.take().as_ref() == Some(&hit);
    // A click ends an unfinished key sequence and the key guard, because the user has chosen the focus.
    state.keys.prefix = None;
    state.keys.guard.moved_at = None;
    state.keys.left_composer = false;
    compose::disarm(state);
    match hit.clone() {
        Hit::Nothing | Hit::Popup => return,
        Hit::Replay(line) => {
            state.pointer.drag = Drag::Replay(line);
            replay::seek(state, line, event.column);
        }
        Hit::Border => state.pointer.drag = Drag::Border,
        Hit::Scrollbar(of, bar) => {
            state.pointer.drag = Drag::Scrollbar(of, bar);
            jump::jump(state, of, bar, event.row);
        }
        Hit::Ground(pane) => {
            state.pointer.drag = Drag::Ground(pane, here);
            navigation::focus(state, pane);
        }
        Hit::Tab(pane) | Hit::Pane(pane) => navigation::focus(state, pane),
        Hit::Button(action) => {
            act(state, action, out);
        }
        Hit::In(pane, action) => {
            navigation::focus(state, pane);
            act(state, action, out);
        }
        Hit::Row(pane, at) => row(state, pane, at, is_second, out),
        Hit::ConversationRow(at) => {
            navigation::focus(state, Pane::Lead);
            let viewport = areas::viewport(state);
            let transcript = &mut state.shown_agent().transcript;
            transcript.toggle_at(at, viewport);
        }
        Hit::Composer => cursor::in_composer(state, here),
        Hit::CompletionRow(at) => {
            let pane = state.focus.pane();
            state.panes.get_mut(pane).select(&state.app, at);
            act(state, Action::Accept, out);
        }
        Hit::PopupRow(_) if is_second => {
            let action = state
                .popups
                .last()
                .map_or(Action::Accept, Popup::click_again);
            act(state, action, out);
            return;
        }
        Hit::PopupRow(at) => {
            let _ = state.with_popup(|popup, app| {
                popup.select(app, at);
                Next::Stay
            });
        }
        Hit::PopupPart(part) => {
            let next = state.with_popup(|popup, app| popup.press(app, part, here));
            follow(state, next, out);
        }
        Hit::BesidePopup => state.popups.pop(),
    }
    state.pointer.clicked = Some(hit);
    state.dirty = true;
}

/// Handles a click on the row with the index `at` of the list in `pane`: focuses the pane and selects the row. Opens the
/// row if the pane already had the focus and `PaneFeature::opens` allows it. `is_second` is true if the previous click
/// was on the same row.
fn row(state: &mut UiState, pane: Pane, at: usize, is_second: bool, out: &mut Vec<Effect>) {
    let had_keys = state.focus == Focus::Pane(pane);
    let opens = state.panes.get(pane).opens(state, at, is_second);
    navigation::focus(state, pane);
    state.panes.get_mut(pane).select(&state.app, at);
    if had_keys && opens {
        act(state, Action::Open, out);
    }
}
