//! Stopping, sleeping, leaving; and the two pages without a crew.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::desk::{CTRL_C, Desk, ESC, has_line};
use crate::pty::Screen;

#[test]
fn an_agent_is_stopped_and_leaving_asks_while_one_works() {
    let mut desk = Desk::empty(&[]);
    desk.press("wait\r", "Ctrl+c stop lead");
    desk.press(ESC, "? help");
    desk.press("q", "still working");
    desk.clear("n", "still working");
    desk.press(CTRL_C, "· interrupted");
    desk.screen
        .wait("the lead rests", |t| has_line(t, &["1 Lead", "idle"]));
    desk.press("iwait\r", "Ctrl+c stop lead");
    desk.press(ESC, "? help");
    desk.press("q", "still working");
    desk.keys("y");
    let (status, is_clean) = desk.screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn it_sleeps_and_comes_back() {
    let desk = Desk::empty(&[]);
    let home = desk.home.path().to_path_buf();
    let Desk {
        home: _folder,
        screen,
    } = desk;
    let mut first = screen;
    first.send(&CTRL_C.repeat(3));
    first.end();
    // Only a shell with jobs can wake who sleeps.
    let mut shell = Screen::start_program(
        Path::new("/bin/bash"),
        &home,
        100,
        30,
        &["--norc", "--noprofile", "-i"],
        &[("PS1", "READY> ")],
    );
    shell.wait_for("READY>");
    let program = env!("CARGO_BIN_EXE_crewdeck");
    shell.send(&format!("{program} --provider script:script.yaml\r"));
    shell.wait("the crew", |t| {
        t.contains("scripted") && t.contains(" to lead ")
    });
    shell.send("kept words");
    shell.wait_for("kept words");
    shell.send("\x1a");
    shell.wait_for("Stopped");
    shell.send("fg\r");
    shell.wait("the same screen", |t| {
        t.contains("kept words") && t.contains(" to lead ")
    });
    shell.send(&CTRL_C.repeat(3));
    shell.wait("the shell", |t| {
        !t.contains(" to lead ") && t.contains("READY>")
    });
    shell.send("exit\r");
    shell.end();
}

/// How many events of a recording the screen shows.
fn happened(text: &str) -> usize {
    let line = text.lines().find(|line| line.contains(" events "));
    let counts = line
        .and_then(|line| line.split_once('/'))
        .unwrap_or_default();
    let count = counts.0.rsplit(' ').next().unwrap_or_default();
    count.parse().unwrap_or_default()
}

#[test]
fn the_first_page_and_a_recording_have_their_own_keys() {
    let bare = tempfile::tempdir().unwrap();
    let mut first = Screen::start(bare.path(), 100, 30, &[]);
    first.wait_for("start the demo");
    first.send("q");
    let (status, is_clean) = first.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");

    let desk = Desk::full();
    let home = desk.home.path().to_path_buf();
    let Desk {
        home: _folder,
        mut screen,
    } = desk;
    screen.send(&CTRL_C.repeat(3));
    screen.end();
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut replay = Screen::start_program(program, &home, 160, 45, &["replay"], &[]);
    replay.wait_for("replay 0:");
    replay.send(" ");
    replay.wait_for("‖");
    replay.send(">>>>");
    replay.wait_for("That was the needle in it.");
    replay.send("<<<<");
    // Read between two frames: in the middle of one the line below may still be the old one.
    let begun = replay.wait_frame(
        "the beginning",
        |t| !t.contains("That was the needle"),
        |screen| happened(&screen.contents()),
    );
    replay.send(".");
    replay.wait("one event more", |t| happened(t) == begun + 1);
    replay.send(",");
    replay.wait("one event less", |t| happened(t) == begun);
    replay.send("]");
    replay.wait_for("2x");
    replay.send("[");
    replay.wait_for("1x");
    replay.send("q");
    let (status, is_clean) = replay.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn who_ends_crewdeck_ends_the_editor_too_and_the_terminal_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("editor.sh");
    std::fs::write(&path, "#!/bin/sh\necho EDITING\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut desk = Desk::empty(&[("EDITOR", &path.display().to_string())]);
    desk.keys("\x18e");
    desk.sees("EDITING");
    let pid = desk.screen.pid().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(asked.unwrap().success());
    let (status, is_clean) = desk.screen.end();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn what_was_written_without_a_crew_goes_along_into_the_demo() {
    let bare = tempfile::tempdir().unwrap();
    let mut first = Screen::start(bare.path(), 100, 30, &[]);
    first.wait_for("start the demo");
    first.send("i");
    first.send("my words");
    first.wait_for("my words");
    first.send(ESC);
    first.wait_for("q quit");
    first.send("d");
    first.wait_for("scripted");
    first.wait_for("my words");
    first.send(&CTRL_C.repeat(4));
    first.end();
}
