//! The keys of the board.

use crate::desk::{Desk, ENTER, ESC};

#[test]
fn the_board_is_turned_zoomed_moved_and_filtered() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("3", "graph or list");
    desk.press("v", "Board · list");
    desk.clear("v", "Board · list");
    desk.press("-", "One line a task is drawn.");
    desk.press("-", "Shapes and numbers are drawn.");
    desk.press("+", "One line a task is drawn.");
    desk.press("+", "Whole cards are drawn.");
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
    desk.press("m", "has no worktree");
    desk.press("y", "Copied task");
    desk.writes("\x1b]52;c;");
    desk.leave();
}
