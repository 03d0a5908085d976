//! From pane to pane, up and down in each, and the way back.

use crate::desk::{ALT_W, DOWN, Desk, ENTER, ESC, UP, has_line};

/// What the hints say only while a pane has the keys.
const TODO: &str = "Enter read  ";
const BOARD: &str = "graph or list";
const TEAM: &str = "n nudge";
const NEEDS: &str = "a approve";

#[test]
fn numbers_tab_and_zoom() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    // The board has the keys after Esc.
    desk.press("4", TEAM);
    desk.press("3", BOARD);
    desk.clear("3", "4 Team");
    desk.press("3", "4 Team");
    desk.press("4", TEAM);
    desk.press("\t", "Enter read");
    desk.loses(TEAM);
    desk.press("\x1b[Z", TEAM);
    desk.press("h", BOARD);
    desk.press("2", TODO);
    desk.press("6", NEEDS);
    desk.press(ESC, TODO);
    desk.press("1", "tool calls");
    desk.press("i", "Say what you want done");
    for (keys, words) in [
        ("\x1b3", BOARD),
        ("i\x1b2", TODO),
        ("i\x1b6", NEEDS),
        ("i\x1b4", TEAM),
    ] {
        desk.press(keys, words);
    }
    desk.press("i\x1b5", "Enter read");
    desk.press("\x1bOQ", NEEDS);
    desk.press("i", "Say what you want done");
    desk.press(ALT_W, NEEDS);
    desk.leave();
}

#[test]
fn vim_keys_arrows_and_pages_move_the_conversation() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("1g", "I begin with a list.");
    desk.clear("G", "I begin with a list.");
    desk.sees("That was the needle in it.");
    desk.press("k", "f follows the newest");
    desk.clear("j", "f follows the newest");
    desk.press(UP, "f follows the newest");
    desk.clear(DOWN, "f follows the newest");
    desk.clear("\x15", "That was the needle in it.");
    desk.press("\x04", "That was the needle in it.");
    desk.clear("\x1b[5~", "That was the needle in it.");
    desk.press("\x1b[6~", "That was the needle in it.");
    desk.press("\x1b[H", "I begin with a list.");
    desk.press("f", "That was the needle in it.");
    // The tool calls are selected one by one, opened and folded.
    desk.clear("KKKKKKKK", "That was the needle in it.");
    desk.press("g", "I begin with a list.");
    desk.press("\x1b[F", "That was the needle in it.");
    desk.leave();
}

#[test]
fn lists_are_filtered() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("4/", "name, role or task");
    desk.press("tester", "Team · 1 of 2");
    desk.press(ENTER, "Esc clear filter");
    desk.press(ENTER, " to bob ");
    desk.press(ESC, "Esc clear filter");
    desk.clear(ESC, "Team · 1 of 2");
    desk.press("5/", "from:NAME");
    desk.press("from:alice which !carol", "Inbox · 1 of ");
    desk.press(ENTER, "Esc clear filter");
    desk.press(ENTER, "Message from");
    desk.clear(ESC, "Message from");
    desk.clear(ESC, "Inbox · 1 of ");
    desk.press("/from:zoe", "No message matches.");
    desk.clear(ESC, "No message matches.");
    desk.leave();
}

#[test]
fn lists_move_by_rows() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("4", TEAM);
    let at = |name: &'static str| {
        move |t: &str| {
            t.contains(&format!("› {name}").replace("› ", "›")) || has_line(t, &["›", name])
        }
    };
    desk.screen.wait("alice is selected", at("alice"));
    desk.keys("j");
    desk.screen.wait("bob is selected", at("bob"));
    desk.keys("k");
    desk.screen.wait("alice is selected", at("alice"));
    desk.keys("G");
    desk.screen.wait("bob is selected", at("bob"));
    desk.keys("g");
    desk.screen.wait("alice is selected", at("alice"));
    // The todo list: an item whole.
    desk.press("2j", "›○ Join it");
    desk.press("\r", "not started");
    desk.clear("q", "not started");
    // The letters: one of them, its thread, and back to the newest.
    desk.press("5g\r", "Message from");
    desk.clear(ESC, "Message from");
    desk.leave();
}
