//! What there is to know about git and the repository before anything is asked of them.

use std::path::Path;

use super::{Git, GitError, OLDEST, Repo};
use crate::domain::worktree::Busy;

/// Git, and the repository of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFacts {
    /// What `git version` says, without its first two words; or why there is no git, or one that is too old.
    pub version: Result<String, GitError>,
    /// The oldest version that will do.
    pub oldest: String,
    /// The repository; or why worktrees can not be made here.
    pub repository: Result<RepositoryFacts, GitError>,
}

/// A repository in which worktrees can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    /// The branch that is checked out; `None`: a commit by itself.
    pub branch: Option<String>,
    /// The commit.
    pub commit: String,
    /// What is under way in the main work tree.
    pub busy: Option<Busy>,
}

/// Looks at git and the repository of `root`; changes nothing.
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
