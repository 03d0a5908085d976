//! The mouse: the wheel scrolls what lies under it, a click does what lies there, a pull moves the border.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::{Do, act, board, movement, replay, screen};
use crate::protocol::event::Level;
use crate::ui::complete::Completion;
use crate::ui::hit::{self, Held, Hit};
use crate::ui::keymap::Action;
use crate::ui::layout;
use crate::ui::pane::{Focus, Pane};
use crate::ui::popup::Popup;
use crate::ui::rows;
use crate::ui::state::{MouseOwner, UiState};
use crate::ui::transcript::Scroll;

/// Lines that one notch of the wheel scrolls.
const NOTCH: usize = 3;

/// Gives the mouse to crewdeck, or back to the terminal.
pub fn turn(state: &mut UiState, out: &mut Vec<Do>) {
    state.mouse = match state.mouse {
        MouseOwner::Terminal => MouseOwner::Crewdeck,
        MouseOwner::Crewdeck => MouseOwner::Terminal,
    };
    let words = match state.mouse {
        MouseOwner::Crewdeck => {
            "The mouse scrolls and clicks. Shift+drag selects text, M gives it back."
        }
        MouseOwner::Terminal => "The mouse is the terminal's again: drag selects text.",
    };
    state.say(Level::Info, words);
    out.push(Do::Mouse(state.mouse));
}

/// Takes what the mouse did in.
pub fn mouse(state: &mut UiState, event: MouseEvent, out: &mut Vec<Do>) {
    let is_pulling = state.pointer.held == Held::Border;
    match event.kind {
        MouseEventKind::ScrollUp => wheel(state, event, Scroll::LineUp),
        MouseEventKind::ScrollDown => wheel(state, event, Scroll::LineDown),
        MouseEventKind::Down(MouseButton::Left) => click(state, event, out),
        MouseEventKind::Drag(MouseButton::Left) if is_pulling => screen::drag(state, event.column),
        MouseEventKind::Up(MouseButton::Left) if is_pulling => {
            state.pointer.held = Held::Nothing;
            out.push(Do::SaveScreen(state.screen));
        }
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => {}
    }
}

fn wheel(state: &mut UiState, event: MouseEvent, by: Scroll) {
    state.dirty = true;
    let times = match state.popups.last() {
        Some(Popup::Reader(_)) | None => NOTCH,
        // A row of a list is a step by itself.
        Some(Popup::Picker(_) | Popup::Jobs { .. } | Popup::Comment(_) | Popup::Confirm(_)) => 1,
    };
    if !state.popups.is_empty() {
        state.pointer.clicked = None;
        for _ in 0..times {
            movement::scroll(state, by);
        }
        return;
    }
    let under = layout::layout(state, state.size).at(event.column, event.row);
    if let Some(focus) = under {
        for _ in 0..times {
            movement::scroll_pane(state, focus.pane(), by);
        }
    }
}

fn click(state: &mut UiState, event: MouseEvent, out: &mut Vec<Do>) {
    let hit = hit::at(state, event.column, event.row);
    let clicked = state.pointer.clicked.take();
    // Half a pair of keys is given up.
    state.prefix = None;
    state.left_composer = false;
    state.quit_armed = None;
    match hit {
        Hit::Nothing | Hit::Popup => return,
        Hit::Replay(line) => return replay::seek(state, line, event.column),
        Hit::Border => state.pointer.held = Held::Border,
        Hit::Tab(pane) | Hit::Pane(pane) => movement::focus(state, pane),
        Hit::Banner => movement::waiting(state),
        Hit::Button(action) => act(state, action, out),
        Hit::Row(pane, at) => row(state, pane, at, out),
        Hit::Task(_) => task(state, event, out),
        Hit::Talk(at) => {
            movement::focus(state, Pane::Lead);
            let viewport = movement::viewport(state);
            let transcript = &mut state.agents.entry(&state.shown).transcript;
            transcript.open_at(at, viewport);
        }
        Hit::Composer => movement::compose(state),
        Hit::Offer(at) => {
            state.completion = Completion::Offered(at);
            act(state, Action::Accept, out);
        }
        Hit::PopupRow(at) if clicked == Some(at) => {
            let action = match state.popups.last() {
                Some(Popup::Jobs { .. }) => Action::Open,
                Some(
                    Popup::Picker(_) | Popup::Reader(_) | Popup::Comment(_) | Popup::Confirm(_),
                )
                | None => Action::Accept,
            };
            act(state, action, out);
        }
        Hit::PopupRow(at) => {
            match state.popups.last_mut() {
                Some(Popup::Picker(picker)) => picker.row = at,
                Some(Popup::Jobs { row }) => *row = at,
                Some(Popup::Reader(_) | Popup::Comment(_) | Popup::Confirm(_)) | None => {}
            }
            state.pointer.clicked = Some(at);
        }
        Hit::BesidePopup => {
            state.popups.pop();
        }
    }
    state.dirty = true;
}

/// A row of a list: it is selected; when it was already and its pane has the keys, it is opened.
fn row(state: &mut UiState, pane: Pane, at: usize, out: &mut Vec<Do>) {
    let had_keys = state.focus == Focus::Pane(pane);
    let selected = match pane {
        Pane::Team => rows::selected_member(state).map(|(at, _)| at),
        Pane::Inbox => rows::selected_letter(state),
        // Opening a request leaves it: that is asked for by its button.
        Pane::Needs | Pane::Lead | Pane::Todo | Pane::Board => None,
    };
    movement::focus(state, pane);
    match pane {
        Pane::Team => {
            let name = rows::team(state).get(at).map(|row| row.name().clone());
            state.selected.member = name.or(state.selected.member.take());
        }
        Pane::Inbox => {
            let is_newest = at + 1 >= state.letters.len();
            let letter = state.letters.at(at).filter(|_| !is_newest);
            state.selected.letter = letter.map(|t| t.number);
        }
        Pane::Needs => {
            if let Some(request) = state.requests.at(at) {
                state.selected.request = Some(request.id.clone());
                state.selected.request_scroll = 0;
            }
        }
        Pane::Lead | Pane::Todo | Pane::Board => {}
    }
    if had_keys && selected == Some(at) {
        act(state, Action::Open, out);
    }
}

/// A task: it is selected; when it was already and the board has the keys, it is opened.
fn task(state: &mut UiState, event: MouseEvent, out: &mut Vec<Do>) {
    let selected = |state: &UiState| crate::ui::board::selected(state).map(|(_, id)| id);
    let had_keys = state.focus == Focus::Pane(Pane::Board);
    let before = selected(state);
    board::click(state, event.column, event.row);
    if had_keys && selected(state) == before {
        act(state, Action::Open, out);
    }
}
