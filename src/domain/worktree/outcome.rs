//! Results of creating, merging, committing and removing a worktree.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{IncludedFiles, Worktree};

/// A branch that was not merged into a worktree. Either the merge had conflicts and was undone, or it was not tried,
/// because it would have run git in nested repositories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    pub branch: String,
    /// If the merge had conflicts: the first files in conflict. If it was not tried: the first nested repositories in
    /// which it would have run git. At most [`super::FILES_MAX`] paths.
    pub files: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// The new worktree, as stored in `.worktrees/index.json`.
    pub worktree: Worktree,
    /// Whether the worktree started from the base branch or from its own branch.
    pub origin: Origin,
    /// Whether the worktree was created before the claim of its task.
    pub was_spare: bool,
    pub branch_merges: BranchMerges,
    /// The untracked files of the root that were copied into the worktree.
    pub included: IncludedFiles,
}

/// The branch that a new worktree was created from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Base,
    /// The branch `wt/NAME` of the worktree, left by an earlier worktree of the same name whose folder was lost.
    Branch,
}

/// The result of merging the branches of a task's blockers into its worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchMerges {
    /// Branches that were merged into the worktree. Does not list branches that do not exist or whose changes the
    /// worktree already contained.
    pub merged: Vec<String>,
    /// Branches that were not merged. The agent in the worktree must merge them itself.
    pub conflicts: Vec<Conflict>,
}

/// The result of merging a worktree's branch into its base branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Merge {
    Merged {
        /// The branch that received the merge.
        into: String,
        commit: String,
        /// The commit of the receiving branch before the merge. Used to undo the merge.
        #[serde(skip)]
        before: String,
    },
    /// The base branch already contained all changes of the branch, for example because the branch was squashed or
    /// rebased.
    AlreadyMerged {
        /// The branch that the worktree started from if it still exists, otherwise the branch that is checked out in
        /// the root. If the root has no branch checked out, a commit hash.
        into: String,
    },
    /// The merge failed because of conflicts and was undone.
    Conflict {
        /// The branch that should have received the merge.
        into: String,
        /// The first files in conflict, at most [`super::FILES_MAX`].
        files: Vec<String>,
    },
}

/// What happened to the branch of a removed worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchOutcome {
    /// The branch was deleted, or did not exist.
    Deleted,
    /// The branch with this name was kept: it has unmerged commits, is checked out in another folder, or changed while
    /// it was to be deleted.
    Kept(String),
}

/// The changes of a worktree since it branched off its base. If the worktree was merged and has not changed since,
/// these are the changes that the merge commit made, provided that this commit is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorktreeDiff {
    /// One line for each changed file, and a last line with the sums, as `git diff --stat` prints them. Cut after 16
    /// KiB, with a line that says so.
    pub stat: String,
    /// The unified diff of committed and uncommitted changes. Cut after 256 KiB, with a line that says so.
    pub text: String,
    /// The first untracked files and folders, at most [`super::FILES_MAX`]. `text` contains up to 200 untracked files,
    /// also files that are not in this list. If git fails to show untracked files, `text` contains none of them.
    pub untracked: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DiskUse {
    pub bytes: u64,
    /// Whether the real usage is higher than `bytes`, because there were too many files to count them all.
    pub at_least: bool,
}

impl DiskUse {
    /// Returns the sum of two usages.
    #[must_use]
    pub fn plus(self, other: DiskUse) -> DiskUse {
        DiskUse {
            bytes: self.bytes.saturating_add(other.bytes),
            at_least: self.at_least || other.at_least,
        }
    }
}

impl DiskUse {
    /// Returns a text for a sentence: `1.2 MiB`, or `at least 1.2 MiB` if the real usage is higher.
    pub fn in_words(self) -> String {
        let exact = DiskUse {
            at_least: false,
            ..self
        };
        let start = if self.at_least { "at least " } else { "" };
        format!("{start}{exact}")
    }
}

/// Displays `1.2 MiB`, or `>1.2 MiB` if the real usage is higher.
impl fmt::Display for DiskUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.at_least { ">" } else { "" };
        let kib = self.bytes.div_ceil(1024);
        let text = match kib {
            0..1024 => format!("{mark}{kib} KiB"),
            1024..1_048_576 => format!("{mark}{}.{} MiB", kib / 1024, kib % 1024 * 10 / 1024),
            _ => {
                let mib = kib / 1024;
                format!("{mark}{}.{} GiB", mib / 1024, mib % 1024 * 10 / 1024)
            }
        };
        f.pad(&text)
    }
}

/// The committed content of a worktree, and what its branch changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContent {
    /// The last commit of the branch.
    pub commit: String,
    /// The hash of the git tree.
    pub tree: String,
    /// The files that differ from the merge base with the base branch, relative to the project root; `None` if they are
    /// too many.
    pub changed: Option<Vec<String>>,
    /// Whether the commits of the branch itself change anything. Merges of other branches do not count.
    pub has_own_changes: bool,
    /// The subject that the task had when its worktree was created; empty if unknown.
    pub subject: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn disk_use_is_displayed_in_binary_units() {
        for (bytes, text) in [
            (0, "0 KiB"),
            (1, "1 KiB"),
            (1_536 * 1024, "1.5 MiB"),
            (111 * 1024 * 1024 * 1024, "111.0 GiB"),
        ] {
            let at_least = false;
            assert_eq!(DiskUse { bytes, at_least }.to_string(), text);
        }
        let huge = DiskUse {
            bytes: 1,
            at_least: true,
        };
        assert_eq!(huge.to_string(), ">1 KiB");
    }
}
