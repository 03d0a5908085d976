//! Checks that structs are small and that public type names are unique.

use std::collections::BTreeMap;

use super::code::{mask, test_modules, without_tests};
use super::{Source, assert_no_problems, sources};

/// Maximum number of fields of a struct. A larger struct usually has more than one responsibility.
const FIELDS_MAX: usize = 20;

/// Structs that may have more fields, because they contain one value for each setting or role.
const TABLES: &[&str] = &["Theme"];

/// Structs that may still exceed [`FIELDS_MAX`]. Add none.
const TOO_LARGE: &[&str] = &[];

/// Type names that more than one type may have, with the reason.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Decoder", "one per provider"),
    (
        "Input",
        "the input of a tool, private to the file of the tool",
    ),
];

/// Returns the path and the masked code of each source file, without tests.
fn program() -> Vec<(String, String)> {
    let all = sources();
    let modules: Vec<(&str, Vec<String>)> = all
        .iter()
        .map(|source| (source.path.as_str(), test_modules(&source.text)))
        .collect();
    let is_for_tests = |source: &Source| {
        let name = source.path.rsplit('/').next().unwrap_or_default();
        let folder = source.path.trim_end_matches(name);
        let name = name.trim_end_matches(".rs");
        modules.iter().any(|(path, modules)| {
            let can_declare =
                path.starts_with(folder) || folder.starts_with(path.trim_end_matches(".rs"));
            can_declare && modules.iter().any(|m| m == name && m != "mod")
        })
    };
    let kept = all.iter().filter(|s| !is_for_tests(s));
    kept.map(|s| (s.path.clone(), without_tests(&mask(&s.text))))
        .collect()
}

/// Returns the name after each `keyword` in `code`, with the code that follows that name.
fn declared<'a>(code: &'a str, keyword: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    code.match_indices(keyword).filter_map(move |(at, _)| {
        let starts = code[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace);
        let rest = code[at..].strip_prefix(keyword)?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        (starts && end > 0).then(|| rest.split_at(end))
    })
}

/// Returns the number of fields of a struct, given the code after its name; 0 for tuple and unit structs.
fn fields(after: &str) -> usize {
    let Some(open) = after
        .find(['{', ';', '('])
        .filter(|at| after[*at..].starts_with('{'))
    else {
        return 0;
    };
    let (mut depth, mut count) = (0_usize, 0);
    let body = &after[open..];
    for (at, c) in body.char_indices() {
        match c {
            '{' | '(' | '[' | '<' => depth += 1,
            '>' if body[..at].ends_with('-') => {}
            '}' | ')' | ']' | '>' => depth -= 1,
            ':' if depth == 1 && !body[..at].ends_with(':') && !body[at + 1..].starts_with(':') => {
                count += 1;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    count
}

#[test]
fn structs_have_few_fields() {
    let mut problems = Vec::new();
    let mut seen = Vec::new();
    for (path, code) in program() {
        for (name, after) in declared(&code, "struct ") {
            let count = fields(after);
            if count <= FIELDS_MAX || TABLES.contains(&name) {
                continue;
            }
            seen.push(name.to_string());
            if !TOO_LARGE.contains(&name) {
                problems.push(format!(
                    "src/{path}: {name} has {count} fields, {FIELDS_MAX} at most"
                ));
            }
        }
    }
    let gone = TOO_LARGE
        .iter()
        .filter(|name| !seen.iter().any(|s| s == *name));
    problems.extend(gone.map(|n| format!("{n} is small enough now: take it out of TOO_LARGE")));
    assert_no_problems(&problems);
}

#[test]
fn type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, code) in program() {
        for keyword in ["struct ", "enum ", "trait "] {
            for (name, _) in declared(&code, keyword) {
                places
                    .entry(name.into())
                    .or_default()
                    .push(format!("src/{path}"));
            }
        }
    }
    let accepted: Vec<&str> = SHARED_NAMES.iter().map(|(name, _)| *name).collect();
    let shared = places.iter().filter(|(_, at)| at.len() > 1);
    let mut problems: Vec<String> = shared
        .filter(|(name, _)| !accepted.contains(&name.as_str()))
        .map(|(name, at)| {
            format!(
                "{name} is the name of {} types: {}",
                at.len(),
                at.join(", ")
            )
        })
        .collect();
    let is_unique = |name: &str| places.get(name).is_none_or(|at| at.len() < 2);
    let gone = accepted.iter().filter(|name| is_unique(name));
    problems.extend(gone.map(|n| format!("{n} is unique now: take it out of the list")));
    assert_no_problems(&problems);
}

#[test]
fn fields_are_counted_at_the_first_level() {
    let count = |text: &str| fields(declared(text, "struct ").next().unwrap().1);
    assert_eq!(
        count("struct A { a: B<C, D>, pub b: fn(x: u8) -> e::F, c: [u8; 2] }"),
        3
    );
    assert_eq!(count("struct A<T: B> { a: T }"), 1);
    assert_eq!(count("struct A(B); struct C { d: E }"), 0);
}
