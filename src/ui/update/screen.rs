//! Layout changes: the next layout, mouse capture and the column border.

use super::Do;
use crate::domain::screen::Arrangement;
use crate::protocol::event::Level;
use crate::ui::keymap::{Action, Context};
use crate::ui::layout::{self, Class, TALL};
use crate::ui::state::{MouseOwner, UiState};

/// Switches to the next layout and saves it.
pub fn next(state: &mut UiState, out: &mut Vec<Do>) {
    let is_low = layout::class(state.size) == Class::Narrow && state.size.height < TALL;
    state.screen.layout = match state.screen.layout.next() {
        // A screen with room for one pane shows this layout like the wall.
        Arrangement::Board if is_low => Arrangement::Focus,
        next => next,
    };
    state.zoom = None;
    // The focused pane stays visible.
    if layout::TABS.contains(&state.focus.pane()) {
        state.tab = state.focus.pane();
    }
    let about = match state.screen.layout {
        Arrangement::Wall if is_low => "wall: one pane and the tabs",
        Arrangement::Focus if is_low => "focus: one pane, no tabs",
        other => other.about(),
    };
    let text = format!("Layout: {about}.");
    state.say(Level::Info, text);
    out.push(Do::SaveScreen(state.screen));
}

/// Captures the mouse, or returns it to the terminal.
pub fn give_mouse(state: &mut UiState, out: &mut Vec<Do>) {
    state.mouse = match state.mouse {
        MouseOwner::Terminal => MouseOwner::Crewdeck,
        MouseOwner::Crewdeck => MouseOwner::Terminal,
    };
    let words = match state.mouse {
        MouseOwner::Crewdeck => {
            let key = state.keymap.key(Context::Panes, Action::Mouse);
            format!("Mouse on: scroll and click. Shift+drag selects text; {key} turns it off.")
        }
        MouseOwner::Terminal => "Mouse off: the terminal selects text by dragging.".into(),
    };
    state.say(Level::Info, words);
    out.push(Do::Mouse(state.mouse));
}

/// Moves the border between the columns to a screen column, within its bounds.
pub fn drag(state: &mut UiState, column: u16) {
    let width = state.size.width.max(1);
    let share = u32::from(column) * 100 / u32::from(width);
    state.screen.set_left(u16::try_from(share).unwrap_or(0));
    state.dirty = true;
}
