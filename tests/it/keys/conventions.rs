//! Keys that users of similar programs reach for, in a real terminal.

use crate::keys::dashboard::{CTRL_C, Dashboard, ENTER, ESC};

const HELP: &str = "╭ Keys";

#[test]
fn question_mark_shows_the_keys_only_in_an_empty_composer() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.wait_for("? help");
    dashboard.press("?", HELP);
    dashboard.clear(ESC, HELP);
    dashboard.press("why?", "│ why?");
    dashboard.press(CTRL_C, "Draft cleared.");
    dashboard.quit();
}

#[test]
fn backslash_before_enter_continues_the_message() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("first\\\rsecond", "│ second");
    dashboard.wait_until_gone("first\\");
    dashboard.press(ENTER, "I see.");
    dashboard.quit();
}

#[test]
fn each_alt_key_has_a_way_without_alt() {
    let mut dashboard = Dashboard::with_busy_crew();
    // Alt+3 as a Mac sends it, if Option types symbols.
    dashboard.press("£", "If Option typed £: Ctrl+x 3 does the same as Alt+3.");
    dashboard.press(CTRL_C, "Draft cleared.");
    dashboard.press("\x183", "graph or list");
    dashboard.press("i\x184", "! nudge");
    dashboard.press("i\x18w", "a approve");
    // Keys that leave the composer in similar programs.
    dashboard.press("i\x1b[D", "! nudge");
    dashboard.press("i\x1b[Z", "crewdeck has no permission modes");
    for keys in ["\x1bm", "\x18m", "i\x1bm", "\x18m"] {
        dashboard.press(keys, "╭ Model");
        dashboard.clear(ESC, "╭ Model");
    }
    dashboard.quit();
}

#[test]
fn unbound_combination_in_the_composer_says_so() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.wait_for("? help");
    dashboard.press("\x13", "Ctrl+s does nothing here; ? shows the keys.");
    dashboard.press("\x1bp", "/model chooses another model.");
    dashboard.press(
        "\x16",
        "Ctrl+v does nothing here: paste with your terminal's key",
    );
    dashboard.quit();
}

#[test]
fn tool_output_opens_and_panes_enlarge_by_one_key() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press("\x0f", "All tool output is open");
    dashboard.press("\x0f", "All tool output is folded");
    dashboard.press(ESC, "i to write");
    dashboard.press("4", "! nudge");
    dashboard.clear("z", "Lead");
    dashboard.press("z", "Lead");
    dashboard.quit();
}

#[test]
fn escape_names_the_key_that_stops_the_agent() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(ESC, "i to write");
    dashboard.wait_for("Ctrl+c stop lead");
    dashboard.quit();
}
