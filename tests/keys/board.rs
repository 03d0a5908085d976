//! The keys of the board.

use crate::desk::{Desk, ENTER, ESC};

#[test]
fn the_board_is_turned_zoomed_moved_and_filtered() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    // The board has the keys after Esc.
    desk.press("4", "n nudge");
    desk.press("3", "graph or list");
    desk.press("v", "Board · list");
    desk.clear("v", "Board · list");
    desk.press("-", "One line a task is drawn.");
    desk.press("-", "Shapes and numbers are drawn.");
    desk.press("+", "One line a task is drawn.");
    desk.press("+", "Whole cards are drawn.");
    desk.press("G", "›◌ #4 Delta");
    desk.press("g", "›○ #1 Alpha");
    desk.press("l", "›◌ #3 Gamma");
    desk.press("\x1b[C", "›◌ #4 Delta");
    desk.press("h", "blocked by #1");
    desk.keys("HJKL");
    desk.press("g\r", "Task #1");
    desk.clear("q", "Task #1");
    desk.press("/Bet", "1 of 4");
    desk.press(ENTER, "Esc clear filter");
    desk.clear(ESC, "1 of 4");
    desk.press("/", "owner:NAME");
    desk.clear(ESC, "owner:NAME");
    desk.press("D", "has no worktree");
    desk.press("y", "Copied task");
    desk.press("m", "has no worktree");
    desk.writes("\x1b]52;c;");
    desk.leave();
}

#[test]
fn a_task_is_written_and_changed_in_a_form() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    // The board has the keys after Esc.
    desk.press("4", "n nudge");
    desk.press("3g", "graph or list");
    desk.press("a", "╭ New task");
    desk.press(ENTER, "a task needs a subject");
    desk.press("Epsilon", "› Subject     Epsilon");
    desk.press("\t", "› Description");
    desk.press("one\ntwo", "two");
    desk.press("\t", "› Waits for");
    // The selected one, once in and once out, and one that is not there.
    desk.press("\x14", "Waits for   1");
    desk.clear("\x14", "Waits for   1");
    desk.press("99\r", "task #99 does not exist");
    desk.press("\x15\x14", "Waits for   1");
    // Closed and opened again the draft is there.
    desk.clear(ESC, "╭ New task");
    desk.sees("Draft kept");
    desk.press("a", "Epsilon");
    desk.clear(ENTER, "╭ New task");
    desk.sees("#5 added.");
    desk.sees("#5 Epsilon");
    desk.press("e", "╭ Edit #5");
    desk.press("\x1b[Z", "› Tags");
    desk.press("nobody", "nobody");
    desk.clear(ENTER, "╭ Edit #5");
    desk.sees("#5 updated.");
    desk.press("e", "╭ Edit #5");
    desk.clear(ENTER, "╭ Edit #5");
    desk.sees("No changes.");
    let file = std::fs::read_to_string(desk.home.path().join(".tasks/task_5.json")).unwrap();
    let task: serde_json::Value = serde_json::from_str(&file).unwrap();
    let expected = serde_json::json!(["Epsilon", "one\ntwo", [1], ["nobody"], ""]);
    let keys = ["subject", "description", "blockedBy", "tags", "owner"];
    let found: Vec<_> = keys.iter().map(|key| task[key].clone()).collect();
    assert_eq!(serde_json::Value::from(found), expected);
    desk.press("@", "you wrote #5");
    desk.clear(ESC, "╭ Event log");
    desk.leave();
}

#[test]
fn a_task_is_claimed_released_and_completed() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("3gu", "#1 is nobody's: it is on the board already.");
    desk.press("c", "#1 is yours: you work on it in the directory itself.");
    desk.press("c", "#1 is yours already.");
    desk.press("u", "○ #1 Alpha");
    desk.press("d", "Complete #1 (Alpha), which has no owner?");
    desk.clear("n", "which has no owner?");
    desk.press("c", "● #1 Alpha");
    desk.press("Y", "#1 has no worktree");
    desk.press("d", "1/4 done");
    desk.press("d", "#1 is completed already.");
    desk.leave();
}
