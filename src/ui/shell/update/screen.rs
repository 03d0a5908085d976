//! Screen settings: the layout, mouse capture, and the border between the columns.

use crate::domain::screen::PaneLayout;
use crate::ui::app::App;
use crate::ui::app::effect::Effect;
use crate::ui::frame::layout as frame_layout;
use crate::ui::frame::layout::{SizeClass, TALL};
use crate::ui::keymap::pane::Pane;
use crate::ui::keymap::{Action, Context};

/// Switches to the next layout, saves it with an effect, ends full screen, and shows the layout's name.
pub fn next(app: &mut App, out: &mut Vec<Effect>) {
    let is_low = frame_layout::class(app.size) == SizeClass::Narrow && app.size.height < TALL;
    app.arrangement.screen.layout = match app.arrangement.screen.layout.next() {
        // On a low, narrow screen, which shows only one pane, the layout `Board` would look like `Wall`, so it is
        // skipped.
        PaneLayout::Board if is_low => PaneLayout::Focus,
        next => next,
    };
    app.arrangement.zoom = None;
    // Selects the tab of the focused pane, so that the pane stays visible.
    if Pane::TABS.contains(&app.focus.pane()) {
        app.arrangement.tab = app.focus.pane();
    }
    let about = match app.arrangement.screen.layout {
        PaneLayout::Wall if is_low => {
            "wall: one pane with tabs (the terminal is too small for all panes)"
        }
        PaneLayout::Focus if is_low => "focus: one pane, no tabs",
        other => other.about(),
    };
    let text = format!("Layout: {about}.");
    app.say(text);
    out.push(Effect::SaveScreen(app.arrangement.screen));
}

/// Turns mouse capture on or off, and shows a status message on how to select text.
pub fn toggle_mouse(app: &mut App, out: &mut Vec<Effect>) {
    let is_on = !app.prefs.captures_mouse;
    app.prefs.captures_mouse = is_on;
    let words = if is_on {
        let key = app.prefs.keymap.key(Context::Panes, Action::Mouse);
        format!("Mouse on: scroll and click. Shift+drag selects text; {key} turns the mouse off.")
    } else {
        "Mouse off: drag to select text in the terminal.".into()
    };
    app.say(words);
    out.push(Effect::CaptureMouse(is_on));
}

/// Moves the border between the left and the right part of the layout to `column` of the terminal. If a part would
/// become too narrow, moves the border only as far as allowed.
pub fn drag(app: &mut App, column: u16) {
    let width = app.size.width.max(1);
    let share = u32::from(column) * 100 / u32::from(width);
    app.arrangement
        .screen
        .set_left(u16::try_from(share).unwrap_or(0));
    app.dirty = true;
}
