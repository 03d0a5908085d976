//! An item of an import: what will be one task, before it has a number on the board.

use std::fmt;

use ring::digest::{Context, SHA256};

use super::super::text::{clip, one_line};

/// Maximum number of tasks in one import.
pub const ITEMS_MAX: usize = 1000;
/// Maximum number of tags of a task.
pub(super) const TAGS_MAX: usize = 100;
/// Maximum length of [`ImportItem::key`], in bytes.
pub(super) const KEY_MAX: usize = 2000;

/// Where an item is in its source. Errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemOrigin {
    /// The line in the file, counted from 1.
    Line(usize),
    /// The number of the issue.
    Issue(u64),
}

impl fmt::Display for ItemOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemOrigin::Line(line) => write!(f, "line {line}"),
            ItemOrigin::Issue(number) => write!(f, "issue #{number}"),
        }
    }
}

/// Names another item that must be completed first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ItemRef {
    /// The number of an item of the same import. For issues, also of an issue that was imported earlier.
    Number(u64),
    /// The URL of an issue.
    Url(String),
}

impl fmt::Display for ItemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ItemRef::Number(number) => write!(f, "#{number}"),
            ItemRef::Url(url) => f.write_str(&clip(&one_line(url), 100)),
        }
    }
}

/// An entry of a check list, a task in JSON or an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportItem {
    pub origin: ItemOrigin,
    /// The number by which other items name this one; `None` if they cannot.
    pub number: Option<u64>,
    /// The URL of the issue; `None` if the item is not an issue.
    pub url: Option<String>,
    pub subject: String,
    pub description: String,
    pub tags: Vec<String>,
    pub waits_for: Vec<ItemRef>,
    /// Whether the item is checked, completed or closed. It does not become a task, and no task waits for it.
    pub is_done: bool,
    /// Identifies the item on the board: see [`super::super::task::Task::imported_from`].
    pub key: String,
}

/// Why nothing is imported. Contains every problem that was found, each with the line or the issue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", join_problems(.0))]
pub struct ImportError(Vec<String>);

impl ImportError {
    /// Returns an error if there are problems.
    pub(super) fn check(problems: Vec<String>) -> Result<(), ImportError> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ImportError(problems))
        }
    }
}

impl From<String> for ImportError {
    fn from(problem: String) -> ImportError {
        ImportError(vec![problem])
    }
}

/// Returns the first problem and the number of further ones, on one line.
fn join_problems(problems: &[String]) -> String {
    let first = problems.first().map(|p| one_line(p)).unwrap_or_default();
    match problems.len().saturating_sub(1) {
        0 => first,
        1 => format!("{first} (and 1 more problem)"),
        more => format!("{first} (and {more} more problems)"),
    }
}

/// Returns the key of an item of a file. `occurrence` is the number of earlier items in the file with the same text.
pub(super) fn content_key(subject: &str, description: &str, occurrence: usize) -> String {
    let mut hash = Context::new(&SHA256);
    let occurrence = occurrence.to_string();
    for field in [subject, description, occurrence.as_str()] {
        // With its length before it, no field can be taken for a part of another one.
        hash.update(&(field.len() as u64).to_be_bytes());
        hash.update(field.as_bytes());
    }
    let mut key = String::from("sha256:");
    for byte in &hash.finish().as_ref()[..16] {
        key.push_str(&format!("{byte:02x}"));
    }
    key
}

/// Returns the tags without blanks around them, without control characters, and without empty and repeated ones. Case
/// does not matter for the comparison. Stops at one tag more than [`TAGS_MAX`], which shows that there are too many.
pub(super) fn clean_tags<'a>(tags: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for tag in tags {
        if out.len() > TAGS_MAX {
            break;
        }
        let tag = one_line(tag.trim());
        if !tag.is_empty() && !out.iter().any(|known| known.eq_ignore_ascii_case(&tag)) {
            out.push(tag);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_shows_the_first_problem_and_counts_the_others() {
        for (problems, shown) in [
            (vec!["line 1: a\u{1b}"], "line 1: a␛"),
            (vec!["a", "b"], "a (and 1 more problem)"),
            (vec!["a", "b", "c"], "a (and 2 more problems)"),
        ] {
            let problems = problems.into_iter().map(String::from).collect();
            let error = ImportError::check(problems).unwrap_err();
            assert_eq!(error.to_string(), shown);
        }
        assert_eq!(ImportError::check(Vec::new()), Ok(()));
    }

    #[test]
    fn content_key_depends_on_every_field() {
        let key = content_key("a", "b", 0);
        assert_eq!(key.len(), "sha256:".len() + 32);
        assert_eq!(key, content_key("a", "b", 0));
        for other in [
            content_key("a", "b", 1),
            content_key("ab", "", 0),
            content_key("", "ab", 0),
        ] {
            assert_ne!(key, other);
        }
    }

    #[test]
    fn tags_are_trimmed_and_not_repeated() {
        let tags = clean_tags([" bug", "Bug", "", "help\u{1b}wanted"].into_iter());
        assert_eq!(tags, ["bug", "help␛wanted"]);
        let many: Vec<String> = (0..200).map(|n| n.to_string()).collect();
        let tags = clean_tags(many.iter().map(String::as_str));
        assert_eq!(tags.len(), TAGS_MAX + 1);
    }
}
