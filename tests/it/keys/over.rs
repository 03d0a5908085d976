//! What lies over the panes: help, palette, themes, jobs, what crewdeck had to say; and the layouts.

use crate::keys::desk::{CTRL_C, Desk, ENTER, ESC, UP};

#[test]
fn the_help_is_searched_and_the_palette_acts() {
    let mut desk = Desk::full();
    desk.press("\x1bOP", "╭ Keys");
    desk.clear("q", "╭ Keys");
    desk.press(ESC, "? help");
    desk.press("?", "╭ Keys");
    desk.press("/next lay", "› next lay");
    desk.sees("next layout: wall, board, focus");
    desk.press(ENTER, "Enter run");
    desk.clear(ENTER, "╭ Keys");
    desk.sees("Layout board");
    desk.press("4Z", "Z does nothing here");
    desk.press("\x10", "╭ Actions");
    desk.press("jbs", "show the background jobs");
    desk.press(ENTER, "╭ Background jobs");
    desk.clear(CTRL_C, "╭ Background jobs");
    desk.press(":", "╭ Actions");
    desk.press("\x0e\x1b[B\x1b[6~", "13 of ");
    desk.clear(&format!("{UP}{ESC}"), "╭ Actions");
    desk.leave();
}

#[test]
fn each_list_and_text_has_its_key() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    // On the board `m` merges.
    desk.press("1", "tool calls");
    let popups = [
        ("@", "╭ Event log"),
        ("p", "╭ Problems"),
        ("S", "╭ Skills"),
        ("b", "╭ Background jobs"),
        ("m", "╭ Model"),
        ("R", "Allowed until crewdeck ends"),
        ("T", "╭ Theme"),
    ];
    for (key, title) in popups {
        desk.press(key, title);
        desk.clear(ESC, title);
    }
    desk.press("p", "╭ Problems");
    desk.press("/no such words", "/no such words no match");
    desk.press(ENTER, "end search");
    desk.press(ESC, "Esc close");
    desk.clear(ENTER, "╭ Problems");
    desk.press("b", "1 running");
    desk.press("x", "killed by");
    desk.clear("q", "╭ Background jobs");
    desk.press("T\x1b[B\r", "The theme is");
    desk.leave();
}

#[test]
fn a_layout_is_there_again_the_next_time() {
    let mut desk = Desk::empty(&[]);
    desk.press(ESC, "? help");
    desk.press("=", "Layout board");
    desk.press("=", "Layout focus");
    desk.sees("▸3 Board");
    let mut desk = desk.again();
    desk.sees("▸1 Lead");
    desk.press(ESC, "? help");
    desk.press("=", "Layout wall");
    desk.loses("▸1 Lead");
    desk.leave();
}

#[test]
fn the_event_log_is_filtered_and_leads_on() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("@", "╭ Event log");
    desk.clear("/kind:task alpha", "alice → bob");
    desk.press("\r", "Esc clear filter");
    desk.press("y", "Copied");
    desk.press("\r", "╭ Task #1");
    desk.clear(ESC, "╭ Task #1");
    desk.leave();
}
