//! What waits for the person: yes, no, a comment, a number.

use crate::keys::composer::editor;
use crate::keys::dashboard::{ALT_W, COMPOSE, Dashboard, ENTER, ESC};

#[test]
fn plan_is_viewed_commented_and_rejected() {
    let (_dir, path) = editor("shorter");
    let mut dashboard = Dashboard::empty(&[("EDITOR", &path)]);
    dashboard.keys("go\r");
    dashboard.sees("bob asks you to approve its plan");
    dashboard.press(ALT_W, "a approve");
    dashboard.press("o", " to bob ");
    dashboard.press(ESC, "n nudge");
    dashboard.press("w", "a approve");
    dashboard.press("e", "Enter go on to yes or no");
    dashboard.press(ENTER, "a approve with it");
    dashboard.sees("│ shorter");
    dashboard.press(ESC, "Enter go on to yes or no");
    dashboard.clear(ESC, "go on to yes or no");
    dashboard.press("cmore\nsteps", "│ steps");
    dashboard.clear("\x15", "│ steps");
    dashboard.press(ENTER, "r reject with it");
    dashboard.clear("r", "bob asks you to approve its plan");
    dashboard.leave();
}

#[test]
fn plan_is_approved_by_one_key() {
    let mut dashboard = Dashboard::full();
    dashboard.press(ALT_W, "a approve");
    dashboard.clear("a", "bob asks you to approve its plan");
    dashboard.leave();
}

#[test]
fn question_takes_a_choice_and_permission_a_scope() {
    let mut dashboard = Dashboard::empty(&[]);
    dashboard.keys("ask\r");
    dashboard.sees("2  green");
    dashboard.press(ALT_W, "1-3 choose");
    dashboard.press("2", "Then it is green.");
    dashboard.keys(&format!("{COMPOSE}clean\r"));
    dashboard.sees("lead asks for permission");
    dashboard.press(ALT_W, "A for the team");
    dashboard.press("A", "Allow for the whole team");
    dashboard.clear(ESC, "Allow for the whole team");
    dashboard.press("r", "I see.");
    dashboard.leave();
}
