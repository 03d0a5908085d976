//! The preview of the selected item.

use crate::keys::dashboard::{Dashboard, ESC};

#[test]
fn peek_previews_and_opens_the_selection() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("4g", "! nudge");
    dashboard.press(" ", "╭ alice ");
    dashboard.wait_for("Alice rests.");
    dashboard.press("j", "╭ bob ");
    dashboard.clear(" ", "╭ bob ");
    dashboard.press(" ", "╭ bob ");
    dashboard.press("\r", " to bob ");
    dashboard.press(ESC, "! nudge");
    dashboard.press("3g", "graph or list");
    dashboard.press(" ", "╭ Task #1 ");
    dashboard.press("l", "╭ Task #3 ");
    dashboard.clear(ESC, "╭ Task #");
    // The pane has room for the whole request.
    dashboard.press("6 ", "already shows the whole request");
    dashboard.send("a");
    dashboard.wait_until_gone("bob asks you to approve its plan");
    dashboard.quit();
}
