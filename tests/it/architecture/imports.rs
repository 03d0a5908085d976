//! Import cycles. Two files that import each other cannot be understood or tested alone.
//!
//! An import is a path to an item of this crate, in a `use` or in the code: it starts with `crate`, `super`, `self` or a
//! submodule. If a file on the path only brings the item into scope with `use`, the import counts for the file that
//! defines the item. `pub use` of an item of a submodule is no import: a module names its parts.
//!
//! A file with methods of a type that its parent module defines (`impl Parent`) counts as one file with the parent.

use std::collections::{BTreeMap, BTreeSet};

use super::code::{mask, test_modules, without_tests};
use super::{Source, assert_no_problems, sources};

/// The layers that must be free of cycles: no two of their files may import each other, directly or through other
/// files.
const WITHOUT_CYCLES: &[&str] = &[
    "acp", "agent", "crew", "domain", "mcp", "model", "store", "tools", "ui/shell",
];

/// Maximum number of `use` through which an item is looked for.
const STEPS_MAX: usize = 8;

type Graph = BTreeMap<String, BTreeSet<String>>;
type ModulePath = Vec<String>;

/// A source file without its tests.
struct CodeFile<'a> {
    path: &'a str,
    code: String,
    /// The paths in `use`, from the root of the crate, each with the name that it gets, and whether it is `pub use`.
    uses: Vec<(ModulePath, String, bool)>,
    /// The paths in the code, from the root of the crate.
    named: Vec<ModulePath>,
}

/// Returns which files of a layer each of its files imports. Ignores test modules.
fn imports_within(layer: &str, all: &[Source]) -> Graph {
    let files = files_of(layer, all);
    let whole = |module: &[String]| {
        let mut module = module.to_vec();
        while is_part_of_parent(&files, &module) {
            module.pop();
        }
        files[&module].path.to_string()
    };
    let mut graph = Graph::new();
    for (module, file) in &files {
        let from = whole(module);
        let used = file.uses.iter().filter_map(|(path, _, is_public)| {
            let target = definition(&files, path, STEPS_MAX)?;
            (!is_public || !target.starts_with(module)).then_some(target)
        });
        let named = file.named.iter();
        let named = named.filter_map(|path| definition(&files, path, STEPS_MAX));
        let imported = used.chain(named).map(|target| whole(&target));
        let imported: Vec<String> = imported.filter(|target| *target != from).collect();
        graph.entry(from).or_default().extend(imported);
    }
    graph
}

/// Returns the files of a layer by their modules, without test modules.
fn files_of<'a>(layer: &str, all: &'a [Source]) -> BTreeMap<ModulePath, CodeFile<'a>> {
    let below = format!("{layer}/");
    let mine: Vec<&Source> = all.iter().filter(|s| s.path.starts_with(&below)).collect();
    let for_tests: BTreeSet<ModulePath> = mine
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
    mine.iter()
        .map(|source| (module_of(&source.path), *source))
        .filter(|(module, _)| !(1..=module.len()).any(|n| for_tests.contains(&module[..n])))
        .map(|(module, source)| {
            let file = code_file(source, &module);
            (module, file)
        })
        .collect()
}

/// Returns the module of a file: `["store", "board"]` for `store/board/mod.rs`.
fn module_of(path: &str) -> ModulePath {
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(String::from).collect()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns the word after each `keyword` in `code`.
fn words_after<'a>(code: &'a str, keyword: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(keyword).filter_map(move |(at, _)| {
        let word = &code[at + keyword.len()..];
        let word = &word[..word.find(|c| !is_word(c)).unwrap_or(word.len())];
        (!code[..at].ends_with(is_word) && !word.is_empty()).then_some(word)
    })
}

fn code_file<'a>(source: &'a Source, module: &[String]) -> CodeFile<'a> {
    let code = without_tests(&mask(&source.text));
    let submodules: BTreeSet<String> = words_after(&code, "mod ").map(String::from).collect();
    let mut trees: Vec<(ModulePath, String, bool)> = Vec::new();
    let mut rest = String::new();
    let mut parts = code.split("use ");
    let mut before = parts.next().unwrap_or_default();
    rest.push_str(before);
    for part in parts {
        let is_use = !before.ends_with(is_word);
        match part.split_once(';').filter(|_| is_use) {
            Some((tree, after)) => {
                let line = before.rsplit(['\n', ';', '}']).next().unwrap_or_default();
                let is_public = line.trim_start().starts_with("pub");
                let mut paths = Vec::new();
                expand(&mut Vec::new(), tree, &mut paths);
                let paths = paths.into_iter();
                trees.extend(paths.map(|(path, name)| (path, name, is_public)));
                rest.push(' ');
                rest.push_str(after);
            }
            None => rest.push_str(part),
        }
        before = part;
    }
    let absolute = |path: &[String]| from_root(path, module, &submodules);
    let uses = trees.into_iter();
    let uses = uses.filter_map(|(path, name, is_public)| Some((absolute(&path)?, name, is_public)));
    let words = rest.split(|c: char| !is_word(c) && c != ':');
    let words = words.filter(|w| w.contains("::"));
    let named = words.filter_map(|w| {
        let path: ModulePath = w.split("::").map(String::from).collect();
        absolute(&path)
    });
    CodeFile {
        path: &source.path,
        uses: uses.collect(),
        named: named.collect(),
        code,
    }
}

/// Returns the module that defines the item at `path`; `None` if no module of `files` does. Follows up to `steps` `use`.
fn definition(
    files: &BTreeMap<ModulePath, CodeFile<'_>>,
    path: &[String],
    steps: usize,
) -> Option<ModulePath> {
    let depth = (1..=path.len())
        .rev()
        .find(|n| files.contains_key(&path[..*n]))?;
    let (module, rest) = path.split_at(depth);
    let item = rest.first().filter(|_| steps > 0);
    let brought = item.and_then(|item| {
        let mut uses = files[module].uses.iter();
        uses.find(|(path, name, _)| name == item && !path.starts_with(&[module, rest].concat()))
    });
    match brought {
        Some((to, _, _)) => definition(files, &[to, &rest[1..]].concat(), steps - 1),
        None => Some(module.to_vec()),
    }
}

/// Returns whether a file has methods of a type that its parent module defines.
fn is_part_of_parent(files: &BTreeMap<ModulePath, CodeFile<'_>>, module: &[String]) -> bool {
    let Some((_, parent)) = module.split_last() else {
        return false;
    };
    let Some(parent) = files.get(parent) else {
        return false;
    };
    let defines = |code: &str, name: &str| {
        let mut types = words_after(code, "struct ").chain(words_after(code, "enum "));
        types.any(|defined| defined == name)
    };
    let own = &files[module].code;
    let mut types = own.lines().filter_map(type_with_methods);
    types.any(|name| defines(&parent.code, name) && !defines(own, name))
}

/// Returns the name of the type in a line such as `impl<T> super::Name<T> {`; `None` for other lines and if a trait is
/// implemented.
fn type_with_methods(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => {
            let mut open = 1;
            let end = generic.find(|c| {
                open += i32::from(c == '<') - i32::from(c == '>');
                open == 0
            });
            &generic[end? + 1..]
        }
        None => rest,
    };
    let name = rest.strip_suffix('{').filter(|r| !r.contains(" for "))?;
    let name = name.split('<').next()?.trim();
    Some(name.rsplit("::").next().unwrap_or(name))
}

/// Appends each path of a `use` tree such as `a::{b, c::{d as e}}` to `out`, with the name that it gets.
fn expand(before: &mut ModulePath, tree: &str, out: &mut Vec<(ModulePath, String)>) {
    let (head, branches) = match tree.split_once('{') {
        Some((head, body)) => (head, body.rsplit_once('}').map(|(body, _)| body)),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let renamed = tree.split_once(" as ").map(|(_, name)| name.trim());
    let depth = before.len();
    let segments = head.split("::").map(str::trim).filter(|s| !s.is_empty());
    before.extend(segments.map(String::from));
    match branches {
        None => {
            let last = before.iter().rfind(|s| *s != "self");
            let name = renamed.or(last.map(String::as_str)).unwrap_or_default();
            out.push((before.clone(), name.to_string()));
        }
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

/// Converts `path` to a path from the root of the crate. `None` if it does not start with `crate`, `self`, `super` or one
/// of the `submodules` of `module`.
fn from_root(
    path: &[String],
    module: &[String],
    submodules: &BTreeSet<String>,
) -> Option<ModulePath> {
    let up = path.iter().take_while(|s| *s == "super").count();
    let (base, skipped) = match path.first()?.as_str() {
        "crate" => (&[][..], 1),
        "self" => (module, 1),
        "super" => (&module[..module.len().saturating_sub(up)], up),
        first if submodules.contains(first) => (module, 0),
        _ => return None,
    };
    let rest = path.iter().skip(skipped);
    let rest = rest.filter(|s| *s != "*" && *s != "self");
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

fn graph_of(files: &[(&str, &str)]) -> Graph {
    let source = |(path, text): &(&str, &str)| Source {
        path: (*path).into(),
        text: (*text).into(),
    };
    imports_within("x", &files.iter().map(source).collect::<Vec<_>>())
}

#[test]
fn cycle_is_found_through_use_trees_and_paths_in_code() {
    let graph = graph_of(&[
        (
            "x/mod.rs",
            "mod a; mod b; mod c; mod d; pub use a::A;\n#[cfg(test)]\nmod tests;",
        ),
        ("x/a.rs", "use super::{b::{B, self}, c as other};"),
        ("x/b.rs", "fn f() { crate::x::c::g(); } // super::a"),
        (
            "x/c.rs",
            "pub use super::d::D;\n#[cfg(test)]\nmod tests { use super::super::a::A; }",
        ),
        ("x/d.rs", "use crate::{x::b::B, y::Y};"),
        ("x/tests.rs", "use super::a::A;"),
    ]);
    assert!(!graph.contains_key("x/tests.rs"));
    assert_eq!(cycles(&graph), [["x/b.rs", "x/c.rs", "x/d.rs"]]);
}

#[test]
fn cycle_is_found_through_submodules_and_reexports() {
    // The parent uses its submodule, which uses the parent.
    let graph = graph_of(&[
        ("x/mod.rs", "mod a; use a::A; struct Shared;"),
        ("x/a.rs", "use super::Shared;"),
    ]);
    assert_eq!(cycles(&graph), [["x/a.rs", "x/mod.rs"]]);
    // Two submodules use each other through the parent, which only names them.
    let graph = graph_of(&[
        (
            "x/mod.rs",
            "mod a; mod b; pub use a::A; pub use b::B as Other;",
        ),
        ("x/a.rs", "use super::Other;"),
        ("x/b.rs", "fn f() -> super::A {}"),
    ]);
    assert_eq!(cycles(&graph), [["x/a.rs", "x/b.rs"]]);
    assert!(graph["x/mod.rs"].is_empty());
}

#[test]
fn file_with_methods_of_its_parents_type_is_part_of_the_parent() {
    let parent = "mod a; mod b; use a::A; pub struct Whole<T>(A);";
    let graph = graph_of(&[
        ("x/mod.rs", parent),
        (
            "x/a.rs",
            "use super::Whole;\nimpl<T: Into<u8>> Whole<T> {\n}",
        ),
        ("x/b.rs", "use super::Whole;\nimpl Default for Whole {\n}"),
    ]);
    assert_eq!(cycles(&graph), Vec::<Vec<String>>::new());
    assert_eq!(graph["x/b.rs"], ["x/mod.rs".to_string()].into());
    assert!(!graph.contains_key("x/a.rs"));
}
