//! Where the branch of a worktree stands: merged, or waiting for it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::WorktreeName;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};

/// The branch of a worktree and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The worktree.
    pub worktree: WorktreeName,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BranchState,
}

/// Where a branch stands against the one that it is merged into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum BranchState {
    /// It holds commits that the other one lacks.
    Unmerged {
        /// The other one.
        into: String,
        /// What it changes, where that was counted.
        size: Option<ChangeSize>,
    },
    /// The other one has all that it holds.
    Merged {
        /// The other one.
        into: String,
        /// The commit of the merge, shortened; empty: somebody else merged it.
        commit: String,
    },
    /// It holds nothing of its own.
    Empty,
    /// Its worktree is gone.
    Gone,
}

/// A completed task whose branch holds what its base lacks.
#[derive(Debug, Clone, Copy)]
pub struct Unmerged<'a> {
    /// The task: of several in one worktree the first that is completed.
    pub task: &'a Task,
    /// An open task in the same worktree, which has to be completed before the branch can be merged: a conflict that is
    /// being solved, for instance.
    pub open: Option<TaskId>,
}

/// Returns the completed tasks whose branch `is_unmerged`, by number, one for each branch.
pub fn unmerged(graph: &TaskGraph, is_unmerged: impl Fn(&str) -> bool) -> Vec<Unmerged<'_>> {
    // By worktree: its first completed task, and its first open one.
    let mut trees: BTreeMap<&str, (Option<&Task>, Option<TaskId>)> = BTreeMap::new();
    for task in graph.tasks().filter(|t| is_unmerged(&t.worktree)) {
        let (done, open) = trees.entry(&task.worktree).or_default();
        if task.status == TaskStatus::Completed {
            *done = done.or(Some(task));
        } else {
            *open = open.or(Some(task.id));
        }
    }
    let found = trees.into_values();
    let mut all: Vec<Unmerged<'_>> = found
        .filter_map(|(done, open)| done.map(|task| Unmerged { task, open }))
        .collect();
    all.sort_by_key(|unmerged| unmerged.task.id);
    all
}

/// Returns those of them that can be merged now: nothing is open in their worktrees.
pub fn to_merge(graph: &TaskGraph, is_unmerged: impl Fn(&str) -> bool) -> Vec<&Task> {
    let all = unmerged(graph, is_unmerged).into_iter();
    let free = all.filter(|unmerged| unmerged.open.is_none());
    free.map(|unmerged| unmerged.task).collect()
}

/// How much a branch changes. `2 files, +8 -1`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeSize {
    /// Changed files.
    pub files: u64,
    /// Lines that are new.
    pub added: u64,
    /// Lines that are gone.
    pub removed: u64,
}

impl ChangeSize {
    /// Reads git's `--shortstat`: ` 2 files changed, 8 insertions(+), 1 deletion(-)`. Nothing changed: all zero.
    pub fn parse(line: &str) -> ChangeSize {
        let mut out = ChangeSize::default();
        for part in line.split(',') {
            let (number, what) = part.trim().split_once(' ').unwrap_or_default();
            let number = number.parse().unwrap_or(0);
            if what.starts_with("file") {
                out.files = number;
            } else if what.starts_with("insertion") {
                out.added = number;
            } else if what.starts_with("deletion") {
                out.removed = number;
            }
        }
        out
    }
}

impl fmt::Display for ChangeSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.files == 1 { "" } else { "s" };
        write!(f, "{} file{end}", self.files)?;
        if self.added > 0 || self.removed > 0 {
            f.write_str(",")?;
        }
        if self.added > 0 {
            write!(f, " +{}", self.added)?;
        }
        if self.removed > 0 {
            write!(f, " -{}", self.removed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn sizes_are_read_and_said() {
        for (line, said) in [
            (
                " 2 files changed, 8 insertions(+), 1 deletion(-)\n",
                "2 files, +8 -1",
            ),
            (" 1 file changed, 1 insertion(+)", "1 file, +1"),
            (" 1 file changed, 12 deletions(-)", "1 file, -12"),
            (" 3 files changed", "3 files"),
            ("", "0 files"),
            ("[… 7 bytes cut here …]", "0 files"),
        ] {
            assert_eq!(ChangeSize::parse(line).to_string(), said, "{line}");
        }
    }

    #[test]
    fn a_branch_is_one_flat_object() {
        let branch = Branch {
            worktree: WorktreeName::new("task-1").unwrap(),
            state: BranchState::Unmerged {
                into: "main".into(),
                size: None,
            },
        };
        let text = serde_json::to_string(&branch).unwrap();
        let expected = r#"{"worktree":"task-1","is":"unmerged","into":"main","size":null}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Branch>(&text).unwrap(), branch);
    }
}
