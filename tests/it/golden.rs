//! Boards written by other programs, and what crewdeck does with them.
//!
//! `tests/golden/NAME/before` is the `.tasks` folder of the other program, `steps` lists the commands to run, and `after` is the
//! expected folder. A step is a line with arguments of `crewdeck`. The lines after it are checks: `!` the command fails with this
//! text, `?` stderr contains it, `=` stdout contains it. `GOLDEN=write cargo test --test it golden` rewrites the `after` folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::project::Project;
use pretty_assertions::assert_eq;

#[test]
fn boards_of_other_programs_are_handled() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut count = 0;
    for entry in fs::read_dir(golden).unwrap() {
        let board = entry.unwrap().path();
        // `events` has lines of journals, which `protocol::event::golden_tests` reads.
        if board.ends_with("events") {
            continue;
        }
        check_board(&board);
        count += 1;
    }
    assert!(count >= 10, "{count} folders");
}

fn check_board(board: &Path) {
    let name = board.file_name().unwrap().to_string_lossy().into_owned();
    let started_at = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let project = Project::new();
    let tasks = project.file(".tasks");
    fs::create_dir(&tasks).unwrap();
    for (file, bytes) in read_folder(&board.join("before")) {
        let path = tasks.join(file);
        fs::write(&path, bytes).unwrap();
        // Old modification times: crewdeck does not wait for incomplete files.
        let old = SystemTime::now() - Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(old).unwrap();
    }
    run_steps(
        &name,
        &project,
        &fs::read_to_string(board.join("steps")).unwrap(),
    );
    let mut after = read_folder(&tasks);
    after.retain(|file, _| !file.starts_with('.'));
    for bytes in after.values_mut() {
        *bytes = replace_recent_times(bytes, started_at);
    }
    let expected = board.join("after");
    if std::env::var_os("GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&expected);
        fs::create_dir(&expected).unwrap();
        for (file, bytes) in &after {
            fs::write(expected.join(file), bytes).unwrap();
        }
    }
    let text = |files: BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
        let lossy = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
        files.into_iter().map(|(f, b)| (f, lossy(b))).collect()
    };
    assert_eq!(text(after), text(read_folder(&expected)), "{name}");
}

fn run_steps(name: &str, project: &Project, text: &str) {
    let mut lines = text.lines().peekable();
    while let Some(step) = lines.next() {
        let args: Vec<&str> = step.split(' ').collect();
        let ran = project.run(&args);
        let mut code = 0;
        while let Some(check) = lines.next_if(|l| l.starts_with(['!', '?', '='])) {
            let (kind, words) = check.split_at(2);
            let output = match kind {
                "! " => {
                    code = 1;
                    assert_eq!(
                        (ran.out().as_str(), ran.err().lines().count()),
                        ("", 1),
                        "{name}: {step}"
                    );
                    ran.err()
                }
                "? " => ran.err(),
                "= " => ran.out(),
                other => panic!("{name}: {step}: {other}"),
            };
            assert!(output.contains(words), "{name}: {step}: {words}\n{output}");
        }
        assert_eq!(ran.code(), code, "{name}: {step}: {}", ran.err());
    }
}

fn read_folder(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    files
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Replaces each time after `started_at` by `NOW`, because these times differ from run to run.
fn replace_recent_times(bytes: &[u8], started_at: f64) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return bytes.to_vec();
    };
    let line = |line: &str| {
        let (field, value) = line.split_once("_at\": ")?;
        let comma = if value.trim_end().ends_with(',') {
            ","
        } else {
            ""
        };
        let time: f64 = value.trim_end().trim_end_matches(',').parse().ok()?;
        (time >= started_at).then(|| format!("{field}_at\": NOW{comma}\n"))
    };
    let lines = text.split_inclusive('\n');
    let lines = lines.map(|l| line(l).unwrap_or_else(|| l.to_string()));
    lines.collect::<String>().into_bytes()
}
