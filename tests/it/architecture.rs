//! Checks the architecture of `src/`: allowed imports between layers, pure modules, the use of colours, and file lengths.

mod code;
mod imports;
mod scripts;
mod types;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first: the folder or file below `src/`, and the layers that it may import.
const ALLOWED_IMPORTS: &[(&str, &[&str])] = &[
    ("domain", &["domain"]),
    ("protocol", &["domain", "protocol"]),
    ("process", &["domain", "process"]),
    ("store", &["domain", "protocol", "store", "process"]),
    ("checks", &["domain", "process", "store", "checks"]),
    ("http", &["http"]),
    ("model", &["domain", "http", "model"]),
    ("hooks", &["domain", "process", "store", "hooks"]),
    ("mcp", &["domain", "store", "process", "http", "mcp"]),
    ("acp", &["domain", "process", "acp"]),
    ("tools", &["domain", "store", "process", "tools"]),
    (
        "agent",
        &[
            "domain", "protocol", "store", "model", "acp", "tools", "agent",
        ],
    ),
    (
        "crew",
        &[
            "domain", "protocol", "store", "process", "checks", "model", "hooks", "mcp", "acp",
            "tools", "agent", "crew",
        ],
    ),
    ("ui", &["domain", "protocol", "ui"]),
    ("config", &["domain", "store", "model", "tools", "config"]),
    ("cli", &["domain", "model", "cli"]),
    (
        "commands",
        &["domain", "store", "process", "cli", "commands"],
    ),
    ("doctor", &["domain", "store", "process", "doctor"]),
    (
        "app",
        &[
            "domain", "protocol", "store", "process", "checks", "model", "hooks", "mcp", "acp",
            "tools", "agent", "crew", "ui", "config", "cli", "commands", "doctor", "app",
        ],
    ),
    (
        "fuzzing",
        &[
            "domain", "protocol", "store", "model", "mcp", "acp", "tools", "ui", "config",
            "fuzzing",
        ],
    ),
    ("main", &["app", "cli", "domain"]),
    ("lib", &[]),
];

/// Path prefixes of the pure modules, whose code must not contain anything in [`IMPURE`].
const PURE: &[&str] = &[
    "domain/",
    "agent/turn/",
    "agent/idle.rs",
    "agent/prompt.rs",
    "agent/mail.rs",
    "model/provider.rs",
    "model/providers.rs",
    "model/retry.rs",
    "model/rate_limiter/call_queue.rs",
    "mcp/content.rs",
    "mcp/schema.rs",
    "mcp/tools.rs",
    "mcp/types.rs",
    "tools/policy",
    "tools/replace/",
    "process/sandbox/plan.rs",
    "process/sandbox/note.rs",
    "app/onboarding",
    "ui/app/",
    "ui/diff/",
    "ui/frame/",
    "ui/graph/",
    "ui/keymap/",
    "ui/model/",
    "ui/panes/",
    "ui/pictures/",
    "ui/popups/",
    "ui/replay/",
    "ui/shell/",
    "ui/text/",
    "ui/theme/",
    "ui/transcript/",
    "ui/widgets/",
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

/// Maximum length of a source file, in lines that are no comments.
const LINES_MAX: usize = 450;

struct Source {
    /// Relative to `src/`, with `/` as the separator.
    path: String,
    text: String,
}

/// Returns the files below `src/` whose names end with `extension`, sorted.
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

/// Returns each line with its number and without its comment, because comments may name what code must not use.
fn code(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    source
        .text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

fn layer_of(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

fn assert_no_problems(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn each_layer_imports_only_allowed_layers() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED_IMPORTS.iter().copied().collect();
    let mut problems = Vec::new();
    for source in sources() {
        let layer = layer_of(&source.path);
        let Some(imports) = allowed.get(layer) else {
            problems.push(format!(
                "src/{}: a layer that ALLOWED_IMPORTS does not list",
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
                    if !name.is_empty() && !imports.contains(&name.as_str()) {
                        problems.push(format!(
                            "src/{}:{line}: {layer} must not import {name}",
                            source.path
                        ));
                    }
                }
            }
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn every_listed_layer_exists() {
    let all = sources();
    let missing: Vec<String> = ALLOWED_IMPORTS
        .iter()
        .filter(|(name, _)| !all.iter().any(|s| layer_of(&s.path) == *name))
        .map(|(name, _)| format!("ALLOWED_IMPORTS lists src/{name}, which does not exist"))
        .collect();
    assert_no_problems(&missing);
}

#[test]
fn pure_modules_use_no_files_threads_or_clock() {
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
                    "src/{}:{line}: a pure module uses {word}",
                    source.path
                ));
            }
        }
    }
    assert_no_problems(&problems);
}

/// Returns whether a line names ratatui's type `Color`. A longer name that ends with it does not count.
fn names_color(text: &str) -> bool {
    text.match_indices("Color::")
        .any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric()))
}

#[test]
fn colours_are_used_only_in_the_theme() {
    let mut problems = Vec::new();
    for source in sources()
        .iter()
        .filter(|s| !s.path.starts_with("ui/theme/"))
    {
        for (line, text) in code(source) {
            if names_color(text) {
                problems.push(format!(
                    "src/{}:{line}: use a style of the theme",
                    source.path
                ));
            }
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn files_are_short_and_start_with_a_module_doc() {
    let mut problems = Vec::new();
    for source in sources() {
        let lines = source.text.lines().map(str::trim_start);
        let lines = lines.filter(|line| !line.starts_with("//")).count();
        if lines > LINES_MAX {
            problems.push(format!(
                "src/{}: {lines} lines without comments, {LINES_MAX} at most",
                source.path
            ));
        }
        if !source.text.starts_with("//! ") {
            problems.push(format!(
                "src/{}: the first line must be a module doc",
                source.path
            ));
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn only_main_exits_the_process() {
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
    assert_no_problems(&problems);
}

#[test]
fn every_test_named_in_guarantees_exists() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(base.join("docs/GUARANTEES.md")).unwrap();
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
            // `tests/x.rs::part::test` is in `tests/x/part.rs`.
            let (file, test) = match test.split_once("::") {
                Some((part, test)) => (format!("{file}/{part}.rs"), test),
                None => (format!("{file}.rs"), *test),
            };
            let text = fs::read_to_string(base.join(file)).unwrap_or_default();
            !text.contains(&format!("fn {test}("))
        })
        .map(|(file, test)| {
            format!("docs/GUARANTEES.md names {file}.rs::{test}, which does not exist")
        })
        .collect();
    assert_no_problems(&problems);
}

#[test]
fn every_file_named_in_the_comparison_exists() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(base.join("docs/PRIOR_ART.md")).unwrap();
    // Files of other programs have other prefixes.
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
        .map(|name| format!("docs/PRIOR_ART.md names {name}, which does not exist"))
        .collect();
    assert_no_problems(&problems);
}

#[test]
fn every_path_named_in_the_map_exists() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut problems = Vec::new();
    for page in ["src/lib.rs", "docs/ARCHITECTURE.md"] {
        let text = fs::read_to_string(base.join(page)).unwrap();
        let starts = ["src/", "tests/", "docs/", "skills/", "assets/"];
        // Without the fences of code blocks, every second part is in backticks.
        let text = text.replace("```", "");
        let named = text.split('`').skip(1).step_by(2);
        let named: Vec<&str> = named
            .filter(|name| starts.iter().any(|s| name.starts_with(s)))
            .collect();
        assert!(!named.is_empty(), "{page}");
        let missing = named.iter().filter(|name| !base.join(name).exists());
        problems.extend(missing.map(|name| format!("{page} names {name}, which does not exist")));
    }
    assert_no_problems(&problems);
}

#[test]
fn every_snapshot_belongs_to_a_file_that_asserts_it() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let snapshots = files("snap");
    assert!(snapshots.len() > 50, "{}", snapshots.len());
    let is_asserted = |snapshot: &PathBuf| {
        let text = fs::read_to_string(snapshot).unwrap();
        let source = text.lines().find_map(|l| l.strip_prefix("source: "));
        let source = fs::read_to_string(base.join(source.unwrap()));
        source.is_ok_and(|source| source.contains("insta::assert"))
    };
    let unused = snapshots.iter().filter(|snapshot| !is_asserted(snapshot));
    let problems: Vec<String> = unused
        .map(|snapshot| format!("{}: no test asserts it", snapshot.display()))
        .collect();
    assert_no_problems(&problems);
}
