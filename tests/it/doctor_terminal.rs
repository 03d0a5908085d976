//! The output of `crewdeck doctor` in a real terminal: coloured levels, and indented continuation lines.

use std::fs;
use std::path::Path;

use crate::common::pty::Screen;

/// Runs the doctor until its summary appears. Returns the screen's text and the raw output.
fn report(home: &Path, columns: u16, environment: &[(&str, &str)]) -> (String, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let args = ["doctor", "--provider", "demo"];
    let screen = Screen::start_program(program, home, columns, 60, &args, environment);
    let has_summary = |text: &str| {
        ["No problems.", "No failures,", " failed"]
            .iter()
            .any(|end| text.contains(end))
    };
    let text = screen.wait("the summary", has_summary);
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    screen.wait_for_exit();
    (text, raw)
}

/// Creates a home whose settings have a theme with an unreadable color: black on black.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/crewdeck/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let theme = "[themes.dusk]\nground = 'black'\nok = 'black'\n";
    fs::write(settings, theme).unwrap();
    home
}

#[test]
fn levels_are_coloured_and_long_lines_are_indented() {
    let home = home();
    let (text, raw) = report(home.path(), 60, &[]);
    assert!(raw.contains("\x1b[32m✓ ok  \x1b[0m "), "{raw:?}");
    assert!(raw.contains("\x1b[33m! warn\x1b[0m settings"), "{raw:?}");
    let mut lines = text.lines();
    lines
        .find(|line| line.contains("Theme dusk: too little contrast for ok"))
        .unwrap();
    let next = lines.next().unwrap();
    assert!(next.starts_with(&" ".repeat(17)), "{text}");
    assert!(!next.trim().starts_with('→'), "{text}");
}

#[test]
fn no_color_disables_colours() {
    let (text, raw) = report(home().path(), 100, &[("NO_COLOR", "1")]);
    assert!(text.contains("✓ ok   "), "{text}");
    assert!(!raw.contains("\x1b[3"), "{raw:?}");
}
