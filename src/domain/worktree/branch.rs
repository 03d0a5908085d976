//! The merge status of worktree branches.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::WorktreeName;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};

/// The branch of a worktree and its merge status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    pub worktree: WorktreeName,
    #[serde(flatten)]
    pub state: BranchState,
}

/// The merge status of a branch relative to its target, that is, the branch into which it is to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum BranchState {
    /// The branch has commits that the branch `into` lacks. A comparison with `into` has not found the same changes in
    /// other commits, or was not made yet.
    Unmerged {
        /// The target of this branch: the branch that the worktree started from if it still exists, otherwise the
        /// branch that is checked out in the root. If the root has no branch checked out, an abbreviated commit.
        into: String,
        /// The size of the branch's changes; `None` if it was not computed yet, or if git failed.
        size: Option<ChangeSize>,
    },
    /// The branch `into` contains all changes of this branch.
    Merged {
        /// The target of this branch: the branch that the worktree started from if it still exists, otherwise the
        /// branch that is checked out in the root. If the root has no branch checked out, an abbreviated commit.
        into: String,
        /// The abbreviated merge commit; empty if crewdeck did not merge the branch, or if the merge is not among the
        /// newest commits of `into`.
        commit: String,
    },
    /// There is nothing to merge, for one of these reasons:
    ///
    /// - The branch has no commits since it was created from its base branch.
    /// - The branch was deleted, but the folder of the worktree still exists.
    /// - All commits of the branch are in its base branch, the commit at which the branch was created is unknown, and
    ///   no merge is recorded. Whether the branch ever had commits is then unknown.
    Empty,
    /// The worktree was removed, or both its folder and its branch are missing.
    Gone,
}

/// A completed task whose branch is not merged.
#[derive(Debug, Clone, Copy)]
pub struct Unmerged<'a> {
    /// The completed task. If several completed tasks share the worktree, the one with the lowest number.
    pub task: &'a Task,
    /// The open task with the lowest number in the same worktree, for example one that resolves a conflict; `None` if
    /// there is none. All open tasks in the worktree must be completed before the branch can be merged.
    pub open: Option<TaskId>,
}

/// Returns one completed task for each unmerged branch, ordered by task number. Branches without a completed task are
/// left out. `is_unmerged` returns whether the branch of the worktree with the given name is unmerged. It must return
/// false for the empty name, which tasks without a worktree have.
pub fn unmerged_branches(
    graph: &TaskGraph,
    is_unmerged: impl Fn(&str) -> bool,
) -> Vec<Unmerged<'_>> {
    // The first completed task and the first open task of each worktree.
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

/// Returns the tasks of [`unmerged_branches`] whose branch can be merged now, because no open task uses the same
/// worktree.
pub fn mergeable_tasks(graph: &TaskGraph, is_unmerged: impl Fn(&str) -> bool) -> Vec<&Task> {
    let all = unmerged_branches(graph, is_unmerged).into_iter();
    let free = all.filter(|unmerged| unmerged.open.is_none());
    free.map(|unmerged| unmerged.task).collect()
}

/// Returns `tasks` and the other tasks of their worktrees. The work of all of these is on the same branches, for example
/// that of a task which resolves a conflict in the worktree of another task.
pub fn tasks_on_branches(graph: &TaskGraph, tasks: &[TaskId]) -> BTreeSet<TaskId> {
    let named = tasks.iter().filter_map(|id| graph.get(*id));
    let trees: BTreeSet<&str> = named
        .map(|task| task.worktree.as_str())
        .filter(|tree| !tree.is_empty())
        .collect();
    let here = graph
        .tasks()
        .filter(|task| trees.contains(task.worktree.as_str()))
        .map(|task| task.id);
    here.chain(tasks.iter().copied()).collect()
}

/// The size of a change, displayed as `2 files, +8 -1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeSize {
    pub files: u64,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

impl ChangeSize {
    /// Parses the output of `git diff --shortstat`: ` 2 files changed, 8 insertions(+), 1 deletion(-)`. For an empty
    /// line, all numbers are 0.
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
    fn change_sizes_are_parsed_and_displayed() {
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
    fn branch_serializes_as_one_flat_object() {
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
