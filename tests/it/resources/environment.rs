//! Missing environment: no home, no temporary directory, no terminal, another locale, a terminal without a size.

use std::path::Path;
use std::process::Command;

use crate::common::limited_resources::{RUN_ARGS, crewdeck, run_to_end, write_script};
use crate::common::pty::Screen;
use crate::common::wait::wait_until;

const ANSWER: &str = "  - say: Done.\n    times: 0\n";

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_script(dir.path(), ANSWER);
    dir
}

#[test]
fn run_works_without_home_or_temporary_directory() {
    let dir = project();
    let run = |with: &dyn Fn(&mut Command)| {
        let mut command = crewdeck(dir.path(), RUN_ARGS);
        with(&mut command);
        let run = run_to_end(command).ok();
        assert_eq!(run.out, "Done.\n", "{}", run.err);
    };
    run(&|c| _ = c.env_remove("HOME"));
    run(&|c| _ = c.env("HOME", "/nowhere"));
    run(&|c| _ = c.env("HOME", ""));
    run(&|c| _ = c.env("TMPDIR", "/nowhere"));
    run(&|c| _ = c.env_remove("TMPDIR").env_remove("HOME"));
    run(&|c| _ = c.env_remove("PATH"));
    run(&|c| _ = c.env("LC_ALL", "C").env("LANG", "C"));
    // The demo creates its repository in the temporary directory.
    let mut demo = crewdeck(dir.path(), &["run", "--demo"]);
    demo.env("TMPDIR", "/nowhere");
    let refused = run_to_end(demo).expect_refusal();
    assert!(
        refused.contains("/nowhere") && refused.contains("--dir"),
        "{refused}"
    );
}

#[test]
fn dashboard_without_a_terminal_points_to_crewdeck_run() {
    let dir = project();
    for args in [&[][..], &["--demo"]] {
        let refused = run_to_end(crewdeck(dir.path(), args)).expect_refusal();
        assert!(
            refused.contains("needs a terminal") && refused.contains("crewdeck run"),
            "{refused}"
        );
    }
}

fn start_dashboard(dir: &Path, cols: u16, rows: u16, more: &[(&str, &str)]) -> Screen {
    let program = Path::new(env!("CARGO_BIN_EXE_crewdeck"));
    let args = ["--provider", "script:script.yaml"];
    Screen::start_program(program, dir, cols, rows, &args, more)
}

/// Waits until the crew is ready. At first, a page about the directory can cover the screen.
pub fn wait_for_crew(screen: &Screen) {
    screen.wait("the crew", |t| {
        t.contains("scripted") && t.contains(" to lead ")
    });
}

fn quit(mut screen: Screen) {
    screen.send("\x03\x03\x03");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(status.success() && is_clean, "{status:?} {is_clean}");
}

#[test]
fn any_terminal_name_and_locale_works() {
    for env in [
        &[("TERM", "")][..],
        &[("TERM", "dumb")],
        &[("TERM", "no-such-terminal")],
        &[("LC_ALL", "C"), ("LANG", "C")],
        &[("HOME", "")],
        &[("TMPDIR", "/nowhere")],
    ] {
        let dir = project();
        let screen = start_dashboard(dir.path(), 100, 30, env);
        wait_for_crew(&screen);
        quit(screen);
    }
}

#[test]
fn dashboard_waits_for_a_usable_terminal_size() {
    for (cols, rows) in [(1, 1), (2, 1), (1, 5)] {
        let dir = project();
        let screen = start_dashboard(dir.path(), cols, rows, &[]);
        screen.resize(100, 30);
        wait_for_crew(&screen);
        screen.resize(1, 1);
        screen.resize(100, 30);
        wait_for_crew(&screen);
        quit(screen);
    }
    // Some consoles report no rows and no columns.
    let dir = project();
    let script = "stty rows 0 cols 0; exec \"$0\" --provider script:script.yaml";
    let screen = Screen::start_program(
        Path::new("/bin/sh"),
        dir.path(),
        100,
        30,
        &["-c", script, env!("CARGO_BIN_EXE_crewdeck")],
        &[],
    );
    wait_until("the dashboard uses the alternate screen", || {
        screen.raw().windows(8).any(|w| w == b"\x1b[?1049h")
    });
    screen.resize(100, 30);
    wait_for_crew(&screen);
    quit(screen);
}
