//! Holds the floors: who may import whom, what stays pure, where colours live, how long a file may be.

mod code;
mod imports;
mod types;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Floor by floor, lowest first: the folder or file below `src/`, and what it may import of the crate.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("domain", &["domain"]),
    ("protocol", &["domain", "protocol"]),
    ("process", &["domain", "process"]),
    ("store", &["domain", "store", "process"]),
    ("model", &["domain", "model"]),
    ("tools", &["domain", "store", "process", "tools"]),
    (
        "agent",
        &["domain", "protocol", "store", "model", "tools", "agent"],
    ),
    (
        "crew",
        &[
            "domain", "protocol", "store", "process", "model", "tools", "agent", "crew",
        ],
    ),
    ("ui", &["domain", "protocol", "ui"]),
    ("config", &["domain", "store", "config"]),
    ("cli", &["domain", "cli"]),
    ("verbs", &["domain", "store", "cli", "verbs"]),
    ("doctor", &["domain", "store", "process", "doctor"]),
    (
        "app",
        &[
            "domain", "protocol", "store", "process", "model", "tools", "agent", "crew", "ui",
            "config", "cli", "verbs", "doctor", "app",
        ],
    ),
    // Words alone: the promises and their tests.
    ("promises", &["domain", "store"]),
    (
        "fuzzing",
        &[
            "domain", "protocol", "store", "model", "tools", "ui", "config", "fuzzing",
        ],
    ),
    ("main", &["app", "cli", "domain"]),
    ("lib", &[]),
];

/// Where neither files, nor tasks, nor the clock may be touched.
const PURE: &[&str] = &[
    "domain/",
    "agent/turn/",
    "agent/idle.rs",
    "agent/prompt.rs",
    "agent/mail.rs",
    "model/retry.rs",
    "model/governor/call_queue.rs",
    "tools/policy",
    "tools/replace/",
    "process/confine/plan.rs",
    "process/confine/note.rs",
    "app/first",
    "ui/board",
    "ui/costs",
    "ui/diff",
    "ui/event_log",
    "ui/graph",
    "ui/guide/",
    "ui/known/",
    "ui/layout/",
    "ui/popup/",
    "ui/problems",
    "ui/update",
    "ui/view",
    "ui/transcript",
    "ui/keymap",
    "ui/replay",
    "ui/state/",
    "ui/textual/",
    "ui/theme/",
    "ui/writing/",
    "config/provider.rs",
    "doctor/finding.rs",
    "doctor/print.rs",
    "doctor/units.rs",
];

const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::thread",
    "tokio::",
    "SystemTime::now",
    "Instant::now",
];

/// Longest file, in lines; past about 400 a second idea begins.
const LINES_MAX: usize = 450;

struct Source {
    /// Below `src/`, with `/`.
    path: String,
    text: String,
}

/// The files below `src/` with that extension, sorted.
fn files(extension: &str) -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let paths = files("rs");
    let name = |p: &Path| {
        p.strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/")
    };
    paths
        .iter()
        .map(|p| Source {
            path: name(p),
            text: fs::read_to_string(p).unwrap(),
        })
        .collect()
}

/// The source without its comments: prose may name what code may not.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

fn floor(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

fn complain(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn each_floor_imports_only_what_lies_below_it() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_IMPORT.iter().copied().collect();
    let mut problems = Vec::new();
    for source in sources() {
        let here = floor(&source.path);
        let Some(may) = allowed.get(here) else {
            problems.push(format!(
                "src/{}: a floor that the table does not know",
                source.path
            ));
            continue;
        };
        for (line, text) in code(&source) {
            for start in ["crate::", "crewdeck::"] {
                for (at, _) in text.match_indices(start) {
                    let name: String = text[at + start.len()..]
                        .chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect();
                    if !name.is_empty() && !may.contains(&name.as_str()) {
                        problems.push(format!(
                            "src/{}:{line}: {here} may not see {name}",
                            source.path
                        ));
                    }
                }
            }
        }
    }
    complain(&problems);
}

#[test]
fn every_floor_of_the_table_is_there() {
    let all = sources();
    let missing: Vec<String> = MAY_IMPORT
        .iter()
        .filter(|(name, _)| !all.iter().any(|s| floor(&s.path) == *name))
        .map(|(name, _)| format!("src/{name} is in the table and not in the tree"))
        .collect();
    complain(&missing);
}

#[test]
fn pure_parts_touch_no_files_no_tasks_and_no_clock() {
    let mut problems = Vec::new();
    for source in sources()
        .iter()
        .filter(|s| PURE.iter().any(|p| s.path.starts_with(p)))
    {
        let until_tests = source
            .text
            .find("#[cfg(test)]")
            .unwrap_or(source.text.len());
        let last = source.text[..until_tests].lines().count();
        for (line, text) in code(source).take(last) {
            for word in IMPURE.iter().filter(|w| text.contains(**w)) {
                problems.push(format!(
                    "src/{}:{line}: a pure part uses {word}",
                    source.path
                ));
            }
        }
    }
    complain(&problems);
}

#[test]
fn colours_live_in_the_theme_alone() {
    let mut problems = Vec::new();
    for source in sources()
        .iter()
        .filter(|s| !s.path.starts_with("ui/theme/"))
    {
        for (line, text) in code(source) {
            if text.contains("Color::") {
                problems.push(format!(
                    "src/{}:{line}: name a style of the theme",
                    source.path
                ));
            }
        }
    }
    complain(&problems);
}

#[test]
fn no_file_eats_the_project_and_each_says_what_it_is_for() {
    let mut problems = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            problems.push(format!(
                "src/{}: {lines} lines, {LINES_MAX} at most",
                source.path
            ));
        }
        if !source.text.starts_with("//! ") {
            problems.push(format!(
                "src/{}: the first line must say what it is for",
                source.path
            ));
        }
    }
    complain(&problems);
}

#[test]
fn only_main_ends_the_process() {
    let mut problems = Vec::new();
    for source in sources() {
        for (line, text) in code(&source) {
            if text.contains("process::exit") || text.contains("process::abort") {
                problems.push(format!(
                    "src/{}:{line}: return an error instead",
                    source.path
                ));
            }
        }
    }
    complain(&problems);
}

#[test]
fn every_test_that_the_promises_name_is_there() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(base.join("src/promises.rs")).unwrap();
    let named: Vec<(&str, &str)> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.split_once(".rs::"))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    let problems: Vec<String> = named
        .iter()
        .filter(|(file, test)| {
            // `tests/x.rs::part::test` stands in `tests/x/part.rs`.
            let (file, test) = match test.split_once("::") {
                Some((part, test)) => (format!("{file}/{part}.rs"), test),
                None => (format!("{file}.rs"), *test),
            };
            let text = fs::read_to_string(base.join(file)).unwrap_or_default();
            !text.contains(&format!("fn {test}("))
        })
        .map(|(file, test)| format!("src/promises.rs names {file}.rs::{test}, which is not there"))
        .collect();
    complain(&problems);
}

#[test]
fn every_file_that_the_comparison_names_is_there() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(base.join("src/ui/compared.rs")).unwrap();
    // Files of other programs are named without these folders.
    let ours = |name: &&str| {
        let starts = ["src/", "tests/", "benches/"];
        let is_rust = Path::new(name).extension().is_some_and(|e| e == "rs");
        is_rust && starts.iter().any(|s| name.starts_with(s))
    };
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(ours).collect();
    assert!(named.len() > 40, "{named:?}");
    let problems: Vec<String> = named
        .iter()
        .filter(|name| !base.join(name).is_file())
        .map(|name| format!("src/ui/compared.rs names {name}, which is not there"))
        .collect();
    complain(&problems);
}

#[test]
fn every_picture_that_is_kept_belongs_to_a_file_that_takes_some() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pictures = files("snap");
    assert!(pictures.len() > 50, "{}", pictures.len());
    let takes = |picture: &PathBuf| {
        let text = fs::read_to_string(picture).unwrap();
        let source = text.lines().find_map(|l| l.strip_prefix("source: "));
        let source = fs::read_to_string(base.join(source.unwrap()));
        source.is_ok_and(|source| source.contains("insta::assert"))
    };
    let left = pictures.iter().filter(|picture| !takes(picture));
    let problems: Vec<String> = left
        .map(|picture| format!("{}: nothing takes it any more", picture.display()))
        .collect();
    complain(&problems);
}
