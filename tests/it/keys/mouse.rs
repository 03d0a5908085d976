//! The mouse: capture, clicks, drags and the wheel.

use crate::keys::dashboard::{Dashboard, ESC, click, has_line, mouse, position};

const PRESS: u8 = 0;
const DRAG: u8 = 32;
const WHEEL_UP: u8 = 64;
const WHEEL_DOWN: u8 = 65;

/// Starts a dashboard with a busy crew and waits until it receives mouse events.
fn dashboard_with_mouse() -> Dashboard {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.wait_for_output("\x1b[?1006h");
    dashboard
}

impl Dashboard {
    /// Clicks on `words` and waits until the screen shows `then`.
    fn click(&mut self, words: &str, then: &str) -> String {
        let at = position(&self.wait_for(words), words);
        self.press(&click(at), then)
    }
}

#[test]
fn mouse_capture_toggles() {
    let mut dashboard = dashboard_with_mouse();
    assert!(!dashboard.raw().contains("\x1b[?1006l"));
    dashboard.press("M", "Mouse off");
    dashboard.wait_for_output("\x1b[?1006l");
    dashboard.press("M", "Mouse on");
    dashboard.quit();
}

#[test]
fn click_focuses_selects_and_opens() {
    let mut dashboard = dashboard_with_mouse();
    dashboard.click("4 Team", "! nudge");
    dashboard.click("3 Board", "graph or list");
    dashboard.click("1 needs", "a approve");
    dashboard.click("Alpha", "graph or list");
    dashboard.click("Alpha", "Task #1");
    let mark = position(&dashboard.screen.text(), "✕");
    dashboard.clear(&click(mark), "Task #1");
    dashboard.click("Join it", "› ○ Join it");
    dashboard.click("Join it", "not started");
    dashboard.clear(&click((2, 20)), "not started");
    dashboard.click("1 job", "╭ Background jobs");
    dashboard.clear(ESC, "╭ Background jobs");
    dashboard.click("? help", "╭ Keys");
    dashboard.quit();
}

#[test]
fn wheel_scrolls_and_survives_floods() {
    let mut dashboard = dashboard_with_mouse();
    let text = dashboard.wait_for("That was the needle in it.");
    let at = position(&text, "That was the needle");
    dashboard.clear(
        &mouse(WHEEL_UP, at).repeat(20),
        "That was the needle in it.",
    );
    dashboard.wait_for("f follows new output");
    // After 3,000 wheel events the next key works at once.
    dashboard.send(&mouse(WHEEL_DOWN, at).repeat(3000));
    dashboard.wait_for("That was the needle in it.");
    dashboard.press("?", "╭ Keys");
    dashboard.quit();
}

#[test]
fn dragging_moves_the_border_but_not_under_popups() {
    let mut dashboard = dashboard_with_mouse();
    let (column, row) = position(&dashboard.wait_for("4 Team"), "  4 Team");
    dashboard.send(&mouse(PRESS, (column, row + 1)));
    dashboard.send(&mouse(DRAG, (60, row + 1)));
    dashboard.send("\x1b[<0;60;20m");
    dashboard.screen.wait("the border to move", |t| {
        has_line(t, &["  4 Team"]) && position(t, "  4 Team").0 < column - 10
    });
    // Drags do not reach what a popup covers.
    dashboard.press("?", "╭ Keys");
    dashboard.send(&mouse(DRAG, (100, row + 1)));
    dashboard.clear("q", "╭ Keys");
    dashboard.screen.wait("the same border", |t| {
        has_line(t, &["  4 Team"]) && position(t, "  4 Team").0 < column - 10
    });
    dashboard.quit();
}
