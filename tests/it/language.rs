//! Checks the terms of comments, strings, test names, identifiers and Markdown: a banned word fails with its file and its
//! replacement.

mod identifiers;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The banned words and phrases, in lower case, and what to write instead. `docs/GLOSSARY.md` has the terms.
const BANNED: &[(&str, &str)] = &[
    ("can not", "cannot"),
    ("the person", "the user"),
    ("a person", "a user"),
    ("letter", "message; `character` for a sign of the alphabet"),
    (
        "letters",
        "messages; `characters` for signs of the alphabet",
    ),
    ("letterbox", "inbox"),
    ("at rest", "idle"),
    ("is told", "is notified, is shown, is reported"),
    ("are told", "are notified, are shown, are reported"),
    ("was told", "was notified, was shown, was reported"),
    ("were told", "were notified, were shown, have read"),
    ("be told", "be notified, be shown, be reported"),
    ("the reference", "its name: learn-claude-code"),
    ("stands on", "is on, is in, is shown on"),
    ("a word that there is not", "an unknown name"),
    ("there is not", "is missing, does not exist"),
    ("nobody", "no agent, no user, nothing"),
    ("somebody", "an agent, a user"),
    ("everybody", "all agents"),
    ("anybody", "any agent, any user"),
    ("whoever", "the agent that, the user who"),
    ("desk", "inbox, mailbox"),
    ("errand", "task, subagent, external program"),
    ("errands", "tasks, subagents, external programs"),
    ("clerk", "request broker"),
    ("outfit", "agent builder"),
    ("ceiling", "budget, limit"),
    ("ceilings", "budgets, limits"),
    ("chore", "background work"),
    ("chores", "background work"),
    ("parting", "shutdown"),
    ("aftermath", "crash recovery"),
    ("strays", "orphans"),
    ("stray", "orphan"),
    ("decider", "approver"),
    ("deciders", "approvers"),
    ("workshop", "tool runner"),
    ("inlet", "event receiver"),
    ("wish", "command, effect, request"),
    ("wishes", "commands, effects, requests"),
    ("circle", "cycle"),
    ("circles", "cycles"),
    ("doomed", "in the trash"),
    ("mate", "teammate"),
    ("mates", "teammates"),
    ("seen to", "fixed, handled"),
    ("mends", "fixes"),
    ("rule book", "session permissions"),
    ("stands still", "is stuck, stops"),
    ("unasked", "without asking"),
    ("for ever", "forever"),
    ("anew", "again"),
];

/// Texts that are allowed although they contain a banned word, in lower case, with the reason. They are removed before
/// the search.
const ALLOWED: &[(&str, &str)] = &[
    ("letters, digits", "characters that a name may have"),
    ("letters and digits", "characters of a key or a name"),
    ("digits and letters", "characters of a key"),
    ("letter or digit", "the first character of a name"),
    ("uppercase letter", "a character of the alphabet"),
    ("lowercase letter", "a character of the alphabet"),
    ("capital letter", "a character of the alphabet"),
    ("letters of one case", "characters of the alphabet"),
    ("to 1 to 64 letters", "the first words of a longer error"),
    ("\"letter\"", "field of the event `letter_moved`"),
    ("\"letter from ", "label in the journals of older versions"),
    (
        "\"the person answers: ",
        "label in the journals of older versions",
    ),
    ("[ceilings]", "former name of a setting"),
    (
        "\"ceilings\"",
        "former name of a setting, field of the event `session_started`",
    ),
    ("\"confine\"", "former name of a setting"),
    ("\"ceiling\"", "kind of a request on disk"),
    ("\"decider\"", "field of a request on disk"),
    ("tag = \"wish\"", "field of a command on the wire"),
    ("/ceiling", "folder in a test of GIT_CEILING_DIRECTORIES"),
    (
        "sk-fading-circle",
        "class of a style sheet that looks like a key",
    ),
    ("network.mate", "unknown setting in a test"),
    ("\\nmate = ", "unknown setting in a test"),
    ("chown -r nobody", "user of Unix"),
    ("\"nobody\"", "name of an unknown agent or tag in a test"),
    ("'nobody'", "name of an unknown agent in a test"),
    ("@nobody", "name of an unknown agent in a test"),
    ("[nobody]", "tag in a test that no teammate has"),
];

/// Folders and files that are checked, relative to the project.
const READ: &[&str] = &[
    "src",
    "tests",
    "benches",
    "docs",
    "skills",
    "roles",
    "evals",
    "assets",
    "examples",
    "fuzz",
    ".ci",
    ".cargo",
    "Cargo.toml",
    "clippy.toml",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
];

/// Files and folders that are not checked: this test, and data in the words of other programs.
const SKIPPED: &[&str] = &[
    "tests/it/language.rs",
    "tests/it/language",
    "tests/golden",
    "tests/fixtures",
    "fuzz/corpus",
    "fuzz/target",
];

/// A word of prose, or a break between two words. No phrase extends across a break.
enum Token {
    Word(usize, String),
    Break,
}

/// Collects characters into the words of prose.
#[derive(Default)]
struct Words {
    tokens: Vec<Token>,
    word: String,
    line: usize,
}

impl Words {
    fn take(&mut self, c: char, line: usize) {
        if c.is_alphanumeric() || c == '_' {
            self.line = line;
            self.word.push(c);
            return;
        }
        self.end_word();
        if !c.is_whitespace() {
            self.tokens.push(Token::Break);
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            let word = std::mem::take(&mut self.word);
            self.tokens.push(Token::Word(self.line, word));
        }
    }

    fn end_phrase(&mut self) {
        self.end_word();
        self.tokens.push(Token::Break);
    }
}

/// Returns the words of a text in lower case. Identifiers in backticks become breaks.
fn words_of_text(text: &str) -> Vec<Token> {
    let mut words = Words::default();
    add_text(&mut words, text, 1);
    words.end_phrase();
    words.tokens
}

/// Adds the words of `text`, which starts in `line`. Text in backticks without a space is an identifier and is left
/// out.
fn add_text(words: &mut Words, text: &str, line: usize) {
    for (at, text) in text.split('\n').enumerate() {
        let line = line + at;
        let text = without_paths(text);
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('`') {
            before.chars().for_each(|c| words.take(c, line));
            words.end_phrase();
            let span = after.split_once('`');
            let identifier = span.filter(|(code, _)| !code.contains(' '));
            rest = identifier.map_or(after, |(_, behind)| behind);
        }
        rest.chars().for_each(|c| words.take(c, line));
        words.take(' ', line);
    }
}

/// Replaces each path in `line` by `;`.
fn without_paths(line: &str) -> String {
    let is_path = |part: &str| part.trim_matches('/').contains('/');
    let parts = line.split(' ');
    let parts: Vec<&str> = parts.map(|p| if is_path(p) { ";" } else { p }).collect();
    parts.join(" ")
}

/// Returns the words in the line comments, strings and test names of a Rust file, in lower case.
fn words_of_rust(text: &str) -> Vec<Token> {
    let mut words = Words::default();
    let (mut rest, mut line) = (text, 1);
    let mut is_test = false;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let body = rest[..end].trim_start_matches(['/', '!']);
            add_text(&mut words, body, line);
            end
        } else if let Some((open, quotes)) = string_start(rest) {
            let close = format!("\"{}", "#".repeat(quotes.unwrap_or(0)));
            let end = string_end(&rest[open..], &close, quotes.is_some());
            words.end_phrase();
            let body = &rest[open..open + end];
            if quotes.is_some() {
                add_text(&mut words, body, line);
            } else {
                add_text(&mut words, &without_escapes(body), line);
            }
            words.end_phrase();
            open + end + close.len()
        } else if c == '\'' {
            // A character, or a lifetime.
            let mut chars = rest[1..].char_indices();
            match (chars.next(), chars.next()) {
                (Some((_, '\\')), _) => rest[3..].find('\'').map_or(rest.len(), |at| at + 4),
                (Some(_), Some((at, '\''))) => at + 2,
                _ => 1,
            }
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            if &rest[..end] == "fn" && is_test {
                is_test = false;
                let name = rest[end..].trim_start();
                let name = name.split('(').next().unwrap_or_default();
                words.end_phrase();
                add_text(&mut words, &name.replace('_', " "), line);
            }
            words.end_phrase();
            end
        } else {
            if !c.is_whitespace() {
                words.end_phrase();
            }
            is_test |= rest.starts_with("#[test]") || rest.starts_with("#[tokio::test");
            c.len_utf8()
        };
        let length = length.min(rest.len());
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    words.end_phrase();
    words.tokens
}

/// Returns the text of a string literal. Each escape becomes a space, each variable in braces a `;`.
fn without_escapes(body: &str) -> String {
    let mut out = String::new();
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        let variable = rest.strip_prefix('{').and_then(|r| r.split_once('}'));
        if let Some(after) = rest.strip_prefix('\\') {
            let escaped = after.chars().next();
            length += escaped.map_or(0, char::len_utf8);
            out.push(if escaped == Some('\n') { '\n' } else { ' ' });
        } else if let Some((name, _)) = variable.filter(|(n, _)| !n.contains([' ', '\n', '"'])) {
            length += name.len() + 1;
            out.push(';');
        } else {
            out.push(c);
        }
        rest = &rest[length..];
    }
    out
}

/// If `text` begins with a string literal, returns the length up to its content. The second number is that of the `#`
/// of a raw string.
fn string_start(text: &str) -> Option<(usize, Option<usize>)> {
    let bare = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - bare.len();
    if bare.starts_with('"') {
        return Some((prefix + 1, None));
    }
    let hashes = bare.strip_prefix('r')?;
    let count = hashes.len() - hashes.trim_start_matches('#').len();
    hashes[count..]
        .starts_with('"')
        .then_some((prefix + 1 + count + 1, Some(count)))
}

/// Returns the length of a string literal's content. `text` begins with the content, and `close` ends a raw string.
fn string_end(text: &str, close: &str, is_raw: bool) -> usize {
    if is_raw {
        return text.find(close).unwrap_or(text.len());
    }
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

/// Returns whether the tokens from index `at` begin with `phrase`.
fn is_at(tokens: &[Token], at: usize, phrase: &str) -> bool {
    let is_word = |(offset, word): (usize, &str)| matches!(tokens.get(at + offset), Some(Token::Word(_, w)) if w == word);
    phrase.split(' ').enumerate().all(is_word)
}

/// Returns each banned phrase in `tokens`: line, phrase and replacement.
fn findings(tokens: &[Token]) -> Vec<(usize, &'static str, &'static str)> {
    let mut by_first: HashMap<&str, Vec<(&'static str, &'static str)>> = HashMap::new();
    for (phrase, replacement) in BANNED {
        let first = phrase.split(' ').next().unwrap_or_default();
        by_first
            .entry(first)
            .or_default()
            .push((*phrase, *replacement));
    }
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(line, word) = token else {
            continue;
        };
        let banned = by_first.get(word.as_str()).into_iter().flatten();
        for (phrase, replacement) in banned {
            if is_at(tokens, at, phrase) {
                found.push((*line, *phrase, *replacement));
            }
        }
    }
    found
}

/// Returns `text` in lower case, with the texts in [`ALLOWED`] made unreadable.
fn without_allowed(text: &str) -> String {
    let mut text = text.to_lowercase();
    for (allowed, _) in ALLOWED {
        // Quotes and escapes stay, so that strings end where they ended.
        let sign = |c: char| if c.is_alphanumeric() { ';' } else { c };
        let signs: String = allowed.chars().map(sign).collect();
        text = text.replace(allowed, &signs);
    }
    text
}

/// Returns all files below [`READ`] except those below [`SKIPPED`].
fn files(base: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = READ.iter().map(|name| base.join(name)).collect();
    let mut out = Vec::new();
    while let Some(path) = paths.pop() {
        if SKIPPED.iter().any(|name| path == base.join(name)) {
            continue;
        }
        if path.is_dir() {
            paths.extend(fs::read_dir(path).unwrap().map(|e| e.unwrap().path()));
        } else {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn text_uses_the_terms_of_the_glossary() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = files(base);
    assert!(files.len() > 500, "{} files", files.len());
    let mut problems = Vec::new();
    for path in files {
        // Data of a test need not be text.
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let text = without_allowed(&text);
        let tokens = match path.extension().and_then(|e| e.to_str()) {
            Some("rs") => words_of_rust(&text),
            _ => words_of_text(&text),
        };
        let name = path.strip_prefix(base).unwrap().display().to_string();
        for (line, phrase, replacement) in findings(&tokens) {
            problems.push(format!("{name}:{line}: \"{phrase}\": write {replacement}"));
        }
    }
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn terms_are_found_in_comments_strings_and_test_names() {
    let text = r##"//! Nobody reads
/// what can
/// not be read, as `nobody` does.
fn letter(nobody: &'static str) -> char {
    let whoever = "a \"letter\" for {nobody}, at\
        rest"; // the reference
    let raw = r#"a "clerk" waits"#;
    b'"'; '\''; '"'
}
#[test]
fn nobody_waits() {}
"##;
    let found = findings(&words_of_rust(&text.to_lowercase()));
    let found: Vec<(usize, &str)> = found.iter().map(|(line, term, _)| (*line, *term)).collect();
    let expected = [
        (1, "nobody"),
        (2, "can not"),
        (5, "letter"),
        (5, "at rest"),
        (6, "the reference"),
        (7, "clerk"),
        (11, "nobody"),
    ];
    assert_eq!(found, expected);
    let page = findings(&words_of_text(
        "No letters.\nsee `letters` and the\nperson.",
    ));
    let page: Vec<(usize, &str)> = page.iter().map(|(line, term, _)| (*line, *term)).collect();
    assert_eq!(page, [(1, "letters"), (2, "the person")]);
}
