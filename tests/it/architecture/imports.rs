//! Import cycles. Two files that import each other cannot be understood or tested alone.
//!
//! An import is a path that starts with `crate`, `super` or `self`, in a `use` or in the code. What a module re-exports from
//! its own submodules is no import: it names its parts.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{mask, test_modules, without_tests};
use super::{Source, assert_no_problems, sources};

/// The layers that must be free of cycles: no two of their files may import each other, directly or through other
/// files.
const WITHOUT_CYCLES: &[&str] = &[
    "agent",
    "crew",
    "domain",
    "mcp",
    "model",
    "store",
    "tools",
    "ui/shell/update",
];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Returns which files of a layer each of its files imports. Ignores test modules.
fn imports_within(layer: &str, all: &[Source]) -> Graph {
    let below = format!("{layer}/");
    let mine: Vec<&Source> = all.iter().filter(|s| s.path.starts_with(&below)).collect();
    let for_tests: BTreeSet<Vec<String>> = mine
        .iter()
        .flat_map(|source| {
            let module = module_of(&source.path);
            let is_folder = source.path.ends_with("/mod.rs");
            test_modules(&source.text)
                .into_iter()
                .flat_map(move |name| {
                    // `#[path]` counts from the folder of the file, `mod x;` from the module.
                    let beside = module[..module.len() - usize::from(!is_folder)].to_vec();
                    [module.clone(), beside].map(|mut path| {
                        path.push(name.clone());
                        path
                    })
                })
        })
        .collect();
    let files: BTreeMap<Vec<String>, &str> = mine
        .iter()
        .map(|s| (module_of(&s.path), s.path.as_str()))
        .filter(|(module, _)| !(1..=module.len()).any(|n| for_tests.contains(&module[..n])))
        .collect();
    let mut graph = Graph::new();
    for source in mine
        .iter()
        .filter(|s| files.values().any(|f| **f == s.path))
    {
        let code = without_tests(&mask(&source.text));
        let imported = paths_of(&code, &module_of(&source.path));
        let imported = imported.iter().filter_map(|path| {
            let known = (1..=path.len()).rev().find_map(|n| files.get(&path[..n]));
            known
                .filter(|file| **file != source.path)
                .map(ToString::to_string)
        });
        graph.insert(source.path.clone(), imported.collect());
    }
    graph
}

/// Returns the module of a file: `["store", "board"]` for `store/board/mod.rs`.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(String::from).collect()
}

/// Returns the paths in `code` that name items of this crate, each from the root of the crate. `module` contains
/// `code`.
fn paths_of(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut trees, mut rest) = (Vec::new(), String::new());
    let mut parts = code.split("use ");
    let mut before = parts.next().unwrap_or_default();
    rest.push_str(before);
    for part in parts {
        let is_use = !before.ends_with(is_word);
        match part.split_once(';').filter(|_| is_use) {
            Some((tree, after)) => {
                expand(&mut Vec::new(), tree, &mut trees);
                rest.push(' ');
                rest.push_str(after);
            }
            None => rest.push_str(part),
        }
        before = part;
    }
    let is_path = |c: char| is_word(c) || c == ':';
    let words = rest
        .split(|c: char| !is_path(c))
        .filter(|w| w.contains("::"));
    trees.extend(words.map(|w| w.split("::").map(String::from).collect()));
    trees
        .iter()
        .filter_map(|path| from_root(path, module))
        .collect()
}

/// Appends each path of a `use` tree such as `a::{b, c::{d, e}}` to `out`.
fn expand(before: &mut Vec<String>, tree: &str, out: &mut Vec<Vec<String>>) {
    let (head, branches) = match tree.split_once('{') {
        Some((head, body)) => (head, body.rsplit_once('}').map(|(body, _)| body)),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let depth = before.len();
    let segments = head.split("::").map(str::trim).filter(|s| !s.is_empty());
    before.extend(segments.map(String::from));
    match branches {
        None => out.push(before.clone()),
        Some(body) => {
            let (mut open, mut from) = (0, 0);
            for (at, c) in body.char_indices().chain([(body.len(), ',')]) {
                match c {
                    '{' => open += 1,
                    '}' => open -= 1,
                    ',' if open == 0 => {
                        let branch = &body[from..at];
                        if !branch.trim().is_empty() {
                            expand(before, branch, out);
                        }
                        from = (at + 1).min(body.len());
                    }
                    _ => {}
                }
            }
        }
    }
    before.truncate(depth);
}

/// Converts `path` to a path from the root of the crate. `None` if it does not start with `crate`, `self` or `super`.
fn from_root(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let up = path.iter().take_while(|s| *s == "super").count();
    let base = match path.first()?.as_str() {
        "crate" => &[],
        "self" => module,
        "super" => &module[..module.len().saturating_sub(up)],
        _ => return None,
    };
    let rest = path
        .iter()
        .skip(up.max(1))
        .filter(|s| *s != "*" && *s != "self");
    Some(base.iter().chain(rest).cloned().collect())
}

/// Returns the cycles of a graph: its strongly connected components of more than one node, by Tarjan's algorithm.
fn cycles(graph: &Graph) -> Vec<Vec<String>> {
    #[derive(Default)]
    struct Search<'a> {
        index: BTreeMap<&'a str, usize>,
        low: BTreeMap<&'a str, usize>,
        stack: Vec<&'a str>,
        found: Vec<Vec<String>>,
    }
    fn visit<'a>(node: &'a str, graph: &'a Graph, search: &mut Search<'a>) {
        let number = search.index.len();
        search.index.insert(node, number);
        search.low.insert(node, number);
        search.stack.push(node);
        for next in graph.get(node).into_iter().flatten() {
            let seen = search.index.get(next.as_str()).copied();
            let low = match seen {
                None => {
                    visit(next, graph, search);
                    search.low[next.as_str()]
                }
                Some(index) if search.stack.contains(&next.as_str()) => index,
                Some(_) => continue,
            };
            let mine = search.low[node];
            search.low.insert(node, mine.min(low));
        }
        if search.low[node] == number {
            let from = search.stack.iter().position(|n| *n == node).unwrap();
            let mut component: Vec<String> = search.stack.drain(from..).map(String::from).collect();
            component.sort();
            if component.len() > 1 {
                search.found.push(component);
            }
        }
    }
    let mut search = Search::default();
    for node in graph.keys() {
        if !search.index.contains_key(node.as_str()) {
            visit(node, graph, &mut search);
        }
    }
    search.found
}

#[test]
fn no_two_files_of_a_layer_import_each_other() {
    let all = sources();
    let mut problems = Vec::new();
    for layer in WITHOUT_CYCLES {
        let graph = imports_within(layer, &all);
        assert!(
            graph.values().any(|to| !to.is_empty()),
            "no imports in {layer}"
        );
        for cycle in cycles(&graph) {
            problems.push(format!("import cycle of {} files:", cycle.len()));
            for file in &cycle {
                let to: Vec<&str> = graph[file]
                    .iter()
                    .filter(|f| cycle.contains(f))
                    .map(String::as_str)
                    .collect();
                problems.push(format!("  src/{file} imports {}", to.join(", ")));
            }
        }
    }
    assert_no_problems(&problems);
}

#[test]
fn no_two_folders_of_the_screen_import_each_other() {
    let files = imports_within("ui", &sources());
    let folder = |path: &String| path.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
    let mut graph = Graph::new();
    for (file, imported) in &files {
        let from = folder(file);
        let to = imported.iter().map(folder).filter(|to| *to != from);
        graph.entry(from.clone()).or_default().extend(to);
    }
    let problems: Vec<String> = cycles(&graph)
        .iter()
        .map(|cycle| format!("import cycle of folders: {}", cycle.join(", ")))
        .collect();
    assert_no_problems(&problems);
}

#[test]
fn cycle_is_found_through_use_trees_and_paths_in_code() {
    let file = |path: &str, text: &str| Source {
        path: path.into(),
        text: text.into(),
    };
    let all = [
        file(
            "x/mod.rs",
            "mod a; mod b; mod c; mod d; pub use a::A;\n#[cfg(test)]\nmod tests;",
        ),
        file("x/a.rs", "use super::{b::{B, self}, c as other};"),
        file("x/b.rs", "fn f() { crate::x::c::g(); } // super::a"),
        file(
            "x/c.rs",
            "pub use super::d::D;\n#[cfg(test)]\nmod tests { use super::super::a::A; }",
        ),
        file("x/d.rs", "use crate::{x::b::B, y::Y};"),
        file("x/tests.rs", "use super::a::A;"),
    ];
    let graph = imports_within("x", &all);
    assert!(!graph.contains_key("x/tests.rs"));
    assert_eq!(cycles(&graph), [["x/b.rs", "x/c.rs", "x/d.rs"]]);
}
