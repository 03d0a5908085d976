//! The screen in a pseudo terminal. The terminal is restored after a normal exit and after a panic.

use std::io::{Read, Write};
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::ui::fixture::busy;
use crate::ui::terminal::Screen;
use crate::ui::{Theme, ViewCache, draw};

/// The environment variable that is set in the child process. Its value says how the process ends.
const ROLE: &str = "CREWDECK_TEST_SCREEN_ENDS_BY";

/// Runs the UI if a test in this file has started this process in a pseudo terminal. Otherwise, does nothing.
#[test]
fn player() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let mut screen = Screen::enter().unwrap();
    let (width, height) = screen.size().unwrap();
    screen.set_title("crewdeck (1 needs you)").unwrap();
    let state = busy(width, height);
    let show = |screen: &mut Screen| {
        let mut cache = ViewCache::default();
        let drawn = screen.draw(|frame| draw(&state, &mut cache, &Theme::default(), frame));
        drawn.unwrap();
    };
    show(&mut screen);
    screen.restore_terminal().unwrap();
    screen.set_up().unwrap();
    show(&mut screen);
    show(&mut screen);
    assert!(role != "panic", "the view is broken");
}

/// Starts a child process in a pseudo terminal and returns all of its output. `role` says how the process ends.
fn run_in_pty(role: &str) -> String {
    let size = PtySize {
        rows: 45,
        cols: 160,
        ..PtySize::default()
    };
    let pty = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
    command.args(["ui::tests::pty::player", "--exact", "--nocapture"]);
    command.env(ROLE, role);
    command.env("TERM", "xterm-256color");
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut reader = pty.master.try_clone_reader().unwrap();
    let mut writer = pty.master.take_writer().unwrap();
    let (done, all) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Linux reports the end of a pseudo terminal as an error. What was read before the error is valid.
        let _ = reader.read_to_end(&mut bytes);
        let _ = done.send(bytes);
    });
    writer.flush().unwrap();
    child.wait().unwrap();
    let bytes = all.recv_timeout(Duration::from_secs(20)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn terminal_is_restored_after_exit_and_panic() {
    for role in ["return", "panic"] {
        let bytes = run_in_pty(role);
        let (left, last) = bytes.rsplit_once("\u{1b}[?1049l").unwrap();
        assert_eq!(left.matches("\u{1b}[?1049h").count(), 2, "{role}");
        assert_eq!(left.matches("\u{1b}[?1049l").count(), 1, "{role}");
        assert!(left.contains("Needs you"), "{role}");
        for on_and_off in [
            ("\u{1b}[?2004h", "\u{1b}[?2004l"),
            ("\u{1b}[?2026h", "\u{1b}[?2026l"),
        ] {
            let (on, off) = on_and_off;
            assert!(left.rfind(on) < left.rfind(off), "{role}: {off:?}");
        }
        assert!(last.contains("\u{1b}[?25h"), "{role}: the cursor");
        assert_eq!(last.contains("the view is broken"), role == "panic");
        // The output contains no query to the terminal, so the process never waits for an answer.
        for question in ["\u{1b}[6n", "\u{1b}[c", "\u{1b}[?u"] {
            assert!(!bytes.contains(question), "{role}: {question:?}");
        }
    }
}

#[test]
fn unchanged_frame_writes_almost_nothing() {
    let bytes = run_in_pty("return");
    let words = bytes.matches("Describe").count();
    assert_eq!(words, 2, "once for each time the terminal was taken");
}
