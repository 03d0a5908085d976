//! `crewdeck replay` in a real terminal: a session that is over is watched again, and nothing of it changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by them

#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

use std::path::Path;
use std::process::{Command, Output};

use pty::Screen;

fn crewdeck(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_crewdeck"))
        .args(args)
        .env_clear()
        .env("PATH", std::env::var("PATH").unwrap())
        .env("HOME", home)
        .env("TMPDIR", home)
        .current_dir(home)
        .output()
        .unwrap()
}

/// Two tasks and an answer.
const SCRIPT: &str = r#"rules:
  - agent: lead
    when: "^go$"
    say: "I write two tasks."
    calls:
      - { tool: task_create, input: { subject: "Write the parser" } }
      - { tool: task_create, input: { subject: "Test the parser", blockedBy: [1] } }
  - when: .
    times: 0
    say: "Both are on the board."
"#;

/// What the event log tells of it.
const SENTENCES: &[&str] = &[
    "you → lead: go",
    "lead wrote #1 Write the parser",
    "lead wrote #2 Test the parser; it waits for #1",
];

#[test]
fn a_session_is_watched_again_forth_and_back() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    std::fs::write(home.join("script.yaml"), SCRIPT).unwrap();
    let ran = crewdeck(home, &["run", "go", "--provider", "script:script.yaml"]);
    assert_eq!(ran.status.code(), Some(4), "its tasks are open: {ran:?}");
    let task = home.join(".tasks/task_1.json");
    let before = std::fs::read(&task).unwrap();
    let mut screen = Screen::start(home, 120, 36, &["replay", "--speed", "1000"]);
    screen.wait_for("Both are on the board.");
    screen.wait("the end", |text| {
        text.contains("‖ replay") && text.contains("#2")
    });
    screen.send(",,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,");
    screen.wait("the beginning", |text| {
        !text.contains("Both are on the board.") && text.contains("No tasks yet")
    });
    // Nothing of the log has happened there, either.
    screen.send("@");
    screen.wait("the empty log", |text| {
        text.contains("Event log") && !text.contains("lead wrote")
    });
    screen.send("q");
    screen.send("i");
    screen.wait_for("nothing can be changed");
    screen.send("   ");
    screen.wait_for("Both are on the board.");
    screen.send("@");
    let told = |text: &str| SENTENCES.iter().all(|words| text.contains(words));
    screen.wait("the event log", told);
    screen.send("q");
    screen.send("q");
    let (status, is_clean) = screen.end();
    assert!(status.success() && is_clean);
    // Who goes on with the session reads the same.
    let args = ["--resume", "--provider", "script:script.yaml"];
    let mut again = Screen::start(home, 120, 36, &args);
    again.wait_for("Both are on the board.");
    again.send("\u{1b}");
    again.wait_for("? help");
    again.send("@");
    again.wait("the same sentences", told);
    again.wait_for("crewdeck was started again");
    again.send("q");
    again.wait_for("? help");
    again.send("q");
    let (status, is_clean) = again.end();
    assert!(status.success() && is_clean);
    assert_eq!(std::fs::read(&task).unwrap(), before);
    let other = crewdeck(home, &["replay", "ffffffff"]);
    assert_eq!(other.status.code(), Some(1));
    let line = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(line.contains("there is no session ffffffff"), "{line}");
}
