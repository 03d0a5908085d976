//! Creates the repository and its first commit when the user asks for it: worktrees need a commit to start from.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Git, GitError, Repo};

/// The shell command that creates a repository with a first commit, shown to the user.
pub const INIT_AND_COMMIT: &str = "git init && git add -A && git commit -m \"Start\"";
/// The shell command that creates the first commit, shown to the user.
pub const COMMIT: &str = "git add -A && git commit -m \"Start\"";
const MESSAGE: &str = "Start";

/// Creates a repository in `root` if there is none, calls `exclude`, and commits all files that are not ignored. The
/// commit is empty if there are no files. A repository that already has a commit gets no new one. Hooks and signing are
/// off, because both may prompt. Git is stopped when `stop` becomes true.
///
/// # Errors
/// Returns git's error. A repository that was created before the error is kept.
pub fn create_first_commit(
    root: &Path,
    stop: Arc<AtomicBool>,
    exclude: impl FnOnce(),
) -> Result<(), GitError> {
    let git = Git::at(root).with_stop(stop);
    if let Err(GitError::NoRepository(_)) = Repo::open_by(&git) {
        git.ok(&["init", "--quiet"])?;
    }
    exclude();
    match Repo::open_by(&git)?.head() {
        Err(GitError::NoCommits) => {}
        other => return other.map(drop),
    }
    git.ok(&["add", "--all"])?;
    git.committer()?.ok(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--no-verify",
        "--no-gpg-sign",
        "-m",
        MESSAGE,
    ])?;
    Ok(())
}
