//! Search and copy in the conversation, and moving between prompts.

use crate::keys::dashboard::{DOWN, Dashboard, ENTER, ESC};

/// Start of the escape sequence (OSC 52) that copies `the code of it` to the clipboard.
const CODE: &str = "\x1b]52;c;dGhlIGNvZGUgb2YgaX";

#[test]
fn conversation_search_and_copy() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("1/line 7", "2/11");
    dashboard.press(DOWN, "3/11");
    dashboard.press(ENTER, "n next match");
    dashboard.press("n", "4/11");
    dashboard.press("N", "3/11");
    dashboard.clear(ESC, "3/11");
    dashboard.press("[", "› go");
    dashboard.press("]", "No prompt below");
    dashboard.press("G", "That was the needle in it.");
    dashboard.press("y", "Copied the last answer of lead.");
    dashboard.wait_for_output("\x1b]52;c;");
    dashboard.press("Y", "╭ Copy");
    dashboard.press("code\r", "Copied the code.");
    dashboard.wait_for_output(CODE);
    dashboard.quit();
}
