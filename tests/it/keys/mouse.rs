//! The mouse: taken and given back, pressed, pulled, its wheel, and what it does besides keys.

use crate::keys::dashboard::{Dashboard, ESC, click, has_line, mouse, place};

const PRESS: u8 = 0;
const PULL: u8 = 32;
const WHEEL_UP: u8 = 64;
const WHEEL_DOWN: u8 = 65;

/// A full dashboard whose mouse is crewdeck's.
fn with_mouse() -> Dashboard {
    let mut dashboard = Dashboard::full();
    dashboard.press(ESC, "? help");
    dashboard.writes("\x1b[?1006h");
    dashboard
}

impl Dashboard {
    /// Clicks on words that the screen shows, and waits for others.
    fn click(&mut self, words: &str, then: &str) -> String {
        let at = place(&self.sees(words), words);
        self.press(&click(at), then)
    }
}

#[test]
fn mouse_capture_toggles() {
    let mut dashboard = with_mouse();
    assert!(!dashboard.raw().contains("\x1b[?1006l"));
    dashboard.press("M", "the terminal's again");
    dashboard.writes("\x1b[?1006l");
    dashboard.press("M", "The mouse scrolls and clicks");
    dashboard.leave();
}

#[test]
fn click_focuses_selects_and_opens() {
    let mut dashboard = with_mouse();
    dashboard.click("4 Team", "n nudge");
    dashboard.click("3 Board", "graph or list");
    dashboard.click("1 needs", "a approve");
    dashboard.click("Alpha", "graph or list");
    dashboard.click("Alpha", "Task #1");
    let mark = place(&dashboard.screen.text(), "✕");
    dashboard.clear(&click(mark), "Task #1");
    dashboard.click("Join it", "›○ Join it");
    dashboard.click("Join it", "not begun");
    dashboard.clear(&click((2, 20)), "not begun");
    dashboard.click("1 job", "╭ Background jobs");
    dashboard.clear(ESC, "╭ Background jobs");
    dashboard.click("? help", "╭ Keys");
    dashboard.leave();
}

#[test]
fn wheel_scrolls_and_survives_floods() {
    let mut dashboard = with_mouse();
    let text = dashboard.sees("That was the needle in it.");
    let at = place(&text, "That was the needle");
    dashboard.clear(
        &mouse(WHEEL_UP, at).repeat(20),
        "That was the needle in it.",
    );
    dashboard.sees("f follows the newest");
    // Three thousand notches, and the next key is heard at once.
    dashboard.keys(&mouse(WHEEL_DOWN, at).repeat(3000));
    dashboard.sees("That was the needle in it.");
    dashboard.press("?", "╭ Keys");
    dashboard.leave();
}

#[test]
fn dragging_moves_the_border_but_not_under_popups() {
    let mut dashboard = with_mouse();
    let (column, row) = place(&dashboard.sees("4 Team"), "╭ 4 Team");
    dashboard.keys(&mouse(PRESS, (column, row + 1)));
    dashboard.keys(&mouse(PULL, (60, row + 1)));
    dashboard.keys("\x1b[<0;60;20m");
    dashboard.screen.wait("the border is elsewhere", |t| {
        has_line(t, &["╭ 4 Team"]) && place(t, "╭ 4 Team").0 < column - 10
    });
    // What a popup covers is not reached.
    dashboard.press("?", "╭ Keys");
    dashboard.keys(&mouse(PULL, (100, row + 1)));
    dashboard.clear("q", "╭ Keys");
    dashboard.screen.wait("it stays", |t| {
        has_line(t, &["╭ 4 Team"]) && place(t, "╭ 4 Team").0 < column - 10
    });
    dashboard.leave();
}
