//! The keys of the board.

use crate::keys::dashboard::{Dashboard, ENTER, ESC};

#[test]
fn board_view_zoom_movement_and_filter() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    // Esc focuses the board.
    dashboard.press("4", "! nudge");
    dashboard.press("3", "graph or list");
    dashboard.press("v", "Board · list");
    dashboard.clear("v", "Board · list");
    dashboard.press("-", "Showing one line per task.");
    dashboard.press("-", "Showing symbols and numbers.");
    dashboard.press("+", "Showing one line per task.");
    dashboard.press("+", "Showing whole cards.");
    dashboard.press("G", "› ◌ #4 Delta");
    dashboard.press("g", "› ○ #1 Alpha");
    dashboard.press("l", "› ◌ #3 Gamma");
    dashboard.press("\x1b[C", "› ◌ #4 Delta");
    dashboard.press("h", "blocked by #1");
    dashboard.send("HJKL");
    dashboard.press("g\r", "Task #1");
    dashboard.clear("q", "Task #1");
    dashboard.press("/Bet", "1 of 4");
    dashboard.press(ENTER, "Esc clear filter");
    dashboard.clear(ESC, "1 of 4");
    dashboard.press("/", "owner:NAME");
    dashboard.clear(ESC, "owner:NAME");
    dashboard.press("D", "has no worktree");
    dashboard.press("y", "Copied task");
    dashboard.press("m", "has no worktree");
    dashboard.wait_for_output("\x1b]52;c;");
    dashboard.quit();
}

#[test]
fn task_form_creates_and_edits_a_task() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    // Esc focuses the board.
    dashboard.press("4", "! nudge");
    dashboard.press("3g", "graph or list");
    dashboard.press("t", "╭ New task");
    dashboard.press(ENTER, "a task needs a subject");
    dashboard.press("Epsilon", "› Subject     │ Epsilon");
    dashboard.press("\t", "› Description");
    dashboard.press("one\ntwo", "two");
    dashboard.press("\t", "› Waits for");
    // Ctrl+t adds and removes the selected task; an unknown id is refused.
    dashboard.press("\x14", "Waits for   │ 1");
    dashboard.clear("\x14", "Waits for   │ 1");
    dashboard.press("99\r", "task #99 does not exist");
    dashboard.press("\x15\x14", "Waits for   │ 1");
    // The draft survives closing the form.
    dashboard.clear(ESC, "╭ New task");
    dashboard.wait_for("Draft kept");
    dashboard.press("t", "Epsilon");
    dashboard.clear(ENTER, "╭ New task");
    dashboard.wait_for("#5 added.");
    dashboard.wait_for("#5 Epsilon");
    dashboard.press("e", "╭ Edit #5");
    dashboard.press("\x1b[Z", "› Tags");
    dashboard.press("nobody", "nobody");
    dashboard.clear(ENTER, "╭ Edit #5");
    dashboard.wait_for("#5 updated.");
    dashboard.press("e", "╭ Edit #5");
    dashboard.clear(ENTER, "╭ Edit #5");
    dashboard.wait_for("No changes.");
    let file = std::fs::read_to_string(dashboard.home.path().join(".tasks/task_5.json")).unwrap();
    let task: serde_json::Value = serde_json::from_str(&file).unwrap();
    let expected = serde_json::json!(["Epsilon", "one\ntwo", [1], ["nobody"], ""]);
    let keys = ["subject", "description", "blockedBy", "tags", "owner"];
    let found: Vec<_> = keys.iter().map(|key| task[key].clone()).collect();
    assert_eq!(serde_json::Value::from(found), expected);
    dashboard.press("@", "you created #5");
    dashboard.clear(ESC, "╭ Event log");
    dashboard.quit();
}

#[test]
fn user_claims_releases_and_completes_a_task() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("3gu", "#1 has no owner: nothing to release.");
    dashboard.press("C", "You claimed #1. Work on it in the project directory.");
    dashboard.press("C", "#1 is already yours.");
    dashboard.press("u", "○ #1 Alpha");
    dashboard.press("d", "Complete #1 (Alpha)? The task has no owner.");
    dashboard.clear("n", "The task has no owner.");
    dashboard.press("C", "● #1 Alpha");
    dashboard.press("Y", "#1 has no worktree");
    dashboard.press("d", "1/4 done");
    dashboard.press("d", "#1 is already completed.");
    dashboard.quit();
}
