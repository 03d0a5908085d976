//! Boards of other programs: what crewdeck makes of them, file by file.
//!
//! `tests/golden/NAME/before` is the `.tasks` folder as the other program left it, `steps` what is done with it, and
//! `after` what must be there then. A step is a line of arguments of `crewdeck`; behind it may follow lines
//! that begin with `!` (it is refused with these words), `?` (these words are on stderr) or `=` (these are on stdout).
//! `GOLDEN=write cargo test --test it golden` writes the folders `after` anew.

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
        let place = entry.unwrap().path();
        walk(&place);
        count += 1;
    }
    assert!(count >= 10, "{count} folders");
}

fn walk(place: &Path) {
    let name = place.file_name().unwrap().to_string_lossy().into_owned();
    let began = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let project = Project::new();
    let tasks = project.file(".tasks");
    fs::create_dir(&tasks).unwrap();
    for (file, bytes) in folder(&place.join("before")) {
        let path = tasks.join(file);
        fs::write(&path, bytes).unwrap();
        // Left alone for long: what is half written is not waited for.
        let old = SystemTime::now() - Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(old).unwrap();
    }
    steps(
        &name,
        &project,
        &fs::read_to_string(place.join("steps")).unwrap(),
    );
    let mut after = folder(&tasks);
    after.retain(|file, _| !file.starts_with('.'));
    for bytes in after.values_mut() {
        *bytes = timeless(bytes, began);
    }
    let wanted = place.join("after");
    if std::env::var_os("GOLDEN").is_some() {
        let _ = fs::remove_dir_all(&wanted);
        fs::create_dir(&wanted).unwrap();
        for (file, bytes) in &after {
            fs::write(wanted.join(file), bytes).unwrap();
        }
    }
    let text = |files: BTreeMap<String, Vec<u8>>| -> BTreeMap<String, String> {
        let lossy = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
        files.into_iter().map(|(f, b)| (f, lossy(b))).collect()
    };
    assert_eq!(text(after), text(folder(&wanted)), "{name}");
}

fn steps(name: &str, project: &Project, text: &str) {
    let mut lines = text.lines().peekable();
    while let Some(step) = lines.next() {
        let args: Vec<&str> = step.split(' ').collect();
        let ran = project.run(&args);
        let mut code = 0;
        while let Some(check) = lines.next_if(|l| l.starts_with(['!', '?', '='])) {
            let (kind, words) = check.split_at(2);
            let heard = match kind {
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
            assert!(heard.contains(words), "{name}: {step}: {words}\n{heard}");
        }
        assert_eq!(ran.code(), code, "{name}: {step}: {}", ran.err());
    }
}

fn folder(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    files
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Times of the test run itself are no part of what is compared.
fn timeless(bytes: &[u8], began: f64) -> Vec<u8> {
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
        (time >= began).then(|| format!("{field}_at\": NOW{comma}\n"))
    };
    let lines = text.split_inclusive('\n');
    let lines = lines.map(|l| line(l).unwrap_or_else(|| l.to_string()));
    lines.collect::<String>().into_bytes()
}
