//! What a push of a worktree's branch would publish.

use super::WorktreeName;
use crate::domain::code_host::RepositoryAddress;

/// Maximum number of commits whose subjects are listed.
pub const OUTGOING_COMMITS_MAX: usize = 50;

/// The branch of a worktree and what the branch to merge into at a remote lacks of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingBranch {
    pub worktree: WorktreeName,
    /// The name of the remote.
    pub remote: String,
    /// The branch at the remote into which the commits are to be merged, without `refs/heads/`.
    pub base: String,
    /// The branch at the remote that gets the commits, without `refs/heads/`.
    pub branch: String,
    /// The last commit of the worktree's branch.
    pub commit: String,
    /// The git tree of `commit`.
    pub tree: String,
    /// The last commit of `branch` at the remote, a commit in the history of `commit`; `None` if the remote has no such
    /// branch.
    pub pushed: Option<String>,
    /// Number of commits that `branch` lacks at the remote. If it does not exist, those that `base` lacks.
    pub unpushed_count: u64,
    /// Number of commits that `base` lacks.
    pub commit_count: u64,
    /// The newest of these commits, oldest first, each as abbreviated hash and subject, at most
    /// [`OUTGOING_COMMITS_MAX`]. The subjects are not shortened, so that secrets in them can be found.
    pub commits: Vec<String>,
    /// The changes since the merge base, as `git diff --stat` prints them, with whole paths.
    pub stat: String,
}

impl OutgoingBranch {
    /// Returns whether `base` has all commits of the branch, so that there is nothing to merge.
    pub fn is_merged(&self) -> bool {
        self.commit_count == 0
    }

    /// Returns whether the branch at the remote lacks commits.
    pub fn needs_push(&self) -> bool {
        self.pushed.as_ref() != Some(&self.commit)
    }

    /// Returns the argument of `git push` that names what to push where. Without a `+`, git refuses to drop commits of the
    /// branch at the remote.
    pub fn refspec(&self) -> String {
        format!("{}:refs/heads/{}", self.commit, self.branch)
    }
}

/// A remote of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRemote {
    pub name: String,
    /// The address to which git pushes, without passwords, for messages.
    pub shown_url: String,
    /// The repository at a server; `None` if the remote is a folder or has an address of another form.
    pub address: Option<RepositoryAddress>,
    /// The URL to which git pushes, if git fetches from another one.
    pub push_url: Option<String>,
}

impl GitRemote {
    /// Returns what git is given to read the repository to which it pushes.
    pub fn source(&self) -> &str {
        self.push_url.as_deref().unwrap_or(&self.name)
    }

    /// Returns the repository to which git pushes, for commands in messages. Contains no password.
    pub fn shown_source(&self) -> &str {
        match self.push_url {
            Some(_) => &self.shown_url,
            None => &self.name,
        }
    }
}
