//! The cost panel: its keys, and the same figures live, in a replay, and after a restart.

use std::path::Path;

use crate::common::pty::Screen;
use crate::keys::dashboard::{CTRL_C, Dashboard, ESC};

/// Returns the figures of an agent in the cost panel: calls, input, cache reads, cache writes, output. The agent's line
/// in this panel is the only one with five numbers after the name.
fn agent_figures(text: &str, agent: &str) -> Option<Vec<String>> {
    let name = format!(" {agent} ");
    let after_name = text.lines().filter_map(|line| line.split_once(&name));
    after_name
        .map(|(_, rest)| {
            let words = rest.split_whitespace().map(str::to_string);
            // The name of the agent's model may come before the figures.
            let is_model = |word: &String| !word.starts_with(char::is_numeric);
            words.skip_while(is_model).take(5).collect::<Vec<_>>()
        })
        .find(|words| words.len() == 5 && words.iter().all(|w| w.starts_with(char::is_numeric)))
}

#[test]
fn cost_panel_matches_in_replay_and_after_restart() {
    let mut dashboard = Dashboard::with_busy_crew();
    dashboard.press(ESC, "i to write");
    dashboard.press("$", "╭ Cost");
    let text = dashboard.wait_for("running, ");
    let alice = agent_figures(&text, "alice").unwrap();
    assert!(alice[0].parse::<u64>().unwrap() >= 2, "{text}");
    dashboard.press("y", "Copied the usage tables.");
    // The mark of the order goes to the column of names, then to that of calls.
    dashboard.press("s", "▾agent");
    dashboard.press("s", "▾calls");
    dashboard.clear("$", "╭ Cost");
    dashboard.press("$", "╭ Cost");
    dashboard.clear("\r", "╭ Cost");
    let home = dashboard.home.path().to_path_buf();
    let Dashboard {
        home: _folder,
        mut screen,
    } = dashboard;
    screen.send(&CTRL_C.repeat(4));
    screen.wait_for_exit();
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let mut replay = Screen::start_program(program, &home, 160, 45, &["replay"], &[]);
    replay.wait_for("replay 0:");
    replay.send(" >>>>>>>>");
    replay.wait_for("Which way do we go?");
    replay.send("$");
    replay.wait("the figures of alice as they were", |t| {
        agent_figures(t, "alice").as_ref() == Some(&alice)
    });
    replay.send("q");
    replay.wait("the panel closed", |t| !t.contains("╭ Cost"));
    replay.send("q");
    replay.wait_for_exit();
    let mut restarted = crate::keys::dashboard::start(&home, &[], &["--resume"]);
    restarted.send(ESC);
    restarted.wait_for("i to write");
    restarted.send("$");
    restarted.wait("the figures of alice after a restart", |t| {
        agent_figures(t, "alice").as_ref() == Some(&alice)
    });
    restarted.send(&CTRL_C.repeat(5));
    restarted.wait_for_exit();
}
