//! What waits for the person: yes, no, a comment, a number.

use crate::keys::composer::editor;
use crate::keys::desk::{ALT_W, COMPOSE, Desk, ENTER, ESC};

#[test]
fn plan_is_viewed_commented_and_rejected() {
    let (_dir, path) = editor("shorter");
    let mut desk = Desk::empty(&[("EDITOR", &path)]);
    desk.keys("go\r");
    desk.sees("bob asks you to approve its plan");
    desk.press(ALT_W, "a approve");
    desk.press("o", " to bob ");
    desk.press(ESC, "n nudge");
    desk.press("w", "a approve");
    desk.press("e", "Enter go on to yes or no");
    desk.press(ENTER, "a approve with it");
    desk.sees("│ shorter");
    desk.press(ESC, "Enter go on to yes or no");
    desk.clear(ESC, "go on to yes or no");
    desk.press("cmore\nsteps", "│ steps");
    desk.clear("\x15", "│ steps");
    desk.press(ENTER, "r reject with it");
    desk.clear("r", "bob asks you to approve its plan");
    desk.leave();
}

#[test]
fn plan_is_approved_by_one_key() {
    let mut desk = Desk::full();
    desk.press(ALT_W, "a approve");
    desk.clear("a", "bob asks you to approve its plan");
    desk.leave();
}

#[test]
fn question_takes_a_choice_and_permission_a_scope() {
    let mut desk = Desk::empty(&[]);
    desk.keys("ask\r");
    desk.sees("2  green");
    desk.press(ALT_W, "1-3 choose");
    desk.press("2", "Then it is green.");
    desk.keys(&format!("{COMPOSE}clean\r"));
    desk.sees("lead asks for permission");
    desk.press(ALT_W, "A for the team");
    desk.press("A", "Allow for the whole team");
    desk.clear(ESC, "Allow for the whole team");
    desk.press("r", "I see.");
    desk.leave();
}
