//! Keys that change panes, move within them, and filter lists.

use crate::keys::dashboard::{ALT_W, DOWN, Dashboard, ENTER, ESC, UP, has_line};

/// Each of these hints is shown only while its pane has the focus.
const TODO: &str = "Enter read  ";
const BOARD: &str = "graph or list";
const TEAM: &str = "! nudge";
const NEEDS: &str = "a approve";

#[test]
fn numbers_tab_and_zoom_change_panes() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    // Esc focuses the board.
    dashboard.press("4", TEAM);
    dashboard.press("3", BOARD);
    dashboard.clear("3", "4 Team");
    dashboard.press("3", "4 Team");
    dashboard.press("4", TEAM);
    dashboard.press("\t", "Enter read");
    dashboard.wait_until_gone(TEAM);
    dashboard.press("\x1b[Z", TEAM);
    dashboard.press("h", BOARD);
    dashboard.press("2", TODO);
    dashboard.press("6", NEEDS);
    dashboard.press(ESC, TODO);
    dashboard.press("1", "tool calls");
    dashboard.press("i", "Say what you want done");
    for (keys, words) in [
        ("\x1b3", BOARD),
        ("i\x1b2", TODO),
        ("i\x1b6", NEEDS),
        ("i\x1b4", TEAM),
    ] {
        dashboard.press(keys, words);
    }
    dashboard.press("i\x1b5", "Enter read");
    dashboard.press("\x1bOQ", NEEDS);
    dashboard.press("i", "Say what you want done");
    dashboard.press(ALT_W, NEEDS);
    dashboard.quit();
}

#[test]
fn vim_arrow_and_page_keys_scroll_the_conversation() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("1g", "I begin with a list.");
    dashboard.clear("G", "I begin with a list.");
    dashboard.wait_for("That was the needle in it.");
    dashboard.press("k", "f follows new output");
    dashboard.clear("j", "f follows new output");
    dashboard.press(UP, "f follows new output");
    dashboard.clear(DOWN, "f follows new output");
    dashboard.clear("\x15", "That was the needle in it.");
    dashboard.press("\x04", "That was the needle in it.");
    dashboard.clear("\x1b[5~", "That was the needle in it.");
    dashboard.press("\x1b[6~", "That was the needle in it.");
    dashboard.press("\x1b[H", "I begin with a list.");
    dashboard.press("f", "That was the needle in it.");
    // Select tool calls one by one.
    dashboard.clear("KKKKKKKK", "That was the needle in it.");
    dashboard.press("g", "I begin with a list.");
    dashboard.press("\x1b[F", "That was the needle in it.");
    dashboard.quit();
}

#[test]
fn lists_are_filtered() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("4/", "name, role or task");
    dashboard.press("tester", "Team · 1 of 2");
    dashboard.press(ENTER, "Esc clear filter");
    dashboard.press(ENTER, " to bob ");
    dashboard.press(ESC, "Esc clear filter");
    dashboard.clear(ESC, "Team · 1 of 2");
    dashboard.press("5/", "from:NAME");
    dashboard.press("from:alice which !carol", "Inbox · 1 of ");
    dashboard.press(ENTER, "Esc clear filter");
    dashboard.press(ENTER, "Message from");
    dashboard.clear(ESC, "Message from");
    dashboard.clear(ESC, "Inbox · 1 of ");
    dashboard.press("/from:zoe", "No message matches.");
    dashboard.clear(ESC, "No message matches.");
    dashboard.quit();
}

#[test]
fn list_keys_move_by_rows() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("4", TEAM);
    let at = |name: &'static str| {
        move |t: &str| {
            t.contains(&format!("› {name}").replace("› ", "›")) || has_line(t, &["›", name])
        }
    };
    dashboard.screen.wait("alice is selected", at("alice"));
    dashboard.send("j");
    dashboard.screen.wait("bob is selected", at("bob"));
    dashboard.send("k");
    dashboard.screen.wait("alice is selected", at("alice"));
    dashboard.send("G");
    dashboard.screen.wait("bob is selected", at("bob"));
    dashboard.send("g");
    dashboard.screen.wait("alice is selected", at("alice"));
    // The todo list opens an item.
    dashboard.press("2j", "› ○ Join it");
    dashboard.press("\r", "not started");
    dashboard.clear("q", "not started");
    // The inbox opens a message.
    dashboard.press("5g\r", "Message from");
    dashboard.clear(ESC, "Message from");
    dashboard.quit();
}
