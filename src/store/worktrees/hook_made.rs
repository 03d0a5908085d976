//! Takes over a worktree that a WorktreeCreate hook has made, so that crewdeck need not make one.

use std::path::{Path, PathBuf};

use super::OpenRegistry;
use crate::domain::worktree::{Origin, WorktreeError, WorktreeName};
use crate::store::StoreError;
use crate::store::git::{Git, head};

/// A linked worktree of this repository that a hook has made.
pub(super) struct HookMade {
    path: PathBuf,
    branch: Option<String>,
    /// The commit that is checked out.
    pub commit: String,
}

impl OpenRegistry {
    /// Checks that `dir`, the directory that a hook has named, is a linked worktree of this repository and has a
    /// commit. Fails with the reason if it is not.
    pub(super) fn made_by_hook(&self, dir: &Path) -> Result<HookMade, StoreError> {
        let refused = |why: &str| {
            WorktreeError::Hook(format!(
                "the WorktreeCreate hook printed the path {}, which {why}. The hook must print the path of a worktree that it has added with git worktree add",
                dir.display()
            ))
        };
        let real = dir.canonicalize();
        let real = real.map_err(|_| refused("does not exist"))?;
        // The main worktree is the first one in git's list and is skipped.
        let mut linked = self.repo.list_worktrees()?.into_iter().skip(1);
        let Some(found) = linked.find(|linked| linked.path == real) else {
            return Err(refused("is not a linked worktree of this repository").into());
        };
        let git = self.git_in(&real);
        let git = git.ok_or_else(|| refused("is not a valid worktree"))?;
        let head = head(&git)?.ok_or_else(|| refused("has no commit"))?;
        Ok(HookMade {
            path: found.path,
            branch: found.branch,
            commit: head.commit,
        })
    }

    /// Moves the worktree `made` to the folder `.worktrees/NAME` and checks out the branch `wt/NAME` in it. With
    /// [`Origin::Base`], the branch is new. With [`Origin::Branch`], it exists because the folder of its former
    /// worktree was lost.
    pub(super) fn take_over(
        &self,
        name: &WorktreeName,
        made: &HookMade,
        origin: Origin,
    ) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        let (path, branch) = (dir.to_string_lossy(), name.branch());
        let is_on_branch = made.branch.as_deref() == Some(&branch);
        if origin == Origin::Branch && !is_on_branch {
            // Before the move: if files of the hook prevent it, they stay where they are.
            let git = self.git_in(&made.path);
            let git = git.ok_or_else(|| {
                WorktreeError::Hook(
                    "the worktree of the WorktreeCreate hook no longer exists".into(),
                )
            })?;
            git.ok(&["checkout", "--quiet", &branch])?;
        }
        if made.path != dir {
            let from = made.path.to_string_lossy();
            let git = &self.repo.git;
            git.ok(&["worktree", "move", "--", &from, &path])?;
        }
        if origin == Origin::Base && !is_on_branch {
            let (git, _) = self.valid_folder(name)?;
            git.ok(&["checkout", "--quiet", "-b", &branch])?;
        }
        Ok(())
    }

    /// Returns a [`Git`] that runs in the linked worktree `dir`; `None` if `dir` is not a worktree of this repository.
    fn git_in(&self, dir: &Path) -> Option<Git> {
        let own = self.repo.git_dir_of(dir)?;
        let ceiling = dir.parent()?;
        let git = &self.repo.git;
        Some(git.in_worktree(ceiling, dir, &own, self.repo.common()))
    }
}
