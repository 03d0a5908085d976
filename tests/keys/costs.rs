//! The cost panel: the same live, in the recording and after a restart, and what it leads to.

use std::path::Path;

use crate::desk::{CTRL_C, Desk, ESC};
use crate::pty::Screen;

/// Calls, input, read, written and output of an agent, as the panel on the screen has them.
fn figures(text: &str, agent: &str) -> Option<Vec<String>> {
    let line = text
        .lines()
        .find(|l| l.contains(&format!(" {agent} ")) && l.contains("no price"))?;
    let (_, behind) = line.split_once(&format!(" {agent} "))?;
    Some(
        behind
            .split_whitespace()
            .take(5)
            .map(str::to_string)
            .collect(),
    )
}

#[test]
fn the_cost_panel_leads_to_an_agent_and_a_task() {
    let mut desk = Desk::full();
    desk.press(ESC, "? help");
    desk.press("$", "╭ Cost");
    let text = desk.sees("in flight");
    let alice = figures(&text, "alice").unwrap();
    assert!(alice[0].parse::<u64>().unwrap() >= 2, "{text}");
    desk.press("y", "Copied the figures.");
    desk.clear("$", "╭ Cost");
    desk.press("$", "╭ Cost");
    desk.clear("\r", "╭ Cost");
    let home = desk.home.path().to_path_buf();
    let Desk {
        home: _folder,
        mut screen,
    } = desk;
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
    let mut again = crate::desk::start(&home, &[], &["--resume"]);
    again.send(ESC);
    again.wait_for("? help");
    again.send("$");
    again.wait("the figures of alice after a restart", |t| {
        figures(t, "alice").as_ref() == Some(&alice)
    });
    again.send(&CTRL_C.repeat(5));
    again.end();
}
