//! Reports the git version and the state of the repository, for `doctor` and the setup pages.

use std::path::Path;

use super::{Git, GitError, OLDEST, Repo};
use crate::domain::worktree::GitOperation;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFacts {
    /// The version number, or the error if git is missing or too old.
    pub version: Result<String, GitError>,
    /// The oldest version of git that crewdeck supports.
    pub oldest: String,
    /// The repository, or the reason why worktrees cannot be created in this project.
    pub repository: Result<RepositoryFacts, GitError>,
}

/// A repository in which worktrees can be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The branch that is checked out; `None` if `HEAD` is detached.
    pub branch: Option<String>,
    pub commit: String,
    /// The git operation in progress in the project's root, such as a rebase; `None` if there is none.
    pub busy: Option<GitOperation>,
}

/// Inspects git and the repository of `root`. Changes nothing.
pub fn facts(root: &Path) -> GitFacts {
    let git = Git::at(root);
    let version = git.check().and_then(|()| git.ok(&["version"]));
    GitFacts {
        version: version.map(|text| text.trim_start_matches("git version ").to_string()),
        oldest: format!("{}.{}", OLDEST.0, OLDEST.1),
        repository: repository(root),
    }
}

fn repository(root: &Path) -> Result<RepositoryFacts, GitError> {
    let repo = Repo::open(root)?;
    let head = repo.head()?;
    Ok(RepositoryFacts {
        branch: head.branch,
        commit: head.commit,
        busy: repo.busy(),
    })
}
