//! Showing and hiding the todo list from any pane.

use crate::domain::screen::{PaneLayout, TodoPane};
use crate::protocol::event::NoticeLevel;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::frame::layout::SizeClass;
use crate::ui::frame::{layout as frame_layout, navigation};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::keymap::{Action, Context};
use crate::ui::shell::layout;
use crate::ui::shell::state::UiState;

/// Shows or hides the todo list next to the conversation, and saves the choice. Where the list fills the screen or a
/// tab, moves the focus instead.
pub fn turn(state: &mut UiState, out: &mut Vec<Effect>) {
    if !state.popups.is_empty() {
        return;
    }
    if is_elsewhere(state) {
        return go(state);
    }
    let is_here = layout::layout(state, state.size).pane(Pane::Todo).is_some();
    let has_keys = state.focus == Focus::Pane(Pane::Todo);
    if !is_here && state.arrangement.screen.shows_todo() && !state.shown_todo().is_empty() {
        // The pane is hidden for lack of rows; it is visible while it has focus.
        return navigation::focus(state, Pane::Todo);
    }
    state.arrangement.screen.todo = if is_here {
        TodoPane::Hidden
    } else {
        TodoPane::Shown
    };
    if has_keys {
        navigation::focus(state, Pane::Lead);
    }
    let key = state.prefs.keymap.key(Context::Everywhere, Action::Todo);
    let words = if !state.arrangement.screen.shows_todo() {
        format!("Todo list hidden. {key} shows it.")
    } else if state.shown_todo().is_empty() {
        "The todo list appears as soon as there is one.".into()
    } else {
        format!("Todo list shown. {key} hides it.")
    };
    state.say(NoticeLevel::Info, words);
    out.push(Effect::SaveScreen(state.arrangement.screen));
}

/// Returns whether the todo list fills the screen or a tab when it is shown.
fn is_elsewhere(app: &App) -> bool {
    let is_tab = frame_layout::class(app.size) == SizeClass::Middle
        && app.arrangement.screen.layout == PaneLayout::Wall;
    frame_layout::shows_one(app) || app.arrangement.zoom.is_some() || is_tab
}

/// Switches to the todo pane, or back to the previous focus.
fn go(state: &mut UiState) {
    let is_shown = layout::layout(state, state.size).pane(Pane::Todo).is_some();
    if !is_shown {
        state.keys.before_todo = Some((state.focus, state.arrangement.zoom, state.arrangement.tab));
        let has_tab = matches!(state.focus, Focus::Pane(p) if Pane::TABS.contains(&p));
        if frame_layout::shows_one(state) || state.arrangement.zoom.is_some() || has_tab {
            let zoom = state.arrangement.zoom.map(|_| Pane::Todo);
            navigation::focus(state, Pane::Todo);
            state.arrangement.zoom = zoom;
        } else {
            // The composer keeps the focus.
            state.arrangement.tab = Pane::Todo;
        }
        return;
    }
    let before = state.keys.before_todo.take();
    let (focus, zoom, tab) = before.unwrap_or((Focus::Pane(Pane::Lead), None, Pane::Board));
    let is_todo = |focus: Focus| focus == Focus::Pane(Pane::Todo);
    if is_todo(state.focus) {
        state.focus = if is_todo(focus) {
            Focus::Pane(Pane::Lead)
        } else {
            focus
        };
        state.arrangement.zoom = zoom.filter(|pane| *pane != Pane::Todo);
    }
    state.arrangement.tab = if tab == Pane::Todo { Pane::Board } else { tab };
}
