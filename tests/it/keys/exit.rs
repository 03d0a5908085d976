//! Interrupt, suspend and quit, and the keys of the setup page and the replay.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::common::pty::Screen;
use crate::keys::dashboard::{CTRL_C, Dashboard, ESC, has_line};

#[test]
fn interrupt_stops_an_agent_and_quit_asks_while_working() {
    let mut dashboard = Dashboard::with_new_crew(&[]);
    dashboard.press("wait\r", "Ctrl+c stop lead");
    dashboard.press(ESC, "i to write");
    dashboard.press("q", "still working");
    dashboard.clear("n", "still working");
    dashboard.press(CTRL_C, "· interrupted");
    dashboard
        .screen
        .wait("an idle lead", |t| has_line(t, &["1 Lead", "idle"]));
    dashboard.press("iwait\r", "Ctrl+c stop lead");
    dashboard.press(ESC, "i to write");
    dashboard.press("q", "still working");
    dashboard.send("y");
    let (status, is_clean) = dashboard.screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn suspend_and_foreground_restore_the_screen() {
    let dashboard = Dashboard::with_new_crew(&[]);
    let home = dashboard.home.path().to_path_buf();
    let Dashboard {
        home: _folder,
        screen,
    } = dashboard;
    let mut first = screen;
    first.send(&CTRL_C.repeat(3));
    first.wait_for_exit();
    // A suspended program needs a shell with job control.
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
    shell.wait_for_exit();
}

/// Reads from a replay's screen how many events are shown.
fn shown_event_count(text: &str) -> usize {
    let line = text.lines().find(|line| line.contains(" events "));
    let counts = line
        .and_then(|line| line.split_once('/'))
        .unwrap_or_default();
    let count = counts.0.rsplit(' ').next().unwrap_or_default();
    count.parse().unwrap_or_default()
}

#[test]
fn setup_page_and_replay_have_their_own_keys() {
    let home = tempfile::tempdir().unwrap();
    let mut first = Screen::start(home.path(), 100, 30, &[]);
    first.wait_for("start the demo");
    first.send("q");
    let (status, is_clean) = first.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");

    let dashboard = Dashboard::with_busy_crew();
    let home = dashboard.home.path().to_path_buf();
    let Dashboard {
        home: _folder,
        mut screen,
    } = dashboard;
    screen.send(&CTRL_C.repeat(3));
    screen.wait_for_exit();
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut replay = Screen::start_program(program, &home, 160, 45, &["replay"], &[]);
    replay.wait_for("replay 0:");
    replay.send(" ");
    replay.wait_for("‖");
    replay.send(">>>>");
    replay.wait_for("That was the needle in it.");
    replay.send("<<<<");
    // Read at a frame boundary: inside a frame the line may still be the old one.
    let count_at_start = replay.wait_frame(
        "the start of the replay",
        |t| !t.contains("That was the needle"),
        |screen| shown_event_count(&screen.contents()),
    );
    replay.send(".");
    replay.wait("the next event", |t| {
        shown_event_count(t) == count_at_start + 1
    });
    replay.send(",");
    replay.wait("the previous event", |t| {
        shown_event_count(t) == count_at_start
    });
    replay.send("]");
    replay.wait_for("2x");
    replay.send("[");
    replay.wait_for("1x");
    replay.send("q");
    let (status, is_clean) = replay.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn signal_ends_the_editor_and_restores_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("editor.sh");
    std::fs::write(&path, "#!/bin/sh\necho EDITING\nexec sleep 600\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut dashboard = Dashboard::with_new_crew(&[("EDITOR", &path.display().to_string())]);
    dashboard.send("\x18e");
    dashboard.wait_for("EDITING");
    let pid = dashboard.screen.pid().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(sent.unwrap().success());
    let (status, is_clean) = dashboard.screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn draft_without_a_crew_is_kept_in_the_demo() {
    let home = tempfile::tempdir().unwrap();
    let mut first = Screen::start(home.path(), 100, 30, &[]);
    first.wait_for("start the demo");
    first.send("i");
    first.send("my words");
    first.wait_for("my words");
    first.send(ESC);
    first.wait("the keys of the page", |t| !t.contains("Esc d"));
    first.send("d");
    first.wait_for("scripted");
    first.wait_for("my words");
    first.send(&CTRL_C.repeat(4));
    first.wait_for_exit();
}
