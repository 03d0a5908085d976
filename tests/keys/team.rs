//! The keys of the team: a look, a word, the end.

use crate::desk::{Desk, ESC, has_line};

#[test]
fn a_teammate_is_looked_at_asked_and_ended() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("4g", "n nudge");
    desk.press("\r", " to alice ");
    desk.press(ESC, "n nudge");
    desk.press("n", "Asked alice for its status.");
    desk.keys("x");
    desk.screen
        .wait("alice is gone", |t| has_line(t, &["alice", "gone"]));
    desk.press("gX", "End bob now");
    desk.clear("n", "End bob now");
    desk.press("X", "End bob now");
    desk.keys("y");
    desk.screen
        .wait("bob is gone", |t| has_line(t, &["bob", "gone"]));
    desk.leave();
}
