//! Choosing a theme in a real terminal: live preview, saved in the user's settings, a clear error for a wrong name.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::pty::Screen;
use pretty_assertions::assert_eq;

const CREWDECK: &str = env!("CARGO_BIN_EXE_crewdeck");

/// End of the escape sequence that sets the background of the dark theme in true color.
const DARK: &str = "48;2;18;22;28m";
const LIGHT: &str = "48;2;251;251;249m";
const DARK_256: &str = "48;5;234m";

/// Starts a dashboard with a scripted model. `home` is the home and the project.
fn start_dashboard(home: &Path, environment: &[(&str, &str)]) -> Screen {
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

fn quit(mut screen: Screen) -> String {
    screen.send("\x03\x03\x03");
    screen.wait("the end", |text| !text.contains("Lead"));
    let raw = String::from_utf8_lossy(&screen.raw()).into_owned();
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
    raw
}

#[test]
fn theme_chosen_by_key_is_saved_and_used_at_next_start() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/crewdeck/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "# mine\nwindow = 5000 # small\n").unwrap();
    let all_colors = [("COLORTERM", "truecolor")];

    let mut screen = start_dashboard(home.path(), &all_colors);
    screen.send("/theme\r");
    screen.wait_for("blue-black background");
    assert!(!String::from_utf8_lossy(&screen.raw()).contains(DARK));
    screen.send("\x1b[B\r");
    screen.wait_for("Theme: dark.");
    assert!(quit(screen).contains(DARK));
    let saved = fs::read_to_string(&settings).unwrap();
    assert_eq!(saved, "# mine\nwindow = 5000 # small\ntheme = \"dark\"\n");

    assert!(quit(start_dashboard(home.path(), &all_colors)).contains(DARK));
    let limited = quit(start_dashboard(home.path(), &[]));
    assert!(
        limited.contains(DARK_256) && !limited.contains("8;2;"),
        "{limited:?}"
    );
    let no_color = [("COLORTERM", "truecolor"), ("NO_COLOR", "1")];
    let none = quit(start_dashboard(home.path(), &no_color));
    assert!(!none.contains("8;2;") && !none.contains("8;5;"), "{none:?}");
}

#[test]
fn custom_theme_is_selectable_and_warns_of_hidden_text() {
    let home = tempfile::tempdir().unwrap();
    let settings = home.path().join(".config/crewdeck/config.toml");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let written = "[themes.dusk]\nbase = \"dark\"\nground = \"#010203\"\ndim = \"#010203\"\n";
    fs::write(&settings, written).unwrap();
    let mut screen = start_dashboard(home.path(), &[("COLORTERM", "truecolor")]);
    screen.send("/theme\r");
    screen.wait_for("catppuccin-mocha");
    screen.send("dusk");
    screen.wait_raw("the theme's background color", |raw| {
        String::from_utf8_lossy(raw).contains("48;2;1;2;3m")
    });
    screen.send("\r");
    screen.wait_for("Theme dusk: too little contrast for dim");
    quit(screen);
    let saved = fs::read_to_string(&settings).unwrap();
    assert_eq!(saved, format!("theme = \"dusk\"\n{written}"));

    // The warning is repeated at start; a terminal with 16 colors gets the closest ones.
    let screen = start_dashboard(home.path(), &[("TERM", "xterm")]);
    screen.wait_for("Theme dusk: too little contrast for dim");
    let raw = quit(screen);
    assert!(raw.contains("48;5;0m") && !raw.contains("8;2;"), "{raw:?}");
}

#[test]
fn background_of_the_terminal_selects_the_theme() {
    let home = tempfile::tempdir().unwrap();
    let all_colors = [("COLORTERM", "truecolor")];
    let question = "\x1b]11;?\x1b\\";
    let raw = |screen: &Screen| String::from_utf8_lossy(&screen.raw()).into_owned();
    for (answer, ground) in [
        ("1e1e/1e1e/2e2e\x1b\\", DARK),
        ("fdfd/f6f6/e3e3\x07", LIGHT),
    ] {
        let mut screen = start_dashboard(home.path(), &all_colors);
        screen.wait_raw("the question", |raw| {
            String::from_utf8_lossy(raw).contains(question)
        });
        screen.send("dra");
        screen.wait_for("dra");
        assert!(!raw(&screen).contains(ground));
        // The answer arrives late and in two parts, and the user types on.
        screen.send("\x1b]11;rg");
        screen.send(&format!("b:{answer}ft"));
        screen.wait_raw("the theme", |raw| {
            String::from_utf8_lossy(raw).contains(ground)
        });
        let text = screen.wait_for("draft");
        assert!(!text.contains("rgb:") && !text.contains("11;"), "{text}");
        screen.send("\x15");
        quit(screen);
    }
    // A chosen theme is never replaced, so nothing is asked; neither with fewer colours.
    let settings = home.path().join(".config/crewdeck/config.toml");
    assert!(!quit(start_dashboard(home.path(), &[])).contains(question));
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "theme = \"terminal\"\n").unwrap();
    assert!(!quit(start_dashboard(home.path(), &all_colors)).contains(question));
}

#[test]
fn misspelled_theme_suggests_the_closest_name() {
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
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success());
    assert!(
        error.contains("config.toml") && error.contains("did you mean 'dark'?"),
        "{error}"
    );
}
