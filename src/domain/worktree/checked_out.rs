//! What is checked out in a project. Tasks are merged into the checked-out branch.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Length of an abbreviated commit hash, in characters.
const COMMIT_SHOWN: usize = 7;
/// Prefix of branch references.
const BRANCHES: &str = "refs/heads/";

/// What is checked out in the root of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckedOut {
    /// A branch, without `refs/heads/`. It may have no commits yet.
    Branch(String),
    /// A detached commit, by its abbreviated hash.
    Commit(String),
}

impl CheckedOut {
    /// Parses git's file `HEAD`: `ref: refs/heads/main` or a commit hash. Returns `None` for other content.
    pub fn parse(head: &str) -> Option<CheckedOut> {
        let head = head.trim();
        if let Some(name) = head.strip_prefix("ref:") {
            let name = name.trim_start().strip_prefix(BRANCHES)?;
            return (!name.is_empty()).then(|| CheckedOut::Branch(name.into()));
        }
        let is_number =
            matches!(head.len(), 40 | 64) && head.bytes().all(|b| b.is_ascii_hexdigit());
        is_number.then(|| CheckedOut::Commit(head.chars().take(COMMIT_SHOWN).collect()))
    }
}

/// Displays `on main` or `at 1a2b3c4`.
impl fmt::Display for CheckedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckedOut::Branch(name) => write!(f, "on {name}"),
            CheckedOut::Commit(number) => write!(f, "at {number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn head_file_is_parsed() {
        let branch = |name: &str| Some(CheckedOut::Branch(name.into()));
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for (head, expected) in [
            ("ref: refs/heads/main\n", branch("main")),
            ("ref:refs/heads/team/deep/main", branch("team/deep/main")),
            (commit, Some(CheckedOut::Commit("0123456".into()))),
            ("ref: refs/tags/v1\n", None),
            ("ref: refs/heads/\n", None),
            ("0123", None),
            ("", None),
        ] {
            assert_eq!(CheckedOut::parse(head), expected, "{head}");
        }
    }
}
