//! The keys of the popups: help, palette, themes, jobs, event log; and the layouts.

use crate::keys::dashboard::{CTRL_C, Dashboard, ENTER, ESC, UP};

#[test]
fn help_search_and_palette_run_actions() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press("\x1bOP", "╭ Keys");
    dashboard.clear("q", "╭ Keys");
    dashboard.press(ESC, "i to write");
    dashboard.press("?", "╭ Keys");
    dashboard.press("/next lay", "› next lay");
    dashboard.wait_for("next layout: wall, board, focus");
    dashboard.press(ENTER, "Enter run");
    dashboard.clear(ENTER, "╭ Keys");
    dashboard.wait_for("Layout: board");
    dashboard.press("4Z", "Z does nothing here");
    dashboard.press("\x10", "╭ Actions");
    dashboard.press("jbs", "show the background jobs");
    dashboard.press(ENTER, "╭ Background jobs");
    dashboard.clear(CTRL_C, "╭ Background jobs");
    dashboard.press(":", "╭ Actions");
    dashboard.press("\x0e\x1b[B\x1b[6~", "13 of ");
    dashboard.clear(&format!("{UP}{ESC}"), "╭ Actions");
    dashboard.quit();
}

#[test]
fn each_popup_has_its_key() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    let popups = [
        ("@", "╭ Event log"),
        ("p", "╭ Problems"),
        ("S", "╭ Skills"),
        ("b", "╭ Background jobs"),
        ("\x1bm", "╭ Model"),
        ("R", "Allowed until crewdeck ends"),
        ("T", "╭ Theme"),
    ];
    for (key, title) in popups {
        dashboard.press(key, title);
        dashboard.clear(ESC, title);
    }
    dashboard.press("p", "╭ Problems");
    dashboard.press("/no such words", "/no such words no match");
    dashboard.press(ENTER, "end search");
    dashboard.press(ESC, "Esc close");
    dashboard.clear("q", "╭ Problems");
    dashboard.press("b", "1 running");
    dashboard.press("x", "killed by");
    dashboard.clear("q", "╭ Background jobs");
    dashboard.press("T\x1b[B\r", "Theme: ");
    dashboard.quit();
}

#[test]
fn layout_is_kept_across_restarts() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    // Once the board is loaded and empty, it loses the focus.
    dashboard.wait_for("This directory is not a git repository.");
    dashboard.press(ESC, "i to write");
    dashboard.press("3", "t add task");
    // The notice of the new layout ends by itself, so its panes are waited for.
    dashboard.send("=");
    dashboard.screen.wait("the board at the top", |t| {
        let line = t.lines().nth(1).unwrap_or_default();
        line.trim_start_matches(['╭', ' ']).starts_with("3 Board")
    });
    dashboard.press("=", "▸3 Board");
    let mut dashboard = dashboard.restart();
    dashboard.wait_for("▸1 Lead");
    dashboard.press(ESC, "i to write");
    dashboard.clear("=", "▸1 Lead");
    dashboard.quit();
}

#[test]
fn event_log_filters_and_opens_entries() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("@", "╭ Event log");
    dashboard.clear("/kind:task alpha", "alice → bob");
    dashboard.press("\r", "Esc clear filter");
    dashboard.press("y", "Copied");
    dashboard.press("\r", "╭ Task #1");
    dashboard.clear(ESC, "╭ Task #1");
    dashboard.quit();
}
