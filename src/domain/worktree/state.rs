//! The state of a worktree, and what its removal would lose.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::text::join_names;

/// Maximum number of paths in a list of files (uncommitted, untracked or in conflict), and in a list of nested
/// repositories.
pub const FILES_MAX: usize = 20;
/// Maximum number of unmerged commits whose subjects are listed.
pub const SUBJECTS_MAX: usize = 20;
/// Maximum number of files, of commits and of nested repositories that an error message names. The others are only
/// counted.
const NAMED_MAX: usize = 5;

/// What the folder of a worktree contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderState {
    /// A worktree of this repository.
    Whole,
    /// The folder does not exist or is empty.
    Missing,
    /// The folder exists but is not a worktree of this repository.
    Foreign,
}

/// Whether the base branch contains the changes of a worktree's branch. Changes are compared by content and not by
/// commit hash, because a squash or rebase creates commits with other hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentStatus {
    /// The branch has no changes of its own to merge, or does not exist.
    Nothing,
    /// The base branch contains all changes, because the branch was merged, squashed or rebased.
    Merged,
    /// The base branch lacks some changes.
    Unmerged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GitOperation {
    Merge,
    Rebase,
    /// `git am`, which applies patches from mails.
    Am,
    CherryPick,
    Revert,
    Bisect,
}

impl GitOperation {
    /// Returns the git command that aborts the operation, without the word `git`: for example `merge --abort`.
    pub fn abort(self) -> &'static str {
        match self {
            GitOperation::Merge => "merge --abort",
            GitOperation::Rebase => "rebase --abort",
            GitOperation::Am => "am --abort",
            GitOperation::CherryPick => "cherry-pick --abort",
            GitOperation::Revert => "revert --abort",
            GitOperation::Bisect => "bisect reset",
        }
    }

    /// Returns the name of the git command, such as `cherry-pick`.
    pub fn command(self) -> &'static str {
        match self {
            GitOperation::Merge => "merge",
            GitOperation::Rebase => "rebase",
            GitOperation::Am => "am",
            GitOperation::CherryPick => "cherry-pick",
            GitOperation::Revert => "revert",
            GitOperation::Bisect => "bisect",
        }
    }
}

impl fmt::Display for GitOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GitOperation::Am => f.write_str("a git am"),
            other => write!(f, "a {}", other.command()),
        }
    }
}

/// The state of a worktree on disk, and of its branch relative to the base branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeState {
    pub on_disk: FolderState,
    /// The name of the checked-out branch, or `commit` and an abbreviated hash. `None` if the worktree's own branch is
    /// checked out, or if there is no folder or no commit.
    pub other_checkout: Option<String>,
    /// The checked-out commit, abbreviated, if the removal of the worktree would lose it: the commit is on no branch,
    /// remote-tracking branch or tag, and the base branch lacks its changes. `None` otherwise, and while a git
    /// operation is in progress.
    pub unreachable_commit: Option<String>,
    /// The git operation in progress in the worktree; `None` if there is none.
    pub busy: Option<GitOperation>,
    /// Number of uncommitted files. An untracked folder counts as one.
    pub dirty: usize,
    /// Paths of the first uncommitted files, relative to the worktree, at most [`FILES_MAX`].
    pub files: Vec<String>,
    /// Number of commits that the base branch lacks, compared by hash. Counts commits on the worktree's branch, and on
    /// another branch or commit that is checked out in the worktree.
    pub ahead: u64,
    /// Whether the base branch contains the changes of the `ahead` commits, possibly under other hashes.
    pub content: ContentStatus,
    /// The `ahead` commits, each as abbreviated hash and subject, newest first, at most [`SUBJECTS_MAX`]. Empty unless
    /// `content` is [`ContentStatus::Unmerged`].
    pub unmerged: Vec<String>,
    /// Paths of the first nested repositories (initialised submodules, clones), relative to the worktree, at most
    /// [`FILES_MAX`]. Their commits are not inspected.
    pub nested: Vec<String>,
}

impl WorktreeState {
    /// Returns what the removal of the worktree would lose.
    pub fn losses(&self) -> Losses {
        let commits = match self.content {
            ContentStatus::Unmerged => self.ahead,
            ContentStatus::Nothing | ContentStatus::Merged => 0,
        };
        Losses {
            files: self.dirty,
            named: self.files.clone(),
            commits,
            subjects: self.unmerged.clone(),
            nested: self.nested.clone(),
            busy: self.busy,
        }
    }
}

/// What the removal of a worktree would lose. Files that git ignores do not count, because they can usually be created
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Losses {
    /// Number of uncommitted files. An untracked folder counts as one.
    pub files: usize,
    /// Paths of the first uncommitted files, relative to the worktree, at most [`FILES_MAX`].
    pub named: Vec<String>,
    /// Number of unmerged commits.
    pub commits: u64,
    /// The newest unmerged commits, each as abbreviated hash and subject, at most [`SUBJECTS_MAX`].
    pub subjects: Vec<String>,
    /// Paths of the first nested repositories, relative to the worktree, at most [`FILES_MAX`]. Their commits would be
    /// lost.
    pub nested: Vec<String>,
    /// The git operation in progress in the worktree, whose state would be lost; `None` if there is none.
    pub busy: Option<GitOperation>,
}

impl Losses {
    /// Returns the losses that can be restored after a removal: the commits, because an unmerged branch is kept.
    #[must_use]
    pub fn restorable(&self) -> Losses {
        Losses {
            commits: self.commits,
            subjects: self.subjects.clone(),
            ..Losses::default()
        }
    }

    /// Returns the losses that cannot be restored after a removal: everything except the commits.
    #[must_use]
    pub fn permanent(&self) -> Losses {
        Losses {
            commits: 0,
            subjects: Vec::new(),
            ..self.clone()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.files == 0 && self.commits == 0 && self.nested.is_empty() && self.busy.is_none()
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.files > 0 {
            let names = join_names(&self.named, NAMED_MAX, self.files);
            parts.push(format!(
                "{} ({names})",
                pluralize(self.files, "uncommitted file")
            ));
        }
        if self.commits > 0 {
            let commits = usize::try_from(self.commits).unwrap_or(usize::MAX);
            let subjects = join_names(&self.subjects, NAMED_MAX, commits);
            parts.push(format!(
                "{} ({subjects})",
                pluralize(commits, "unmerged commit")
            ));
        }
        if !self.nested.is_empty() {
            let names = join_names(&self.nested, NAMED_MAX, self.nested.len());
            let what = match self.nested.len() {
                1 => "a nested repository",
                _ => "nested repositories",
            };
            parts.push(format!("{what} ({names})"));
        }
        if let Some(busy) = self.busy {
            parts.push(format!("{busy} in progress"));
        }
        f.write_str(&parts.join(", "))
    }
}

/// Formats a number with its noun: `1 file`, `2 files`.
fn pluralize(n: usize, what: &str) -> String {
    let end = if n == 1 { "" } else { "s" };
    format!("{n} {what}{end}")
}
