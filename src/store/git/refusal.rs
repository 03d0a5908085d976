//! Why git could not do something, in words that say what to do.

use std::path::PathBuf;

use crate::domain::text::{clip, one_line};

/// Most characters of git's complaint in an error.
const COMPLAINT_MAX: usize = 400;

/// Why git could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// It is not installed.
    #[error("git was not found: install it (2.31 or newer), worktrees need it")]
    Missing,
    /// It is too old.
    #[error("git {0} is too old: worktrees need 2.31 or newer")]
    TooOld(String),
    /// It could not be started.
    #[error("git can not be started: {0}")]
    Start(String),
    /// It did not end in time.
    #[error(
        "git {0} did not end within 120 s and was stopped: see what holds it up, then try again"
    )]
    TimedOut(String),
    /// It was stopped.
    #[error("git {0} was stopped")]
    Stopped(String),
    /// It refused.
    #[error("git {what} failed: {why}")]
    Failed {
        /// The command.
        what: String,
        /// What it said, on one line.
        why: String,
    },
    /// The answer is longer than what is kept.
    #[error("git {0} answered more than 4 MiB")]
    TooLong(String),
    /// The root is in no repository.
    #[error("{0} is not a git repository: worktrees need one (git init, then a first commit)")]
    NoRepository(PathBuf),
    /// The root is a repository without files.
    #[error("{0} is a bare git repository: work in a clone of it")]
    Bare(PathBuf),
    /// What git takes for no repository stands where one should be.
    #[error("{0}/.git is no git repository, or a damaged one: git status there says what is wrong")]
    Damaged(PathBuf),
    /// Git does not work in what belongs to somebody else.
    #[error(
        "{0} belongs to somebody else, so git refuses it: if you trust it, run git config --global --add safe.directory '{0}'"
    )]
    NotYours(PathBuf),
    /// Git's answers hold one path a line.
    #[error("{0} has a line break in its name, which worktrees can not have: rename it")]
    LineBreak(PathBuf),
    /// There is nothing to start from.
    #[error(
        "the repository has no commit yet: make a first one (git commit), then worktrees can start from it"
    )]
    NoCommits,
}

/// What git has to say in the end: its `fatal:` and `error:` lines, else the last lines; on one line.
pub fn complaint(stderr: &str) -> String {
    let of = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let from = stderr.lines().position(|l| of(&l)).unwrap_or(0);
    let lines: Vec<&str> = stderr
        .lines()
        .skip(from)
        .filter(|l| !l.starts_with("hint:") && !l.trim().is_empty())
        .map(str::trim)
        .collect();
    let last = if from == 0 && lines.len() > 4 && !of(&lines[0]) {
        &lines[lines.len() - 4..]
    } else {
        &lines[..]
    };
    clip(&one_line(&last.join(" ")), COMPLAINT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn complaints_fit_on_a_line_and_hints_are_left_out() {
        for (stderr, line) in [
            (
                "Preparing worktree\nfatal: 'x' exists\n",
                "fatal: 'x' exists",
            ),
            ("error: a\nhint: b\nfatal: c\n", "error: a fatal: c"),
            ("1\n2\n3\n4\n5\n", "2 3 4 5"),
            ("", ""),
        ] {
            assert_eq!(complaint(stderr), line);
        }
    }
}
