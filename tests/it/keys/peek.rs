//! A look at what is selected, without leaving its pane.

use crate::keys::desk::{Desk, ESC};

#[test]
fn peek_previews_and_opens_the_selection() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("4g", "n nudge");
    desk.press(" ", "╭ alice ");
    desk.sees("Alice rests.");
    desk.press("j", "╭ bob ");
    desk.clear(" ", "╭ bob ");
    desk.press(" ", "╭ bob ");
    desk.press("\r", " to bob ");
    desk.press(ESC, "n nudge");
    desk.press("3g", "graph or list");
    desk.press(" ", "╭ Task #1 ");
    desk.press("l", "╭ Task #3 ");
    desk.clear(ESC, "╭ Task #");
    desk.press("6 ", "╭ Request 1 of 1");
    // What the pane can do is done here too.
    desk.clear("a", "╭ Request");
    desk.loses("bob asks you to approve its plan");
    desk.leave();
}
