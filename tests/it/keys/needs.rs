//! The keys of the requests that wait for the user: approve, reject, comment, choose.

use std::time::Duration;

use crate::keys::composer::write_editor;
use crate::keys::dashboard::{ALT_W, COMPOSE, Dashboard, ENTER, ESC};

/// Time after which a new request accepts keys. It ignores them at first, so that no key meant for something else
/// decides it.
const SETTLED: Duration = Duration::from_millis(600);

#[test]
fn plan_is_viewed_commented_and_rejected() {
    let (_dir, path) = write_editor("shorter");
    let mut dashboard = Dashboard::with_new_crew(&[("EDITOR", &path)]);
    dashboard.send("go\r");
    dashboard.wait_for("bob asks you to approve its plan");
    dashboard.press(ALT_W, "a approve");
    dashboard.press("o", " to bob ");
    dashboard.press(ESC, "! nudge");
    dashboard.press("w", "a approve");
    dashboard.press("e", "Enter next: approve or reject");
    dashboard.press(ENTER, "a approve with comment");
    dashboard.wait_for("│ › shorter");
    dashboard.press(ESC, "Enter next: approve or reject");
    dashboard.clear(ESC, "next: approve or reject");
    dashboard.press("cmore\nsteps", "│   steps");
    dashboard.clear("\x15", "│   steps");
    dashboard.press(ENTER, "r reject with comment");
    dashboard.clear("r", "bob asks you to approve its plan");
    dashboard.quit();
}

#[test]
fn requests_are_answered_from_the_composer() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    for (columns, rows, number, color) in [(160, 45, "2", "green"), (80, 24, "1", "red")] {
        dashboard.screen.resize(columns, rows);
        dashboard.send("ask\r");
        dashboard.wait_for("╭ answer to lead");
        std::thread::sleep(SETTLED);
        dashboard.press(&format!("{number}\r"), &format!("Then it is {color}."));
        dashboard.send("clean\r");
        dashboard.wait_for("lead asks for permission");
        dashboard.press("not now", "reject with it");
        std::thread::sleep(SETTLED);
        dashboard.press("\x1br", "✗ you rejected the bash call · not now");
        dashboard.wait_for("I see.");
        dashboard.send("clean\r");
        dashboard.wait_for("lead asks for permission");
        std::thread::sleep(SETTLED);
        dashboard.press("\x1ba", "✓ you approved the bash call");
        dashboard.wait_for("│ Say what you want done");
        dashboard.send("clean\r");
        dashboard.wait_for("lead asks for permission");
        std::thread::sleep(SETTLED);
        let rejected = "✗ you rejected the bash call · it stays";
        dashboard.press("/reject it stays\r", rejected);
        dashboard.wait_for("○ idle");
        // The answers at this size must not satisfy the waits at the next.
        dashboard.press("/clear\r", "conversation cleared");
        dashboard.wait_until_gone("you approved");
    }
    dashboard.quit();
}

#[test]
fn plan_is_approved_by_one_key() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ALT_W, "a approve");
    dashboard.clear("a", "bob asks you to approve its plan");
    dashboard.quit();
}

#[test]
fn question_takes_a_choice_and_permission_a_scope() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.send("ask\r");
    dashboard.wait_for("2  green");
    dashboard.press(ALT_W, "r decline");
    dashboard.press("2", "Then it is green.");
    dashboard.send(&format!("{COMPOSE}clean\r"));
    dashboard.wait_for("lead asks for permission");
    dashboard.press(ALT_W, "A for the team");
    dashboard.press("A", "Allow for the whole team");
    dashboard.clear(ESC, "Allow for the whole team");
    dashboard.press("r", "I see.");
    dashboard.quit();
}
