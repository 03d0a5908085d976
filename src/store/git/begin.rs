//! The first commit of a directory, at the person's wish: what worktrees start from.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Git, GitError, Repo};

/// How the person makes a repository with a first commit by hand.
pub const INIT_AND_COMMIT: &str = "git init && git add -A && git commit -m \"Start\"";
/// How the person makes the first commit by hand.
pub const COMMIT: &str = "git add -A && git commit -m \"Start\"";
/// The message of the first commit.
const MESSAGE: &str = "Start";

/// Makes `root` a repository where it is none, and commits all that lies there and is not ignored; nothing is an empty
/// commit. What is a repository with a commit stays as it is. Hooks do not run and nothing is signed: nobody is there
/// whom they could ask. Git is ended when `stop` becomes true. `exclude` is called when there is a repository, before anything is added to it.
///
/// # Errors
/// What git says; what was made until then stays.
pub fn begin(root: &Path, stop: Arc<AtomicBool>, exclude: impl FnOnce()) -> Result<(), GitError> {
    let git = Git::at(root).until(stop);
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
