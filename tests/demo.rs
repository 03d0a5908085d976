//! The demo in a real terminal, from the first screen to the end, decided by keys as a person would.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/pty.rs"]
#[allow(dead_code)] // other tests use more of it
mod pty;

use std::process::Command;

use pty::Screen;

const ALT_W: &str = "\x1bw";

/// Waits for the card, goes there and approves it, as the hint line says.
fn approve(screen: &mut Screen, card: &str) {
    screen.wait_for(card);
    screen.send(ALT_W);
    screen.wait_for("a approve");
    // A card that has just come can not be decided by a key that was meant for another one.
    screen.wait("the selected card", |text| {
        text.contains("approve") && text.contains(card)
    });
    std::thread::sleep(std::time::Duration::from_millis(450));
    screen.send("a");
    screen.wait("the card is gone", |text| !text.contains(card));
}

#[test]
fn the_team_works_and_the_person_decides_by_key() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    let shown = project.display().to_string();
    let mut screen = Screen::start(
        dir.path(),
        160,
        45,
        &["--demo", "--speed", "4", "--dir", &shown],
    );
    screen.wait_for("Write lib/words.sh");
    screen.wait_for("blocked by #2 #3");
    approve(&mut screen, "bob asks you to approve its plan");
    screen.wait_for("4/4 done");
    approve(&mut screen, "lead wants bob to shut down");
    screen.wait("bob is gone", |text| {
        text.lines()
            .any(|l| l.contains("bob") && l.contains("gone"))
    });
    screen.wait_for("That was the demo");

    let tests = Command::new("sh")
        .arg("tests/run.sh")
        .current_dir(&project)
        .output()
        .unwrap();
    assert!(tests.status.success(), "the work is really done: {tests:?}");
    let status = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(&project)
        .output()
        .unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert_eq!(
        status, "?? lib/\n?? tests/\n",
        "the state folders are not in git's view"
    );

    screen.send("/quit\r");
    let (status, is_clean) = screen.end();
    assert!(
        status.success() && is_clean,
        "{status:?}, terminal clean: {is_clean}"
    );
}

#[test]
fn sigterm_gives_the_terminal_back_and_ends_every_child() {
    let dir = tempfile::tempdir().unwrap();
    let screen = Screen::start(dir.path(), 100, 30, &["--demo"]);
    screen.wait_for("Needs you");
    let pid = screen.pid().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    let (status, is_clean) = screen.end();
    assert!(
        status.success() && is_clean,
        "{status:?}, terminal clean: {is_clean}"
    );
}
