//! All key contexts, the mouse, and configured keys in a real terminal.

mod board;
mod composer;
mod conventions;
mod costs;
mod coverage;
mod dashboard;
mod diff;
mod exit;
mod external;
mod mouse;
mod needs;
mod panes;
mod peek;
mod popups;
mod queued;
mod rewind;
mod search;
mod slash;
mod team;

use std::path::Path;

use crate::common::pty::Screen;

const ESC: &str = "\x1b";
const CTRL_C: &str = "\x03";

/// Starts the demo in a terminal of 160 × 45 with the user settings `settings`.
fn start_demo(home: &Path, settings: &str) -> Screen {
    let folder = home.join(".config/crewdeck");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), settings).unwrap();
    Screen::start(home, 160, 45, &["--demo", "--speed", "60"])
}

fn quit(mut screen: Screen) {
    // Closes a popup, stops an agent, arms quit, quits.
    screen.send(&CTRL_C.repeat(4));
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Returns the escape sequence for a press of the left mouse button at the start of `words` in the screen's text.
fn press_at(text: &str, words: &str) -> String {
    let (row, line) = text
        .lines()
        .enumerate()
        .find(|(_, line)| line.contains(words))
        .unwrap_or_else(|| panic!("{words} is not on the screen:\n{text}"));
    let column = line[..line.find(words).unwrap()].chars().count();
    format!("\x1b[<0;{};{}M", column + 1, row + 1)
}

#[test]
fn configured_keys_work_and_appear_in_hints() {
    let home = tempfile::tempdir().unwrap();
    let keys = "[keys]\npalette = 'alt+o'\n\"panes.palette\" = ['Z']\n";
    let mut screen = start_demo(home.path(), keys);
    screen.wait_for("Alt+o actions");
    screen.send("\x1bo");
    screen.wait_for("Actions");
    screen.send("jbs");
    screen.wait_for("show the background jobs");
    quit(screen);
}

#[test]
fn key_conflict_names_the_file_and_the_remedy() {
    let home = tempfile::tempdir().unwrap();
    let screen = start_demo(home.path(), "[keys]\n\"board.open\" = 'm'\n");
    let text = screen.wait_for("unbind the other action");
    let text = text.replace('\n', "");
    assert!(text.contains("config.toml: [keys] `board.open`: `m` already runs `board.merge`"));
    let (status, _) = screen.wait_for_exit();
    assert!(!status.success());
}

#[test]
fn mouse_selects_tabs_and_key_changes_layout() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_demo(home.path(), "");
    // The tabs change while agents work.
    screen.wait_for("5/8 done");
    screen.wait("idle agents", |t| t.contains("3 idle"));
    screen.send(ESC);
    screen.wait_for("i to write");
    let text = screen.text();
    screen.send(&press_at(&text, "3 Board"));
    screen.send("=");
    screen.wait_for("Layout: board");
    screen.wait("the board on the left", |t| {
        t.lines().nth(1).is_some_and(|l| l.starts_with("╭ 3 Board"))
    });
    screen.send("=");
    let text = screen.wait_for("Layout: focus");
    screen.send(&press_at(&text, "4 Team"));
    screen.wait_for("▸4 Team");
    quit(screen);
}
