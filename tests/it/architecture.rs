//! Checks the architecture of `src/`: allowed imports between layers, pure modules, the use of colours, and file lengths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The layers, lowest first: the folder or file below `src/`, and the layers that it may import.
const ALLOWED_IMPORTS: &[(&str, &[&str])] = &[
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
    (
        "fuzzing",
        &[
            "domain", "protocol", "store", "model", "tools", "ui", "config", "fuzzing",
        ],
    ),
    ("main", &["app", "cli", "domain"]),
    ("lib", &[]),
];

/// Path prefixes of the pure modules, which must not use anything in [`IMPURE`].
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
    "ui/app/",
    "ui/diff/",
    "ui/frame/",
    "ui/graph/",
    "ui/keymap/",
    "ui/model/",
    "ui/panes/",
    "ui/popups/",
    "ui/replay/",
    "ui/shell/",
    "ui/text/",
    "ui/theme/",
    "ui/transcript/",
    "ui/widgets/",
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

/// Maximum length of a source file, in lines.
const LINES_MAX: usize = 450;

struct Source {
    /// Relative to `src/`, with `/` as the separator.
    path: String,
    text: String,
}

/// Returns the files below `src/` with that extension, sorted.
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

/// Returns the numbered lines without comments, because comments may name what code must not use.
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

#[test]
fn colours_are_used_only_in_the_theme() {
    let mut problems = Vec::new();
    for source in sources()
        .iter()
        .filter(|s| !s.path.starts_with("ui/theme/"))
    {
        for (line, text) in code(source) {
            if text.contains("Color::") {
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
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            problems.push(format!(
                "src/{}: {lines} lines, {LINES_MAX} at most",
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
fn every_test_named_in_promises_exists() {
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

/// Files that still import one another in a cycle. The list only shrinks.
const IN_CYCLES: &[&str] = &[
    "agent/calls.rs",
    "agent/driver.rs",
    "agent/meter.rs",
    "agent/permission_card.rs",
    "agent/turn/compacting.rs",
    "agent/turn/failing.rs",
    "crew/host.rs",
    "crew/lead.rs",
    "crew/mate/mod.rs",
    "crew/outfit.rs",
    "crew/subagent.rs",
    "store/post.rs",
    "store/reader.rs",
    "store/watch/folders.rs",
    "store/watch/net.rs",
    "store/watch/tasks.rs",
    "store/worktrees/inside.rs",
    "store/worktrees/judge.rs",
    "store/worktrees/merge.rs",
];

/// The module path of a source: `ui/app/mod.rs` is `["ui", "app"]`.
fn module(path: &str) -> Vec<&str> {
    let path = path.trim_end_matches(".rs");
    path.trim_end_matches("/mod").split('/').collect()
}

/// The paths that a `use` tree names: `a::{b, c::d}` names `a::b` and `a::c::d`.
fn expand(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap();
        return vec![path.split_whitespace().collect()];
    };
    let inside = rest.rsplit_once('}').map_or(rest, |(inside, _)| inside);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inside.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else {
            parts.last_mut().unwrap().push(c);
        }
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| expand(&format!("{}{}", before.trim(), part.trim())))
        .collect()
}

/// The paths of the crate that the code of a source names, without its inline tests, from the root of the crate.
fn imports(source: &Source) -> Vec<Vec<String>> {
    let text: String = code(source).flat_map(|(_, line)| [line, "\n"]).collect();
    let text = text.split("mod tests {").next().unwrap_or_default();
    let here = module(&source.path);
    let mut out = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(start) {
            let before = &text[..at];
            // `pub(in crate::ui)`, and the `super::` of `super::super::`.
            if before.ends_with("pub(in ") || before.ends_with("::") {
                continue;
            }
            let is_use = before.trim_end().ends_with("use");
            let end = if is_use {
                text[at..].find(';')
            } else {
                text[at..].find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)))
            };
            let tree = &text[at..at + end.unwrap_or(0)];
            for path in expand(tree) {
                let mut names: Vec<&str> = path.split("::").filter(|n| !n.is_empty()).collect();
                let mut whole: Vec<&str> = here.clone();
                match names.first() {
                    Some(&"crate") => whole.clear(),
                    Some(&"self") => {}
                    _ => {
                        while names.first() == Some(&"super") {
                            whole.pop();
                            names.remove(0);
                        }
                        names.insert(0, "");
                    }
                }
                whole.extend(&names[1.min(names.len())..]);
                out.push(whole.iter().map(ToString::to_string).collect());
            }
        }
    }
    out
}

/// Who imports whom, where a source stands for the node that `node` gives it.
fn graph(sources: &[Source], node: impl Fn(&str) -> String) -> BTreeMap<String, BTreeSet<String>> {
    let files: BTreeMap<Vec<&str>, &str> = sources
        .iter()
        .map(|s| (module(&s.path), s.path.as_str()))
        .collect();
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources {
        let from = node(&source.path);
        graph.entry(from.clone()).or_default();
        for path in imports(source) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let longest = (1..=path.len()).rev();
            let found = longest.filter_map(|n| files.get(&path[..n])).next();
            if let Some(to) = found.map(|file| node(file)).filter(|to| *to != from) {
                graph.entry(from.clone()).or_default().insert(to);
            }
        }
    }
    graph
}

/// The nodes that can be reached from `start`, itself only by a cycle.
fn reached<'a>(graph: &'a BTreeMap<String, BTreeSet<String>>, start: &str) -> BTreeSet<&'a str> {
    let mut out = BTreeSet::new();
    let mut open: Vec<&str> = vec![start];
    while let Some(node) = open.pop() {
        for next in graph.get(node).into_iter().flatten() {
            if out.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    out
}

/// The nodes on a cycle, each with those that it shares one with.
fn cycles(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, Vec<String>> {
    let all: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|node| (node.as_str(), reached(graph, node)))
        .collect();
    let shares = |a: &str, b: &str| all[a].contains(b) && all.get(b).is_some_and(|r| r.contains(a));
    let nodes = graph.keys().filter(|node| shares(node, node));
    nodes
        .map(|node| {
            let with = graph.keys().filter(|b| *b != node && shares(node, b));
            (node.clone(), with.cloned().collect())
        })
        .collect()
}

/// The sources below a folder of `src/`, without tests and fixtures.
fn below(folder: &str) -> Vec<Source> {
    let prefix = format!("{folder}/");
    let is_code = |s: &Source| !s.path.contains("test") && !s.path.contains("fixture");
    let all = sources().into_iter();
    all.filter(|s| s.path.starts_with(&prefix) && is_code(s))
        .collect()
}

#[test]
fn folders_of_ui_import_one_another_without_cycles() {
    let folder = |path: &str| path.split('/').take(2).collect::<Vec<_>>().join("/");
    let found = cycles(&graph(&below("ui"), folder));
    assert_no_problems(
        &found
            .iter()
            .map(|(a, with)| format!("src/{a} is on a cycle with {}", with.join(", ")))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn files_import_one_another_without_cycles() {
    let mut found = cycles(&graph(&below("ui/shell/update"), str::to_string));
    for folder in ["crew", "agent", "model", "store"] {
        found.extend(cycles(&graph(&below(folder), str::to_string)));
    }
    let mut problems: Vec<String> = found
        .iter()
        .filter(|(file, _)| !IN_CYCLES.contains(&file.as_str()))
        .map(|(file, with)| format!("src/{file} is on a cycle with {}", with.join(", ")))
        .collect();
    let gone = IN_CYCLES.iter().filter(|file| !found.contains_key(**file));
    problems
        .extend(gone.map(|file| format!("{file} is on no cycle any more: take it off the list")));
    assert_no_problems(&problems);
}
