//! `crewdeck replay` in a real terminal: shows a finished session again and changes nothing.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::pty::Screen;

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

/// In this script, the lead creates two tasks and answers.
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

/// The lines that the event log shows for a session with [`SCRIPT`].
const LOG_LINES: &[&str] = &[
    "you → lead: go",
    "lead created #1 Write the parser",
    "lead created #2 Test the parser, blocked by #1",
];

#[test]
fn replay_steps_through_a_session_in_both_directions() {
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
    // The event log is empty at the beginning too.
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
    let has_all = |text: &str| LOG_LINES.iter().all(|words| text.contains(words));
    screen.wait("the event log", has_all);
    screen.send("q");
    screen.send(":");
    screen.wait_for("Enter choose");
    screen.send("write this conv");
    screen.wait_for("/export");
    screen.send("\r");
    let text = screen.wait_for("Conversation exported to crewdeck-");
    let name = text.split("exported to ").nth(1).unwrap();
    let name = name.split_whitespace().next().unwrap();
    let name = name.trim_end_matches('.');
    let exported = std::fs::read_to_string(home.join(name)).unwrap();
    assert!(exported.contains("Both are on the board."), "{exported}");
    // The first key closes the status message.
    screen.send("q");
    screen.wait("no status message", |text| !text.contains("exported to"));
    screen.send("q");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean);
    // The resumed session shows the same event log.
    let args = ["--resume", "--provider", "script:script.yaml"];
    let mut resumed = Screen::start(home, 120, 36, &args);
    resumed.wait_for("Both are on the board.");
    resumed.send("\u{1b}");
    resumed.wait_for("i to write");
    resumed.send("@");
    resumed.wait("the same sentences", has_all);
    resumed.wait("the line about the resumed session", |text| {
        let is_resumed = |line: &str| line.contains("session ") && line.contains(" resumed");
        text.lines().any(is_resumed)
    });
    resumed.send("q");
    resumed.wait_for("? help");
    resumed.send("q");
    let (status, is_clean) = resumed.wait_for_exit();
    assert!(status.success() && is_clean);
    assert_eq!(std::fs::read(&task).unwrap(), before);
    let other = crewdeck(home, &["replay", "ffffffff"]);
    assert_eq!(other.status.code(), Some(1));
    let line = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(line.contains("there is no session ffffffff"), "{line}");
}

#[test]
fn copy_that_is_too_long_says_so() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let words = "word ".repeat(22_000);
    let script = format!("rules:\n  - say: \"{words}the end\"\n");
    std::fs::write(home.join("script.yaml"), script).unwrap();
    let ran = crewdeck(home, &["run", "go", "--provider", "script:script.yaml"]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let mut screen = Screen::start(home, 120, 36, &["replay", "--speed", "1000"]);
    screen.wait("the end", |text| {
        text.contains("‖ replay") && text.contains("the end")
    });
    screen.send("1y");
    screen.wait_for("too long to copy");
    // The first key closes the status message.
    screen.send("q");
    screen.wait("no status message", |text| {
        !text.contains("too long to copy")
    });
    screen.send("q");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean);
}
