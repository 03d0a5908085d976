//! The conditions for a merge and the texts about merges, shared by the crew and viewers.

use std::sync::Arc;

use crate::domain::graph::{NewTask, SUBJECT_MAX, TaskGraph};
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::clip;
use crate::domain::worktree::WorktreeName;
use crate::protocol::event::NoticeLevel;

/// Maximum number of files with conflicts that a message lists.
const FILES_MAX: usize = 20;
/// Number of characters of a commit hash that a message shows.
pub const COMMIT_SHOWN: usize = 10;

pub struct MergeResult {
    /// `Info` if the branch is merged; `Warn` if a conflict prevented the merge.
    pub level: NoticeLevel,
    pub text: String,
    /// The commit of the target branch before the merge; `None` if the merge did not change the target branch.
    pub before: Option<String>,
}

/// The progress of one command of the user to merge one or several branches.
#[derive(Debug, Default)]
pub struct MergeProgress {
    /// The number of branches to merge.
    pub all: usize,
    pub done: usize,
    /// The commit of the target branch before the first merge that changed it; `None` until then.
    pub before: Option<String>,
}

impl MergeProgress {
    pub fn new(all: usize) -> MergeProgress {
        MergeProgress {
            all,
            ..MergeProgress::default()
        }
    }

    /// Counts one more merged branch. `before` is the commit of the target branch before that merge; `None` if the
    /// merge did not change the target branch.
    pub fn count_merge(&mut self, before: Option<String>) {
        self.done += 1;
        self.before = self.before.take().or(before);
    }

    /// Returns how to undo the merges, as text to append to a message. Empty if the target branch was not changed.
    pub fn undo_hint(&self) -> String {
        let Some(before) = &self.before else {
            return String::new();
        };
        let commit: String = before.chars().take(COMMIT_SHOWN).collect();
        let what = if self.done > 1 { "Undo all" } else { "Undo" };
        format!(" {what}: git reset --keep {commit}")
    }

    pub fn summary(&self) -> String {
        format!(
            "{} of {} branches are merged.{}",
            self.done,
            self.all,
            self.undo_hint()
        )
    }

    pub fn stopped_at(&self, at: TaskId, why: &str) -> String {
        format!(
            "{} of {} branches are merged; stopped at {at}: {}.{}",
            self.done,
            self.all,
            why.trim_end_matches('.'),
            self.undo_hint()
        )
    }
}

/// Checks that the branch of a task can be merged now: all tasks of its worktree are completed. Returns the task and
/// the name of its worktree.
///
/// # Errors
/// Returns the reason if the branch cannot be merged now.
pub fn mergeable(graph: &TaskGraph, id: TaskId) -> Result<(Arc<Task>, WorktreeName), String> {
    let task = graph.require(id).map_err(|e| e.to_string())?.clone();
    let name = WorktreeName::new(&task.worktree)
        .map_err(|_| format!("task {id} has no worktree, so there is nothing to merge"))?;
    let mut others = graph.tasks();
    match others.find(|t| t.worktree == task.worktree && t.status != TaskStatus::Completed) {
        Some(other) => Err(format!(
            "task {} in worktree {name} is not completed yet: complete it before merging",
            other.id
        )),
        None => Ok((task, name)),
    }
}

/// Returns the task to resolve the merge conflict between the branch of `task` and the branch `into`. It uses the worktree
/// of `task`.
pub fn conflict_task(task: &Task, name: &WorktreeName, into: &str, files: &[String]) -> NewTask {
    let (branch, shown) = (name.branch(), list_files(files));
    NewTask {
        // The description has the files that are cut off.
        subject: clip(
            &format!("Merge {into} into {branch}: conflict in {shown}"),
            SUBJECT_MAX,
        ),
        description: format!(
            "{branch} (task {}, {}) conflicts with {into}. You work in the worktree of that task. Run `git merge {into}` there, resolve the conflicts in {shown} so that the intent of both sides is kept, run the tests, commit, and complete this task. crewdeck then merges {branch} again.",
            task.id, task.subject
        ),
        blocked_by: Vec::new(),
        tags: task.tags.clone(),
        // Set when the task is created, so that its owner works in this worktree.
        worktree: name.to_string(),
    }
}

/// Returns the text about a merge conflict. `made` is the task that resolves it.
pub fn conflict_text(name: &WorktreeName, into: &str, files: &[String], made: TaskId) -> String {
    let (branch, shown) = (name.branch(), list_files(files));
    format!(
        "{branch} does not merge into {into}: conflict in {shown}. Task {made} was added to resolve it."
    )
}

/// Returns the first [`FILES_MAX`] files, separated by commas, followed by the number of the other files.
pub fn list_files(files: &[String]) -> String {
    let (listed, others) = files.split_at(files.len().min(FILES_MAX));
    match others.len() {
        0 => listed.join(", "),
        count => format!("{} and {count} more", listed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn long_list_of_files_counts_the_others() {
        let files: Vec<String> = (0..FILES_MAX + 2).map(|n| format!("{n}.txt")).collect();
        assert_eq!(list_files(&files[..2]), "0.txt, 1.txt");
        assert!(list_files(&files).ends_with("19.txt and 2 more"));
    }

    #[test]
    fn merge_summary_counts_branches_and_names_the_undo_command() {
        let mut sum = MergeProgress::new(3);
        assert_eq!(
            sum.stopped_at(TaskId(1), "conflict in a."),
            "0 of 3 branches are merged; stopped at #1: conflict in a."
        );
        sum.count_merge(None);
        assert_eq!(sum.undo_hint(), "");
        sum.count_merge(Some("0123456789abcdef".into()));
        assert_eq!(
            sum.stopped_at(TaskId(7), "conflict in a"),
            "2 of 3 branches are merged; stopped at #7: conflict in a. Undo all: git reset --keep 0123456789"
        );
        sum.count_merge(Some("fedcba9876543210".into()));
        assert_eq!(
            sum.summary(),
            "3 of 3 branches are merged. Undo all: git reset --keep 0123456789"
        );
    }
}
