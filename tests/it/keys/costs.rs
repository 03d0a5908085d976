//! The cost panel: the same live, in the recording and after a restart, and what it leads to.

use std::path::Path;

use crate::common::pty::Screen;
use crate::keys::dashboard::{CTRL_C, Dashboard, ESC};

/// Calls, input, what was read from and written to the cache, and output of an agent, as the panel on the screen has
/// them: the only line in which figures follow its name.
fn figures(text: &str, agent: &str) -> Option<Vec<String>> {
    let name = format!(" {agent} ");
    let behind = text.lines().filter_map(|line| line.split_once(&name));
    behind
        .map(|(_, behind)| behind.split_whitespace().take(5))
        .map(|words| words.map(str::to_string).collect::<Vec<_>>())
        .find(|words| words.len() == 5 && words.iter().all(|w| w.starts_with(char::is_numeric)))
}

#[test]
fn cost_panel_matches_in_replay_and_after_restart() {
    let mut dashboard = Dashboard::full();
    dashboard.press(ESC, "? help");
    dashboard.press("$", "╭ Cost");
    let text = dashboard.sees("in flight");
    let alice = figures(&text, "alice").unwrap();
    assert!(alice[0].parse::<u64>().unwrap() >= 2, "{text}");
    dashboard.press("y", "Copied the figures.");
    dashboard.clear("$", "╭ Cost");
    dashboard.press("$", "╭ Cost");
    dashboard.clear("\r", "╭ Cost");
    let home = dashboard.home.path().to_path_buf();
    let Dashboard {
        home: _folder,
        mut screen,
    } = dashboard;
    screen.send(&CTRL_C.repeat(4));
    screen.end();
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut replay = Screen::start_program(program, &home, 160, 45, &["replay"], &[]);
    replay.wait_for("replay 0:");
    replay.send(" >>>>>>>>");
    replay.wait_for("Which way do we go?");
    replay.send("$");
    replay.wait("the figures of alice as they were", |t| {
        figures(t, "alice").as_ref() == Some(&alice)
    });
    replay.send("q");
    replay.wait("the panel closed", |t| !t.contains("╭ Cost"));
    replay.send("q");
    replay.end();
    let mut again = crate::keys::dashboard::start(&home, &[], &["--resume"]);
    again.send(ESC);
    again.wait_for("? help");
    again.send("$");
    again.wait("the figures of alice after a restart", |t| {
        figures(t, "alice").as_ref() == Some(&alice)
    });
    again.send(&CTRL_C.repeat(5));
    again.end();
}
