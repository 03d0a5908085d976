//! What came of making, merging, committing and removing a worktree.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Worktree;

/// A branch that could not be merged by itself. All is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The branch.
    pub branch: String,
    /// The first files in conflict, at most [`super::FILES_MAX`]; empty where git named none.
    pub files: Vec<String>,
}

/// A worktree that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    /// Its entry.
    pub worktree: Worktree,
    /// Where its files come from.
    pub origin: Origin,
    /// What was brought in from other branches.
    pub brought: Brought,
}

/// Where the files of a new worktree come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// From the base.
    Base,
    /// From its own branch: the folder had been lost, what was committed had not.
    Branch,
}

/// What was brought into a worktree from other branches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Brought {
    /// Branches that were merged into it; those that it has already are not named.
    pub merged: Vec<String>,
    /// Branches that it does not have, because they conflict.
    pub conflicts: Vec<Conflict>,
}

/// What came of a merge into the base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Merge {
    /// It is merged.
    Merged {
        /// The branch that received it.
        into: String,
        /// The merge commit.
        commit: String,
        /// The commit that the branch was at before: to go back there.
        #[serde(skip)]
        before: String,
    },
    /// The base had all of it already, perhaps squashed or rebased.
    AlreadyMerged {
        /// The branch that has it.
        into: String,
    },
    /// It does not merge by itself. All is as it was.
    Conflict {
        /// The branch that should have received it.
        into: String,
        /// The first files in conflict, at most [`super::FILES_MAX`].
        files: Vec<String>,
    },
}

/// What came of committing what an agent left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftovers {
    /// Everything was committed already.
    None,
    /// They are in this commit.
    Committed(String),
}

/// What became of the branch of a removed worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchFate {
    /// It was merged and is deleted, or it was gone already.
    Deleted,
    /// It has unmerged commits, or something else uses it: it stays.
    Stays(String),
}

/// What a worktree changes against the point where it parted from its base; of a merged one, what its merge changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorktreeDiff {
    /// A line for each changed file, and a sum.
    pub stat: String,
    /// The changes, committed or not; cut with a mark.
    pub text: String,
    /// New files and folders that git does not follow yet; at most [`super::FILES_MAX`]. What is in the first 200 files is
    /// part of `text`.
    pub untracked: Vec<String>,
}

/// How much a worktree takes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct DiskUse {
    /// In bytes.
    pub bytes: u64,
    /// Whether there were more files than are counted.
    pub at_least: bool,
}

/// `1.2 MiB`, with a `>` when there is more.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn sizes_are_short() {
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
