//! The scenes: what is played, with which keys, and when the picture is taken.

use std::path::{Path, PathBuf};

use super::color::DARK;
use super::pty::Screen;
use super::svg::svg;

/// Where the pictures are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
}

fn demo(home: &Path, cols: u16, rows: u16, more: &[&str]) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let project = home.join("tally");
    let mut args = vec!["--demo", "--dir", project.to_str().unwrap()];
    args.extend(more);
    let environment = [("COLORTERM", "truecolor")];
    Screen::start_program(program, home, cols, rows, &args, &environment)
}

fn take(screen: &Screen, name: &str, title: &str, wanted: impl Fn(&str) -> bool) {
    let picture = screen.wait_frame(name, wanted, |screen| svg(screen, title, &DARK));
    std::fs::write(folder().join(format!("{name}.svg")), picture).unwrap();
}

/// Takes all pictures.
pub fn take_all() {
    let home = tempfile::tempdir().unwrap();
    let screen = demo(home.path(), 160, 45, &["--speed", "1"]);
    take(&screen, "dashboard", "crewdeck", |text| {
        text.contains("bob asks you to approve its plan") && text.contains("acted on")
    });
}
