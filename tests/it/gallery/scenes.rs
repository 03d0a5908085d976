//! The scenes: what runs, which keys are pressed, and when each picture is taken.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::color::{DARK, Palette};
use super::svg::svg;
use crate::common::pty::Screen;

/// The file name and title of each picture.
pub const SCENES: &[(&str, &str)] = &[
    ("demo", "the demo, from the first prompt to the end"),
    ("dashboard", "a team at work, and a plan that waits for you"),
    ("board", "the board"),
    ("plan", "a plan that waits for you"),
    ("permission", "a command that waits for you"),
    ("teammate", "the work of a teammate"),
    ("task", "a task with its history"),
    ("diff", "what a task has changed"),
    ("palette", "all actions, searched"),
    ("help", "the keys"),
    ("themes", "the light theme"),
    ("mono", "without colour"),
    ("small", "70 × 20"),
    ("replay", "a session, watched again"),
    ("doctor", "crewdeck doctor"),
];

pub const ALT_W: &str = "\x1bw";
pub const ALT_3: &str = "\x1b3";
pub const ALT_4: &str = "\x1b4";
/// Escape in the CSI-u form. In this form, the program cannot take it and the next key for Alt+key.
const ESC: &str = "\x1b[27u";
const F1: &str = "\x1bOP";
/// The environment variable that turns on true color, which most terminals set.
pub const COLORS: (&str, &str) = ("COLORTERM", "truecolor");

/// Returns the folder in which the pictures are stored.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
}

/// Returns the path of the picture `name`.
pub fn file(name: &str) -> PathBuf {
    folder().join(format!("{name}.svg"))
}

/// Starts crewdeck with `home` as home and current directory.
fn start_crewdeck(
    home: &Path,
    size: (u16, u16),
    args: &[&str],
    environment: &[(&str, &str)],
) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    Screen::start_program(program, home, size.0, size.1, args, environment)
}

/// Starts the demo in the folder `tally` below `home`.
pub fn start_demo(
    home: &Path,
    size: (u16, u16),
    speed: &str,
    environment: &[(&str, &str)],
) -> Screen {
    let project = home.join("tally");
    let args = [
        "--demo",
        "--dir",
        project.to_str().unwrap(),
        "--speed",
        speed,
    ];
    start_crewdeck(home, size, &args, environment)
}

/// Returns the title of the picture `name`, as in [`SCENES`] but after `crewdeck –`.
pub fn title(name: &str) -> String {
    let about = SCENES.iter().find(|(scene, _)| *scene == name);
    format!("crewdeck – {}", about.unwrap().1)
}

/// Waits for a screen that satisfies `wanted`, and writes a picture of it.
fn take_picture(screen: &Screen, name: &str, wanted: impl Fn(&str) -> bool) {
    let title = title(name);
    let palette: &Palette = &DARK;
    let picture = screen.wait_frame(name, wanted, |screen| svg(screen, &title, palette));
    std::fs::write(file(name), picture).unwrap();
}

pub fn has_all(parts: &'static [&'static str]) -> impl Fn(&str) -> bool {
    move |text| parts.iter().all(|part| text.contains(part))
}

/// Reads the numbers of completed tasks and of all tasks from the board's title.
pub fn task_counts(text: &str) -> Option<(usize, usize)> {
    let count = |part: &str| {
        let (done, all) = part.split_whitespace().next()?.split_once('/')?;
        Some((done.parse().ok()?, all.parse().ok()?))
    };
    text.split('✓').find_map(count)
}

/// Reads from a replay's screen how many events are shown and how many there are.
fn event_counts(text: &str) -> Option<(usize, usize)> {
    let (before, _) = text.split_once(" events")?;
    let (at, all) = before.rsplit(' ').next()?.split_once('/')?;
    Some((at.parse().ok()?, all.parse().ok()?))
}

pub fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Presses keys and waits until the screen shows `then`. Without the wait, the next key could be combined with these.
pub fn press(screen: &mut Screen, keys: &str, then: &str) {
    screen.send_and_wait_for(keys, then);
}

/// Presses Escape and waits until the screen no longer shows `gone`.
pub fn close_popup(screen: &mut Screen, gone: &str) {
    screen.send_until_gone(ESC, gone);
}

fn approve(screen: &mut Screen, card: &str) {
    screen.send(ALT_W);
    screen.wait("its buttons", |t| {
        t.contains(card) && t.contains("a approve")
    });
    screen.send("a");
    screen.wait("the card is gone", |text| !text.contains(card));
}

/// Resizes the terminal and waits until the screen has the new size, because a key that is sent together with a resize
/// may be read late.
fn resize(screen: &Screen, cols: u16, rows: u16) {
    screen.resize(cols, rows);
    let last = usize::from(rows);
    screen.wait("the new size", |text| text.lines().count() == last);
}

/// Takes pictures of the demo at normal speed with the default theme.
pub fn first_glance() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = start_demo(home.path(), (160, 45), "1", &[COLORS]);
    take_picture(
        &screen,
        "dashboard",
        has_all(&["bob asks you to approve its plan", "/3 read", "2 working"]),
    );
    resize(&screen, 70, 20);
    take_picture(
        &screen,
        "small",
        has_all(&["6 Needs (1)", "bob's plan needs approval"]),
    );
    resize(&screen, 100, 30);
    screen.send(ALT_W);
    take_picture(
        &screen,
        "plan",
        has_all(&["bob asks you to approve its plan", "a approve"]),
    );
    quit(screen);
}

/// Takes a picture of a board with 21 tasks, zoomed to the whole screen.
pub fn board() {
    let home = tempfile::tempdir().unwrap();
    use_dark_theme(home.path());
    let shop = repository(home.path(), "shop");
    let [option, provider] = script_provider(home.path(), include_str!("shop.yaml"));
    let args = [&option, &provider, "--dir", shop.to_str().unwrap()];
    let mut screen = start_crewdeck(home.path(), (160, 28), &args, &[COLORS]);
    screen.wait_for("to lead");
    screen.send("The shop needs a way from the cart to the order\r");
    screen.wait("three at work", |text| {
        task_counts(text) == Some((6, 21)) && text.contains("3 working")
    });
    press(&mut screen, ALT_3, "graph or list");
    screen.send("3");
    screen.send("g");
    take_picture(&screen, "board", |text| {
        !text.contains("1 Lead") && text.contains("#1 ")
    });
    quit(screen);
}

/// Runs the demo to its end and takes pictures of it, of the other views, of its replay and of the doctor.
pub fn the_whole_demo() {
    let home = tempfile::tempdir().unwrap();
    use_dark_theme(home.path());
    let mut screen = start_demo(home.path(), (100, 30), "10", &[COLORS]);
    for card in [
        "bob asks you to approve its plan",
        "lead wants carol to shut down",
    ] {
        screen.wait_for(card);
        approve(&mut screen, card);
    }
    screen.wait("the end", |text| {
        let is_over = text.contains("That was the demo") && !text.contains("working");
        // The last status message is gone from the hints line.
        is_over && text.contains("? help")
    });

    press(&mut screen, ALT_3, "graph or list");
    press(&mut screen, ":", "Actions");
    screen.send("me");
    take_picture(
        &screen,
        "palette",
        has_all(&["Actions", "› me", "merge the branch"]),
    );
    close_popup(&mut screen, "Actions");
    press(&mut screen, "gjjj\r", "Task #4");
    take_picture(
        &screen,
        "task",
        has_all(&["History", "Add the command report"]),
    );
    close_popup(&mut screen, "History");
    screen.send("D");
    take_picture(&screen, "diff", has_all(&["report.test.sh"]));
    close_popup(&mut screen, "report.test.sh");
    press(&mut screen, "4", "nudge");
    press(&mut screen, "gj\r", "This is bob");
    take_picture(&screen, "teammate", has_all(&["This is bob"]));
    close_popup(&mut screen, "This is bob");
    screen.send(F1);
    take_picture(&screen, "help", has_all(&["Keys", "Most used here"]));
    close_popup(&mut screen, "Most used here");
    press(&mut screen, "3", "graph or list");
    press(&mut screen, "T", "white background");
    press(&mut screen, "light\r", "Theme: light.");
    press(&mut screen, "T", "white background");
    take_picture(&screen, "themes", has_all(&["white background"]));
    close_popup(&mut screen, "white background");
    quit(screen);

    let project = home.path().join("tally");
    let args = ["--dir", project.to_str().unwrap(), "replay"];
    let mut screen = start_crewdeck(home.path(), (130, 34), &args, &[COLORS]);
    screen.wait("the middle", |text| {
        event_counts(text).is_some_and(|(at, all)| at * 5 >= all * 2)
    });
    screen.send(" ");
    take_picture(&screen, "replay", has_all(&["‖ replay", "step back"]));
    quit(screen);
    let project = project.to_str().unwrap();
    let args = ["--dir", project, "--provider", "demo", "doctor"];
    let screen = start_crewdeck(
        home.path(),
        (130, 37),
        &args,
        &[COLORS, ("LANG", "C.UTF-8")],
    );
    take_picture(&screen, "doctor", has_all(&[" warning"]));
    screen.wait_for_exit();
}

/// Takes a picture of the demo with `NO_COLOR`.
pub fn no_colour() {
    let home = tempfile::tempdir().unwrap();
    let screen = start_demo(home.path(), (100, 30), "2", &[("NO_COLOR", "1")]);
    take_picture(&screen, "mono", |text| {
        let is_waiting = text.contains("bob asks you to approve its plan");
        is_waiting && text.contains("@alice") && text.contains("@carol")
    });
    quit(screen);
}

/// Takes a picture with a command that needs permission, a question of a teammate, and wide characters.
pub fn permission() {
    let home = tempfile::tempdir().unwrap();
    let notes = repository(home.path(), "notes");
    let [option, provider] = script_provider(home.path(), include_str!("release.yaml"));
    let args = [&option, &provider, "--dir", notes.to_str().unwrap()];
    let mut screen = start_crewdeck(home.path(), (100, 30), &args, &[COLORS]);
    screen.wait_for("to lead");
    screen.send("Publish 1.2 with its notes in English and 日本語 🎉\r");
    screen.wait_for("2 need you");
    screen.send(ALT_W);
    take_picture(&screen, "permission", has_all(&["git push", "a approve"]));
    quit(screen);
}

/// Writes a script to `home` and returns the arguments that make it the model.
fn script_provider(home: &Path, script: &str) -> [String; 2] {
    let file = home.join("script.yaml");
    std::fs::write(&file, script).unwrap();
    ["--provider".into(), format!("script:{}", file.display())]
}

/// Writes settings to `home` that select the dark theme.
pub fn use_dark_theme(home: &Path) {
    let settings = home.join(".config/crewdeck");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "theme = \"dark\"\n").unwrap();
}

/// Creates a git repository with one commit below `home`.
fn repository(home: &Path, name: &str) -> PathBuf {
    let path = home.join(name);
    std::fs::create_dir(&path).unwrap();
    let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    let first = ["commit", "--quiet", "--allow-empty", "-m", "Begin"];
    for args in [&["init", "--quiet"][..], &first] {
        let mut git = Command::new("git");
        git.args(identity).args(args).current_dir(&path);
        assert!(git.env("HOME", home).status().unwrap().success());
    }
    path
}
