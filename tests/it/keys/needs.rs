//! What waits for the person: yes, no, a comment, a number.

use crate::keys::composer::editor;
use crate::keys::desk::{ALT_W, COMPOSE, Desk, ENTER, ESC};

#[test]
fn a_plan_is_looked_at_commented_and_rejected() {
    let (_dir, path) = editor("shorter");
    let mut desk = Desk::empty(&[("EDITOR", &path)]);
    desk.keys("go\r");
    desk.sees("bob asks you to approve its plan");
    desk.press(ALT_W, "a approve");
    desk.press("o", " to bob ");
    desk.press(ESC, "n nudge");
    desk.press("w", "a approve");
    desk.press("e", "Enter next: approve or reject");
    desk.press(ENTER, "a approve with comment");
    desk.sees("│ shorter");
    desk.press(ESC, "Enter next: approve or reject");
    desk.clear(ESC, "next: approve or reject");
    desk.press("cmore\nsteps", "│ steps");
    desk.clear("\x15", "│ steps");
    desk.press(ENTER, "r reject with comment");
    desk.clear("r", "bob asks you to approve its plan");
    desk.leave();
}

#[test]
fn a_plan_is_approved_by_one_key() {
    let mut desk = Desk::full();
    desk.press(ALT_W, "a approve");
    desk.clear("a", "bob asks you to approve its plan");
    desk.leave();
}

#[test]
fn a_question_takes_a_number_and_a_permission_a_reach() {
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
