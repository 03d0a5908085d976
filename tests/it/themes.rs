//! The choice of a theme in a real terminal: seen at once, remembered in the person's settings, told when misspelt.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::pty::Screen;
use pretty_assertions::assert_eq;

const CREWDECK: &str = env!("CARGO_BIN_EXE_crewdeck");

/// The ground of the dark theme, as terminals with all colours and with 256 are told it.
const DARK: &str = "48;2;18;22;28m";
const DARK_256: &str = "48;5;234m";

/// A dashboard with a scripted model; home, settings and project lie in `home`.
fn start(home: &Path, environment: &[(&str, &str)]) -> Screen {
    let script = home.join("script.yaml");
    fs::write(&script, "rules:\n  - say: Hello.\n").unwrap();
    let provider = format!("script:{}", script.display());
    let program = Path::new(CREWDECK);
    let screen = Screen::start_program(
        program,
        home,
        100,
        30,
        &["--provider", &provider],
        environment,
    );
    screen.wait_for("scripted");
    screen
}

fn leave(mut screen: Screen) -> String {
    screen.send("\x03\x03\x03");
    screen.wait("the end", |text| !text.contains("Lead"));
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    raw
}

#[test]
fn a_theme_is_chosen_by_key_and_there_again_the_next_time() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/crewdeck/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "# mine\nwindow = 5000 # small\n").unwrap();
    let all_colours = [("COLORTERM", "truecolor")];

    let mut screen = start(home.path(), &all_colours);
    screen.send("/theme\r");
    screen.wait_for("blue-black background");
    assert!(!String::from_utf8_lossy(&screen.raw()).contains(DARK));
    screen.send("\x1b[B\r");
    screen.wait_for("The theme is dark from now on.");
    assert!(leave(screen).contains(DARK));
    let kept = fs::read_to_string(&settings).unwrap();
    assert_eq!(kept, "# mine\nwindow = 5000 # small\ntheme = \"dark\"\n");

    assert!(leave(start(home.path(), &all_colours)).contains(DARK));
    let fewer = leave(start(home.path(), &[]));
    assert!(
        fewer.contains(DARK_256) && !fewer.contains("8;2;"),
        "{fewer:?}"
    );
    let no_colour = [("COLORTERM", "truecolor"), ("NO_COLOR", "1")];
    let none = leave(start(home.path(), &no_colour));
    assert!(!none.contains("8;2;") && !none.contains("8;5;"), "{none:?}");
}

#[test]
fn a_theme_of_ones_own_is_chosen_like_the_others_and_what_it_hides_is_told() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/crewdeck/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let written = "[themes.dusk]\nbase = \"dark\"\nground = \"#010203\"\ndim = \"#010203\"\n";
    fs::write(&settings, written).unwrap();
    let mut screen = start(home.path(), &[("COLORTERM", "truecolor")]);
    screen.send("/theme\r");
    screen.wait_for("your own, based on dark");
    screen.send("\x1b[B\x1b[B\x1b[B\x1b[B");
    screen.wait_raw("its ground", |raw| {
        String::from_utf8_lossy(raw).contains("48;2;1;2;3m")
    });
    screen.send("\r");
    screen.wait_for("Theme dusk: too little contrast for dim");
    leave(screen);
    let kept = fs::read_to_string(&settings).unwrap();
    assert_eq!(kept, format!("theme = \"dusk\"\n{written}"));

    // It is told at the start as well, and where there are sixteen colours it has those.
    let screen = start(home.path(), &[("TERM", "xterm")]);
    screen.wait_for("Theme dusk: too little contrast for dim");
    let raw = leave(screen);
    assert!(raw.contains("48;5;0m") && !raw.contains("8;2;"), "{raw:?}");
}

#[test]
fn a_misspelt_theme_is_told_with_the_nearest_one() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/crewdeck/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "theme = \"drak\"\n").unwrap();
    let out = Command::new(CREWDECK)
        .args(["run", "hello", "--provider", "demo"])
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .current_dir(home.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success());
    assert!(
        said.contains("config.toml") && said.contains("did you mean 'dark'?"),
        "{said}"
    );
}
