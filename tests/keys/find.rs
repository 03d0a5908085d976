//! The search in the conversation, from prompt to prompt, and what is copied.

use crate::desk::{DOWN, Desk, ENTER, ESC};

/// What begins the text `the code of it` on its way into the clipboard.
const CODE: &str = "\x1b]52;c;dGhlIGNvZGUgb2YgaX";

#[test]
fn words_are_found_and_copied() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("1/line 7", "2/11");
    desk.press(DOWN, "3/11");
    desk.press(ENTER, "n next match");
    desk.press("n", "4/11");
    desk.press("N", "3/11");
    desk.clear(ESC, "3/11");
    desk.press("[", "› go");
    desk.press("]", "No prompt below");
    desk.press("G", "That was the needle in it.");
    desk.press("y", "Copied the last answer of lead.");
    desk.writes("\x1b]52;c;");
    desk.press("Y", "╭ Copy");
    desk.press("code\r", "Copied the code.");
    desk.writes(CODE);
    desk.leave();
}
