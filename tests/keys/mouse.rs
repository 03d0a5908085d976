//! The mouse: taken and given back, pressed, pulled, its wheel, and what it does besides keys.

use crate::desk::{Desk, ESC, click, has_line, mouse, place};

const PRESS: u8 = 0;
const PULL: u8 = 32;
const WHEEL_UP: u8 = 64;
const WHEEL_DOWN: u8 = 65;

/// A full desk whose mouse is crewdeck's.
fn with_mouse() -> Desk {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.writes("\x1b[?1006h");
    desk
}

impl Desk {
    /// Clicks on words that the screen shows, and waits for others.
    fn click(&mut self, words: &str, then: &str) -> String {
        let at = place(&self.sees(words), words);
        self.press(&click(at), then)
    }
}

#[test]
fn the_mouse_is_taken_and_given_back() {
    let mut desk = with_mouse();
    assert!(!desk.raw().contains("\x1b[?1006l"));
    desk.press("M", "Mouse off");
    desk.writes("\x1b[?1006l");
    desk.press("M", "Mouse on");
    desk.leave();
}

#[test]
fn what_is_clicked_gets_the_keys_is_selected_and_opened() {
    let mut desk = with_mouse();
    desk.click("4 Team", "n nudge");
    desk.click("3 Board", "graph or list");
    desk.click("1 needs", "a approve");
    desk.click("Alpha", "graph or list");
    desk.click("Alpha", "Task #1");
    let mark = place(&desk.screen.text(), "✕");
    desk.clear(&click(mark), "Task #1");
    desk.click("Join it", "›○ Join it");
    desk.click("Join it", "not started");
    desk.clear(&click((2, 20)), "not started");
    desk.click("1 job", "╭ Background jobs");
    desk.clear(ESC, "╭ Background jobs");
    desk.click("? help", "╭ Keys");
    desk.leave();
}

#[test]
fn the_wheel_scrolls_and_floods_do_no_harm() {
    let mut desk = with_mouse();
    let text = desk.sees("That was the needle in it.");
    let at = place(&text, "That was the needle");
    desk.clear(
        &mouse(WHEEL_UP, at).repeat(20),
        "That was the needle in it.",
    );
    desk.sees("f follows the newest");
    // Three thousand notches, and the next key is heard at once.
    desk.keys(&mouse(WHEEL_DOWN, at).repeat(3000));
    desk.sees("That was the needle in it.");
    desk.press("?", "╭ Keys");
    desk.leave();
}

#[test]
fn the_border_is_pulled_and_the_drawing_too() {
    let mut desk = with_mouse();
    let (column, row) = place(&desk.sees("4 Team"), "╭ 4 Team");
    desk.keys(&mouse(PRESS, (column, row + 1)));
    desk.keys(&mouse(PULL, (60, row + 1)));
    desk.keys("\x1b[<0;60;20m");
    desk.screen.wait("the border is elsewhere", |t| {
        has_line(t, &["╭ 4 Team"]) && place(t, "╭ 4 Team").0 < column - 10
    });
    // What a popup covers is not reached.
    desk.press("?", "╭ Keys");
    desk.keys(&mouse(PULL, (100, row + 1)));
    desk.clear("q", "╭ Keys");
    desk.screen.wait("it stays", |t| {
        has_line(t, &["╭ 4 Team"]) && place(t, "╭ 4 Team").0 < column - 10
    });
    desk.leave();
}
