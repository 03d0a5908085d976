//! The scenes: what is played, which keys are pressed, and when the picture is taken.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::color::{DARK, Palette};
use super::pty::Screen;
use super::svg::svg;

/// All pictures: the name of the file, and what stands above it.
pub const SCENES: &[(&str, &str)] = &[
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

const ALT_W: &str = "\x1bw";
const ALT_3: &str = "\x1b3";
/// Escape in a form that no key behind it can be taken to belong to.
const ESC: &str = "\x1b[27u";
const F1: &str = "\x1bOP";
/// Full colour, as most terminals have it.
const COLORS: (&str, &str) = ("COLORTERM", "truecolor");

/// Where the pictures are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
}

/// A picture's file.
pub fn file(name: &str) -> PathBuf {
    folder().join(format!("{name}.svg"))
}

/// Starts crewdeck at home in `home`.
fn start(home: &Path, size: (u16, u16), args: &[&str], environment: &[(&str, &str)]) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    Screen::start_program(program, home, size.0, size.1, args, environment)
}

/// The demo at a pace, in the folder `tally` below `home`.
fn demo(home: &Path, size: (u16, u16), speed: &str, environment: &[(&str, &str)]) -> Screen {
    let project = home.join("tally");
    let args = [
        "--demo",
        "--dir",
        project.to_str().unwrap(),
        "--speed",
        speed,
    ];
    start(home, size, &args, environment)
}

/// Writes the screen as it is at the first frame that `wanted` likes.
fn take(screen: &Screen, name: &str, wanted: impl Fn(&str) -> bool) {
    let about = SCENES.iter().find(|(scene, _)| *scene == name);
    let title = format!("crewdeck – {}", about.unwrap().1);
    let palette: &Palette = &DARK;
    let picture = screen.wait_frame(name, wanted, |screen| svg(screen, &title, palette));
    std::fs::write(file(name), picture).unwrap();
}

fn has_all(parts: &'static [&'static str]) -> impl Fn(&str) -> bool {
    move |text| parts.iter().all(|part| text.contains(part))
}

/// How many tasks are done, and how many there are, as the board's frame says.
fn done(text: &str) -> Option<(usize, usize)> {
    let count = |part: &str| {
        let (done, all) = part.split_whitespace().next()?.split_once('/')?;
        Some((done.parse().ok()?, all.parse().ok()?))
    };
    text.split('✓').find_map(count)
}

/// How many events of a recording were played, and how many there are.
fn events(text: &str) -> Option<(usize, usize)> {
    let (before, _) = text.split_once(" events")?;
    let (at, all) = before.rsplit(' ').next()?.split_once('/')?;
    Some((at.parse().ok()?, all.parse().ok()?))
}

fn leave(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

/// Presses keys and waits for what they lead to. Keys that are sent while the one before is on its way could be taken
/// for one with it.
fn press(screen: &mut Screen, keys: &str, then: &str) {
    screen.press(keys, then);
}

/// Escape, and what it closes is gone.
fn close(screen: &mut Screen, gone: &str) {
    screen.clear(ESC, gone);
}

fn approve(screen: &mut Screen, card: &str) {
    screen.send(ALT_W);
    screen.wait("its buttons", |t| {
        t.contains(card) && t.contains("a approve")
    });
    screen.send("a");
    screen.wait("the card is gone", |text| !text.contains(card));
}

/// Another size, drawn: only then are keys sent, since one that comes together with the size may be read late.
fn resize(screen: &Screen, cols: u16, rows: u16) {
    screen.resize(cols, rows);
    let last = usize::from(rows);
    screen.wait("the new size", |text| text.lines().count() == last);
}

/// The default looks, at the pace at which people watch it.
pub fn first_glance() {
    let home = tempfile::tempdir().unwrap();
    let mut screen = demo(home.path(), (160, 45), "1", &[COLORS]);
    take(
        &screen,
        "dashboard",
        has_all(&["bob asks you to approve its plan", "acted on", "2 working"]),
    );
    resize(&screen, 70, 20);
    take(&screen, "small", has_all(&["bob asks", "Alt+w shows it"]));
    resize(&screen, 100, 30);
    screen.send(ALT_W);
    take(
        &screen,
        "plan",
        has_all(&["bob asks you to approve its plan", "a approve"]),
    );
    leave(screen);
}

/// A board of some size, over the whole screen.
pub fn board() {
    let home = tempfile::tempdir().unwrap();
    dark(home.path());
    let shop = repository(home.path(), "shop");
    let [option, provider] = scripted(home.path(), include_str!("shop.yaml"));
    let args = [&option, &provider, "--dir", shop.to_str().unwrap()];
    let mut screen = start(home.path(), (160, 28), &args, &[COLORS]);
    screen.wait_for("to lead");
    screen.send("The shop needs a way from the cart to the order\r");
    screen.wait("three at work", |text| {
        done(text) == Some((6, 21)) && text.contains("3 working")
    });
    press(&mut screen, ALT_3, "Board");
    press(&mut screen, "3", "q close");
    press(&mut screen, "g", "#1");
    take(&screen, "board", |text| !text.contains("1 Lead"));
    leave(screen);
}

/// One demo to its end, and what can be looked at then.
pub fn the_whole_demo() {
    let home = tempfile::tempdir().unwrap();
    dark(home.path());
    let mut screen = demo(home.path(), (100, 30), "10", &[COLORS]);
    for card in [
        "bob asks you to approve its plan",
        "lead wants carol to shut down",
    ] {
        screen.wait_for(card);
        approve(&mut screen, card);
    }
    screen.wait("the end", |text| {
        let is_over = text.contains("That was the demo") && !text.contains("working");
        // What was said last has left the line of keys.
        is_over && text.contains("Esc to the panes")
    });

    press(&mut screen, ALT_3, "graph or list");
    press(&mut screen, ":", "Actions");
    screen.send("me");
    take(
        &screen,
        "palette",
        has_all(&["Actions", "› me", "merge the branch"]),
    );
    close(&mut screen, "Actions");
    press(&mut screen, "gjjj\r", "Task #4");
    take(
        &screen,
        "task",
        has_all(&["History", "Add the command report"]),
    );
    close(&mut screen, "History");
    screen.send("D");
    take(&screen, "diff", has_all(&["report.test.sh"]));
    close(&mut screen, "report.test.sh");
    press(&mut screen, "4", "nudge");
    press(&mut screen, "gj\r", "This is bob");
    take(&screen, "teammate", has_all(&["This is bob"]));
    close(&mut screen, "This is bob");
    screen.send(F1);
    take(&screen, "help", has_all(&["Keys", "In every pane"]));
    close(&mut screen, "In every pane");
    press(&mut screen, "3", "graph or list");
    press(&mut screen, "T", "ink on paper");
    press(&mut screen, "light\r", "Theme: light.");
    press(&mut screen, "T", "ink on paper");
    take(&screen, "themes", has_all(&["ink on paper"]));
    close(&mut screen, "ink on paper");
    leave(screen);

    let project = home.path().join("tally");
    let args = ["--dir", project.to_str().unwrap(), "replay"];
    let mut screen = start(home.path(), (130, 34), &args, &[COLORS]);
    screen.wait("the middle", |text| {
        events(text).is_some_and(|(at, all)| at * 5 >= all * 2)
    });
    screen.send(" ");
    take(&screen, "replay", has_all(&["‖ replay", "step back"]));
    leave(screen);
    let project = project.to_str().unwrap();
    let args = ["--dir", project, "--provider", "demo", "doctor"];
    let screen = start(
        home.path(),
        (130, 37),
        &args,
        &[COLORS, ("LANG", "C.UTF-8")],
    );
    take(&screen, "doctor", has_all(&["to be seen to"]));
    screen.end();
}

/// Without colour.
pub fn no_colour() {
    let home = tempfile::tempdir().unwrap();
    let screen = demo(home.path(), (100, 30), "2", &[("NO_COLOR", "1")]);
    take(&screen, "mono", |text| {
        let is_waiting = text.contains("bob asks you to approve its plan");
        is_waiting && text.contains("@alice") && text.contains("@carol")
    });
    leave(screen);
}

/// A command that reaches outside, a question of a teammate, and signs of two cells.
pub fn permission() {
    let home = tempfile::tempdir().unwrap();
    let notes = repository(home.path(), "notes");
    let [option, provider] = scripted(home.path(), include_str!("release.yaml"));
    let args = [&option, &provider, "--dir", notes.to_str().unwrap()];
    let mut screen = start(home.path(), (100, 30), &args, &[COLORS]);
    screen.wait_for("to lead");
    screen.send("Publish 1.2 with its notes in English and 日本語 🎉\r");
    screen.wait_for("2 need you");
    screen.send(ALT_W);
    take(&screen, "permission", has_all(&["git push", "a approve"]));
    leave(screen);
}

/// The arguments that make a script in `home` the model.
fn scripted(home: &Path, script: &str) -> [String; 2] {
    let file = home.join("script.yaml");
    std::fs::write(&file, script).unwrap();
    ["--provider".into(), format!("script:{}", file.display())]
}

/// Settings at `home` with the dark theme.
fn dark(home: &Path) {
    let settings = home.join(".config/crewdeck");
    std::fs::create_dir_all(&settings).unwrap();
    std::fs::write(settings.join("config.toml"), "theme = \"dark\"\n").unwrap();
}

/// A new git repository with a commit, below `home`.
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
