//! Checks the shell commands in tests: none waits by time for another process or agent.

use std::fs;
use std::path::{Path, PathBuf};

use super::assert_no_problems;

/// This file, whose examples the check must skip.
const OWN_PATH: &str = "tests/it/architecture/scripts.rs";

/// A longer sleep, in seconds, stands for a command that never ends. The test kills it.
const ENDLESS: f64 = 100.0;

/// Sleeps on which no precondition depends: the file, the command and the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "tests/it/checks/preparation.rs",
        "|| sleep 1.2",
        "The time that the command takes is measured.",
    ),
    (
        "tests/it/crash/script.yaml",
        "sleep 0.1; cat aaa.txt",
        "The job only takes some time, so that a kill can hit it.",
    ),
    (
        "tests/it/external/kills/round.rs",
        "sleep 0.3 && echo checked",
        "The command takes some time, so that a kill can hit it.",
    ),
    (
        "tests/it/hook_events/turns.rs",
        "\"sleep 3\"",
        "The hook is slower than the time after which a hook is shown.",
    ),
    (
        "tests/it/hub_worker/outages.rs",
        "beats.txt; sleep 0.1",
        "The pause limits how fast the agent repeats the command.",
    ),
    (
        "tests/it/needs.rs",
        "rm -rf first; sleep 6",
        "The command takes longer than the focus would stay after a key press.",
    ),
    (
        "tests/it/race/readers.rs",
        "sleep 0.02; date +%N",
        "The pause limits how fast the agent repeats the command.",
    ),
    (
        "tests/it/command_limits.rs",
        "do sleep 0.2 & done",
        "The test needs the processes, not their duration.",
    ),
    (
        "tests/it/command_limits.rs",
        "/dev/shm/x; sleep 1",
        "The file exists for some time, and no limit ends the command.",
    ),
    (
        "tests/it/supervisor.rs",
        "sleep 0.01 & wait",
        "The shell waits for the process; the duration does not matter.",
    ),
    (
        "tests/it/supervisor.rs",
        "sleep 0.02 & echo",
        "The process outlives the shell or not; the result is the same.",
    ),
];

/// Returns the Rust, YAML and shell files below `tests/`, relative to the root of the repository.
fn test_files() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<PathBuf> = vec![root.join("tests")];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let has_scripts = |e: &std::ffi::OsStr| e == "rs" || e == "yaml" || e == "sh";
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(has_scripts) {
                let path = path.strip_prefix(root).unwrap().to_string_lossy();
                out.push(path.replace('\\', "/"));
            }
        }
    }
    out
}

/// Returns whether a line has a short `sleep` that is not the pause of an `until` or `while` loop.
fn waits_by_time(line: &str) -> bool {
    line.match_indices("sleep ").any(|(at, word)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let seconds: String = after
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let is_short = seconds.parse::<f64>().is_ok_and(|s| s < ENDLESS);
        let in_loop =
            before.ends_with("do ") && (before.contains("until ") || before.contains("while "));
        is_short && !in_loop
    })
}

#[test]
fn sleep_outside_of_a_polling_loop_is_found() {
    assert!(waits_by_time("command: \"touch a; sleep 0.3; ls\""));
    assert!(waits_by_time(
        "until [ -e a ]; do sleep 0.05; done; sleep 1"
    ));
    assert!(waits_by_time("for n in 1 2; do sleep 2; done"));
    assert!(!waits_by_time("until [ -e a ]; do sleep 0.05; done"));
    assert!(!waits_by_time("sleep 600 & echo started"));
    assert!(!waits_by_time("std::thread::sleep(pause)"));
}

#[test]
fn no_script_in_a_test_waits_by_time() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut problems = Vec::new();
    let mut unused: Vec<_> = EXCEPTIONS.iter().collect();
    for path in test_files().iter().filter(|path| *path != OWN_PATH) {
        let text = fs::read_to_string(root.join(path)).unwrap();
        for (at, line) in text.lines().enumerate() {
            if !waits_by_time(line) {
                continue;
            }
            let is_listed = |e: &(&str, &str, &str)| e.0 == path && line.contains(e.1);
            if !EXCEPTIONS.iter().any(is_listed) {
                let number = at + 1;
                problems.push(format!(
                    "{path}:{number}: wait for the state with `until …; do sleep 0.05; done` instead of by time"
                ));
            }
            unused.retain(|e| !is_listed(e));
        }
    }
    let unused = unused.iter().map(|(path, part, _)| {
        format!("EXCEPTIONS lists `{part}` in {path}, which does not exist")
    });
    problems.extend(unused);
    assert_no_problems(&problems);
}
