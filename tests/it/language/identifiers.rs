//! Checks the identifiers of the Rust code: a name that contains a banned word fails with its file, its first line and the
//! replacement.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use regex::{Captures, Regex};

use super::{BANNED, files};

/// Identifiers that are allowed although they contain a banned word, with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("ceiling", "GIT_CEILING_DIRECTORIES is git's term"),
    ("is_letter", "a character of the alphabet"),
];

/// The regular expressions of the search, compiled once.
struct Patterns {
    /// Matches comments and string literals, which are removed.
    no_code: Regex,
    identifier: Regex,
    /// Matches one word of an identifier.
    word: Regex,
}

impl Patterns {
    fn new() -> Patterns {
        let new = |pattern: &str| Regex::new(pattern).unwrap();
        Patterns {
            no_code: new(r##"(?s)//[^\n]*|r#+".*?"#+|"(?:\\.|[^"\\])*""##),
            identifier: new("[A-Za-z_][A-Za-z0-9_]*"),
            word: new("[A-Z]?[a-z]+|[A-Z]+"),
        }
    }

    /// Returns each identifier of a Rust file that contains a banned word, with the line of its first use and the
    /// replacement for the word.
    fn findings(&self, text: &str) -> Vec<(usize, String, &'static str)> {
        // Line ends stay, so that lines can be counted.
        let blank = |removed: &Captures<'_>| "\n".repeat(removed[0].matches('\n').count()) + " ";
        let code = self.no_code.replace_all(text, blank);
        let mut found = Vec::new();
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, line) in code.lines().enumerate() {
            for name in self.identifier.find_iter(line) {
                names.entry(name.as_str()).or_insert(at + 1);
            }
        }
        for (name, line) in names {
            if ALLOWED.iter().any(|(allowed, _)| *allowed == name) {
                continue;
            }
            for word in self.word.find_iter(name) {
                let word = word.as_str().to_lowercase();
                let banned = BANNED.iter().find(|(banned, _)| *banned == word);
                found.extend(banned.map(|(_, instead)| (line, name.to_string(), *instead)));
            }
        }
        found
    }
}

#[test]
fn identifiers_use_the_terms_of_the_glossary() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let patterns = Patterns::new();
    let mut problems = Vec::new();
    let files = files(base).into_iter();
    for path in files.filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let file = path.strip_prefix(base).unwrap().display().to_string();
        for (line, name, instead) in patterns.findings(&fs::read_to_string(&path).unwrap()) {
            problems.push(format!("{file}:{line}: `{name}`: write {instead}"));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn terms_are_found_in_names_of_each_case() {
    let text = r#"
        struct DeskKey { open_errand: u8, is_letter: bool } // clerk
        const NOBODY_HERE: &str = "nobody";
        fn decider() { let circles = r"mates x"; }
    "#;
    let found = Patterns::new().findings(text);
    let found: Vec<(usize, &str)> = found
        .iter()
        .map(|(line, name, _)| (*line, &**name))
        .collect();
    assert_eq!(
        found,
        [
            (2, "DeskKey"),
            (3, "NOBODY_HERE"),
            (4, "circles"),
            (4, "decider"),
            (2, "open_errand"),
        ]
    );
}
