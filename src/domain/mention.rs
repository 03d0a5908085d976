//! Mentions of files and MCP resources in a message: `@src/main.rs`, `@server:uri`, or `@"a b.md"` for a path with
//! blanks. In quotes, `\"` stands for `"`, and `\\` for `\`; a backslash before another character stands for itself.
//! This module does not access the file system.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A file, directory or MCP resource that a message refers to with `@`, to be attached to the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// The path as the user wrote it: relative to the project, absolute, or beginning with `~/`. Or `SERVER:URI` for a
    /// resource of an MCP server.
    pub path: String,
    /// Whether a file or directory must exist at the path. If it is missing, the message is rejected if this field is
    /// true, and the mention stays plain text if it is false. Has no effect on the mention of a resource.
    #[serde(rename = "required", default = "default_required")]
    pub is_required: bool,
}

fn default_required() -> bool {
    true
}

/// A mention that ends at the cursor, because the user is still typing the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialMention<'a> {
    /// Position of the `@` in the text, in bytes.
    pub start: usize,
    /// The text between the `@` and the cursor, without an opening quote.
    pub query: &'a str,
}

/// Returns the mentions in `text` in order, without repeated paths. [`Mention::is_required`] is true for a path in
/// quotes, and for a path that starts with `/`, `./`, `../` or `~/`. For any other path, the function `is_required`
/// decides.
pub fn mentions(text: &str, is_required: impl Fn(&str) -> bool) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for written in all(text) {
        if !found.iter().any(|mention| mention.path == written.path) {
            found.push(Mention {
                is_required: written.is_explicit || is_required(&written.path),
                path: written.path.into_owned(),
            });
        }
    }
    found
}

/// Returns the byte ranges of the required mentions in `text`, in order and without overlaps. If a path occurs twice,
/// both ranges are returned. Which mentions are required is decided as in [`mentions`].
pub fn required_ranges(text: &str, is_required: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for written in all(text).filter(|w| w.is_explicit || is_required(&w.path)) {
        // An `@` inside a quoted path begins no mention of its own.
        if ranges
            .last()
            .is_none_or(|last| last.end <= written.range.start)
        {
            ranges.push(written.range);
        }
    }
    ranges
}

/// A mention as it is written in a text.
struct WrittenMention<'a> {
    /// The range of the mention in bytes, with the `@` and the quotes.
    range: Range<usize>,
    path: Cow<'a, str>,
    /// Whether the path is in quotes or starts with `/`, `./`, `../` or `~/`. If true, the mention is always required.
    is_explicit: bool,
}

fn all(text: &str) -> impl Iterator<Item = WrittenMention<'_>> {
    text.match_indices('@').filter_map(move |(start, _)| {
        let rest = &text[start + 1..];
        let (path, length) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_path(quoted)?,
            None => (Cow::Borrowed(bare_path(rest)), bare_path(rest).len()),
        };
        let is_mention = begins_word(text, start) && !path.is_empty() && !path.contains('\n');
        let starts = ["/", "./", "../", "~/"];
        is_mention.then(|| WrittenMention {
            range: start..start + 1 + length,
            is_explicit: rest.starts_with('"') || starts.iter().any(|s| path.starts_with(s)),
            path,
        })
    })
}

/// Returns the mention at the end of `before`, the text before the cursor. A lone `@` is a mention with an empty query.
/// Returns `None` if the text does not end with a mention, for example after a closing quote or a blank.
pub fn at_cursor(before: &str) -> Option<PartialMention<'_>> {
    before.match_indices('@').rev().find_map(|(start, _)| {
        let rest = &before[start + 1..];
        let query = match rest.strip_prefix('"') {
            Some(quoted) => (!quoted.contains(['"', '\n'])).then_some(quoted),
            None => (!rest.contains(char::is_whitespace)).then_some(rest),
        };
        let query = query.filter(|_| begins_word(before, start))?;
        Some(PartialMention { start, query })
    })
}

/// Formats a path as a mention with `@`, in quotes if the path contains blanks, begins with a quote or ends with
/// punctuation.
pub fn format_mention(path: &str) -> String {
    if path.contains(char::is_whitespace) || path.starts_with('"') || bare_path(path) != path {
        let escaped = path.replace('\\', r"\\").replace('"', "\\\"");
        format!("@\"{escaped}\"")
    } else {
        format!("@{path}")
    }
}

/// Parses a path in quotes. `rest` is the text after the opening quote. Returns the path without escapes, and its
/// length in bytes as written, including both quotes. Returns `None` if the closing quote is missing.
fn quoted_path(rest: &str) -> Option<(Cow<'_, str>, usize)> {
    let mut is_escaped = false;
    let end = rest.find(|c: char| {
        let is_plain = !std::mem::take(&mut is_escaped);
        is_escaped = is_plain && c == '\\';
        is_plain && c == '"'
    })?;
    let written = &rest[..end];
    if !written.contains('\\') {
        return Some((Cow::Borrowed(written), end + 2));
    }
    let mut path = String::with_capacity(end);
    let mut chars = written.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = chars.next_if(|next| c == '\\' && matches!(next, '"' | '\\'));
        path.push(escaped.unwrap_or(c));
    }
    Some((Cow::Owned(path), end + 2))
}

/// Returns the path at the start of `rest`: the text up to the next blank, without punctuation, closing brackets and
/// quotes at its end.
fn bare_path(rest: &str) -> &str {
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '\'', '"'])
}

/// Returns whether the `@` at byte `start` is at the start of `text`, or follows a blank, an opening bracket or a
/// quote. In `user@host`, it does not.
fn begins_word(text: &str, start: usize) -> bool {
    let before = text[..start].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || "([{\"'`".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn mentions_are_found_at_word_starts_without_punctuation() {
        let cases: [(&str, &[(&str, bool)]); 10] = [
            ("see @README.md, please", &[("README.md", true)]),
            ("(@src/a.rs)", &[("src/a.rs", false)]),
            (
                "@\"a b.md\" and @README.md.",
                &[("a b.md", true), ("README.md", true)],
            ),
            (
                "@/etc/hosts @~/x @../y",
                &[("/etc/hosts", true), ("~/x", true), ("../y", true)],
            ),
            ("mail user@host.org", &[]),
            ("@ and @. and @\"open", &[]),
            ("@src/ @src/", &[("src/", false)]),
            ("npm i @types/node", &[("types/node", false)]),
            (r#"@"a \b \" c""#, &[(r#"a \b " c"#, true)]),
            ("", &[]),
        ];
        for (text, expected) in cases {
            let found = mentions(text, |path| path == "README.md");
            let found: Vec<(&str, bool)> = found
                .iter()
                .map(|m| (m.path.as_str(), m.is_required))
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn ranges_cover_required_mentions() {
        for (text, expected) in [
            ("see @README.md, or @other.md", vec!["@README.md"]),
            (
                "@\"a @b.md\" (@/etc/hosts)",
                vec!["@\"a @b.md\"", "@/etc/hosts"],
            ),
            ("@README.md @README.md.", vec!["@README.md"; 2]),
            ("user@README.md", vec![]),
        ] {
            let ranges = required_ranges(text, |path| path == "README.md");
            let found: Vec<&str> = ranges.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn mention_at_the_cursor_is_the_word_or_the_open_quote() {
        let cases = [
            ("@", Some((0, ""))),
            ("look at @src/m", Some((8, "src/m"))),
            ("@\"a b", Some((0, "a b"))),
            ("@\"a b\" ", None),
            ("@a b", None),
            ("user@host", None),
            ("@a\n@b", Some((3, "b"))),
        ];
        for (before, expected) in cases {
            let found = at_cursor(before).map(|found| (found.start, found.query));
            assert_eq!(found, expected, "{before}");
        }
    }

    #[test]
    fn written_mentions_are_read_back() {
        for path in [
            "README.md",
            "a b.md",
            "src/",
            "odd.",
            "ü/ö.txt",
            "a \"b\".md",
            "\"a",
            "a b\\",
            "a \\\"b",
            "a\\b\"c",
        ] {
            let text = format!("see {} now", format_mention(path));
            assert_eq!(mentions(&text, |_| true)[0].path, path, "{text}");
        }
    }
}
