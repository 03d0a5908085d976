//! Checks the identifiers of the Rust code: a name that contains a banned word fails with its file and the replacement.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pretty_assertions::assert_eq;
use regex::Regex;

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

    /// Returns each identifier of a Rust file that contains a banned word, with the replacement for the word.
    fn findings(&self, text: &str) -> BTreeSet<(String, &'static str)> {
        let code = self.no_code.replace_all(text, " ");
        let mut found = BTreeSet::new();
        let names: BTreeSet<&str> = self
            .identifier
            .find_iter(&code)
            .map(|m| m.as_str())
            .collect();
        for name in names {
            if ALLOWED.iter().any(|(allowed, _)| *allowed == name) {
                continue;
            }
            for word in self.word.find_iter(name) {
                let word = word.as_str().to_lowercase();
                let banned = BANNED.iter().find(|(banned, _)| *banned == word);
                found.extend(banned.map(|(_, instead)| (name.to_string(), *instead)));
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
        for (name, instead) in patterns.findings(&fs::read_to_string(&path).unwrap()) {
            problems.push(format!("{file}: `{name}`: write {instead}"));
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
    let names: Vec<String> = Patterns::new()
        .findings(text)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        [
            "DeskKey",
            "NOBODY_HERE",
            "circles",
            "decider",
            "open_errand"
        ]
    );
}
