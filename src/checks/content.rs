//! Finds the content of a task on which its checks run.

use std::path::{Path, PathBuf};

use super::runner::{CheckPlace, CheckTarget};
use crate::domain::ids::Name;
use crate::domain::task::Task;
use crate::domain::worktree::{TaskContent, WorktreeName};
use crate::store::{StoreError, Worktrees};

/// The content of a task.
pub enum FoundContent {
    /// The content of a branch, committed in the worktree with this name.
    Branch {
        name: WorktreeName,
        worktrees: Worktrees,
        content: TaskContent,
    },
    /// What is in the project directory, because the task has no worktree.
    Root(PathBuf),
}

impl FoundContent {
    /// Determines the content of a task of the project `root`: that of its branch, or what is in the project directory
    /// if the task has no worktree or worktrees are not in use.
    ///
    /// # Errors
    /// Fails with the reason if the task has a worktree whose content cannot be determined.
    pub async fn of(
        task: &Task,
        (root, worktrees): (&Path, Option<&Worktrees>),
        scope: ContentScope,
    ) -> Result<FoundContent, String> {
        let Some(worktrees) = worktrees.filter(|_| !task.worktree.is_empty()) else {
            return Ok(FoundContent::Root(root.to_path_buf()));
        };
        let name = WorktreeName::new(&task.worktree);
        let name =
            name.map_err(|why| format!("the content of task {} is unknown: {why}", task.id))?;
        let (store, tree) = (worktrees.clone(), name.clone());
        let content = tokio::task::spawn_blocking(move || match scope {
            ContentScope::Complete => store.content(&tree),
            ContentScope::Branch => store.branch_content(&tree),
        });
        let content: Result<TaskContent, StoreError> =
            content.await.map_err(|error| error.to_string())?;
        Ok(FoundContent::Branch {
            name,
            worktrees: worktrees.clone(),
            content: content.map_err(|error| error.to_string())?,
        })
    }

    pub fn branch(&self) -> Option<&TaskContent> {
        match self {
            FoundContent::Branch { content, .. } => Some(content),
            FoundContent::Root(_) => None,
        }
    }

    pub fn to_target(&self, by: &Name) -> CheckTarget {
        let (place, tree) = match self {
            FoundContent::Branch {
                worktrees, content, ..
            } => {
                let (worktrees, commit) = (worktrees.clone(), content.commit.clone());
                let checkout = CheckPlace::Checkout { worktrees, commit };
                (checkout, content.tree.clone())
            }
            FoundContent::Root(dir) => (CheckPlace::Folder(dir.clone()), String::new()),
        };
        CheckTarget {
            by: by.clone(),
            place,
            tree,
        }
    }
}

/// Which content of a task is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentScope {
    /// The content of the branch, if no file of the worktree is missing in it.
    Complete,
    /// The content of the branch, whatever is in the worktree.
    Branch,
}

/// Fails if a teammate wants to complete a task without owner and worktree: its work is not in the project directory,
/// where the checks would run.
pub fn check_may_complete(task: &Task, by: &Name) -> Result<(), String> {
    let is_teammate = !by.is_user() && *by != Name::lead();
    if is_teammate && task.owner.is_empty() && task.worktree.is_empty() {
        return Err(format!(
            "task {} is not completed, because {by} has not claimed it: its checks would not run on the work of {by}. Claim the task first",
            task.id
        ));
    }
    Ok(())
}
