//! Tests of showing and hiding the todo list.

use pretty_assertions::assert_eq;

use crate::domain::screen::TodoPane;
use crate::ui::fixture::{busy, press};
use crate::ui::keymap::pane::{Focus, Pane};
use crate::ui::shell::layout::layout;
use crate::ui::{Effect, UiState};

/// Presses `keys`. Returns whether the todo list is then visible, the focus, and the setting that was saved, if any.
fn after(state: &mut UiState, keys: &str) -> (bool, Focus, Option<TodoPane>) {
    let done = press(state, keys);
    let kept = done.iter().find_map(|d| {
        if let Effect::SaveScreen(choice) = d {
            Some(choice.todo)
        } else {
            None
        }
    });
    let layout = layout(state, state.size);
    (layout.pane(Pane::Todo).is_some(), state.focus, kept)
}

#[test]
fn todo_list_toggles_from_anywhere() {
    let (todo, board) = (Focus::Pane(Pane::Todo), Focus::Pane(Pane::Board));
    let hidden = Some(TodoPane::Hidden);
    let shown = Some(TodoPane::Shown);
    let mut wide = busy(160, 45);
    for (keys, expected) in [
        ("ctrl+t", (false, Focus::Composer, hidden)),
        ("ctrl+t", (true, Focus::Composer, shown)),
        ("esc 3 ctrl+t", (false, board, hidden)),
        // With the key that focuses its pane, the hidden list is visible as long as it has the focus.
        ("2", (true, todo, None)),
        ("ctrl+t", (false, Focus::Pane(Pane::Lead), hidden)),
        ("3 ctrl+t", (true, board, shown)),
        // While the board fills the screen, the list is shown in its place.
        ("3 ctrl+t", (true, todo, None)),
        ("ctrl+t", (false, board, None)),
    ] {
        assert_eq!(after(&mut wide, keys), expected, "{keys}");
    }
    let mut narrow = busy(70, 20);
    for (keys, expected) in [
        ("ctrl+t", (true, todo, None)),
        ("ctrl+t", (false, Focus::Composer, None)),
        ("esc 3 ctrl+t", (true, todo, None)),
        ("ctrl+t", (false, board, None)),
        ("2 ctrl+t", (false, Focus::Pane(Pane::Lead), None)),
    ] {
        assert_eq!(after(&mut narrow, keys), expected, "{keys}");
    }
    let mut middle = busy(100, 30);
    for (keys, expected) in [
        ("ctrl+t", (true, Focus::Composer, None)),
        ("ctrl+t", (false, Focus::Composer, None)),
        ("esc 3 ctrl+t", (true, todo, None)),
        ("ctrl+t", (false, board, None)),
    ] {
        assert_eq!(after(&mut middle, keys), expected, "{keys}");
    }
}
