//! Errors of git commands, with what the user can do about them.

use std::path::PathBuf;

use super::remote_failure::RemoteFailure;
use crate::domain::text::{clip, one_line};

/// Maximum length of git's error message, in characters. Longer messages are cut.
const MESSAGE_MAX: usize = 400;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    #[error("git was not found: install git 2.31 or newer to use worktrees")]
    Missing,
    /// The installed git is too old. The string is its version.
    #[error("git {0} is too old: worktrees need 2.31 or newer")]
    TooOld(String),
    /// Git is installed but could not be started.
    #[error("git cannot be started: {0}")]
    Start(String),
    #[error("git {0} did not end within 120 s and was stopped: check what blocks it, then retry")]
    TimedOut(String),
    #[error("git {0} was stopped")]
    Stopped(String),
    /// The command ended with an unexpected exit code.
    #[error("git {what} failed: {why}")]
    Failed {
        /// The first two arguments of the command, such as `worktree add`.
        what: String,
        /// Git's error message on one line, or its exit code.
        why: String,
    },
    /// The output of the command exceeds `ANSWER_MAX` (4 MiB).
    #[error("git {0} printed more than 4 MiB, which is more than crewdeck reads")]
    TooLong(String),
    /// The project's root is not the top folder of a repository.
    #[error("{0} is not a git repository: worktrees need one (git init, then a first commit)")]
    NoRepository(PathBuf),
    /// The repository has no working files.
    #[error("{0} is a bare git repository: work in a clone of it")]
    Bare(PathBuf),
    /// There is a `.git`, but git does not accept it as a repository.
    #[error(
        "{0}/.git is damaged or not a git repository: run git -C '{0}' status to see the cause"
    )]
    Damaged(PathBuf),
    /// Another user owns the repository, so git refuses to use it.
    #[error(
        "{0} belongs to another user, so git refuses it: if you trust it, run git config --global --add safe.directory '{0}'"
    )]
    OwnedByOther(PathBuf),
    /// The path contains a line break, which git's line-based output cannot represent.
    #[error("{0} has a line break in its name, which worktrees do not support: rename the folder")]
    LineBreak(PathBuf),
    /// The repository has no commit. A worktree needs a commit to start from.
    #[error(
        "the repository has no commit yet: create one (git commit), then worktrees can start from it"
    )]
    NoCommits,
    /// The repository through which a crew exchanges branches cannot be used.
    #[error(transparent)]
    Remote(#[from] RemoteFailure),
}

/// Extracts git's error message from `stderr` as one line: everything from the first `fatal:` or `error:` line on, else
/// the last four lines. Leaves out `hint:` lines, and cuts the message after [`MESSAGE_MAX`] characters. Returns an
/// empty text if `stderr` contains no other text.
pub fn error_message(stderr: &str) -> String {
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
    clip(&one_line(&last.join(" ")), MESSAGE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn complaint_is_one_line_without_hints() {
        for (stderr, line) in [
            (
                "Preparing worktree\nfatal: 'x' exists\n",
                "fatal: 'x' exists",
            ),
            ("error: a\nhint: b\nfatal: c\n", "error: a fatal: c"),
            ("1\n2\n3\n4\n5\n", "2 3 4 5"),
            ("", ""),
        ] {
            assert_eq!(error_message(stderr), line);
        }
    }
}
