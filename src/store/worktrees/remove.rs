//! Removing a worktree, when nothing is lost or a person knows what is.

use super::log::Note;
use super::{Work, Worktrees};
use crate::domain::stamp::Stamp;
use crate::domain::worktree::{BranchFate, OnDisk, Removal, Worktree, WorktreeName, may_remove};
use crate::store::StoreError;
use crate::store::git::GitError;

impl Worktrees {
    /// Removes a worktree's folder, and its branch when that is merged. The name is free afterwards; the
    /// entry stays as a record. Unmerged commits stay on the branch in any case: only uncommitted
    /// files can be lost, and only with [`Removal::WhatIsLostIsKnown`].
    ///
    /// # Errors
    /// What would be lost, or why git refuses; the worktree stands then.
    pub fn remove(
        &self,
        name: &WorktreeName,
        removal: Removal,
        now: Stamp,
    ) -> Result<BranchFate, StoreError> {
        let mut work = self.work()?;
        let tree = work.index.find(name)?.clone();
        let state = work.state(&tree)?;
        may_remove(&tree, &state, removal)?;
        work.log
            .note(Note::of("worktree.remove.before", &tree), now)?;
        match work.remove(&tree, state.on_disk, removal) {
            Ok(fate) => {
                let tree = work.index.change(&tree.name, |tree| tree.removed(now))?;
                work.save()?;
                work.log
                    .note(Note::of("worktree.remove.after", &tree), now)?;
                Ok(fate)
            }
            Err(error) => {
                let note = Note::of("worktree.remove.failed", &tree).error(&error.to_string());
                work.log.note(note, now)?;
                Err(error)
            }
        }
    }
}

impl Work {
    fn remove(
        &self,
        tree: &Worktree,
        on_disk: OnDisk,
        removal: Removal,
    ) -> Result<BranchFate, StoreError> {
        let name = &tree.name;
        let tip = self.repo.branch(&name.branch())?;
        match on_disk {
            OnDisk::Missing | OnDisk::Foreign => self.unregister(name)?,
            OnDisk::Whole => self.remove_folder(name, removal)?,
        }
        let Some(tip) = tip else {
            return Ok(BranchFate::Deleted);
        };
        let branch = name.branch();
        let is_used = self
            .repo
            .registered()?
            .iter()
            .any(|r| r.branch.as_deref() == Some(&branch));
        // Judged anew: the commit that is deleted is the one that was looked at.
        let is_merged = self.repo.contains(&self.base_of(tree)?.1, &tip)?;
        if is_used || !is_merged {
            return Ok(BranchFate::Stays(branch));
        }
        Ok(match self.delete_branch(name, &tip) {
            Ok(()) => BranchFate::Deleted,
            // Somebody committed to it at this very moment.
            Err(_) => BranchFate::Stays(branch),
        })
    }

    /// Removes the folder. Git looks once more for uncommitted files; it can not do so, and refuses, where a
    /// submodule is registered: those were looked at before.
    fn remove_folder(&self, name: &WorktreeName, removal: Removal) -> Result<(), StoreError> {
        let dir = self.dir.join(name.as_str());
        let path = dir.to_string_lossy();
        let git = &self.repo.git;
        let forced = ["worktree", "remove", "--force", "--", &path];
        let asked = match removal {
            Removal::OnlyIfSafe => git.ok(&["worktree", "remove", "--", &path]),
            Removal::WhatIsLostIsKnown => git.ok(&forced),
        };
        match asked {
            Err(GitError::Failed { why, .. })
                if removal == Removal::OnlyIfSafe && why.contains("containing submodules") =>
            {
                git.ok(&forced)?;
            }
            other => {
                other?;
            }
        }
        Ok(())
    }

    /// Deletes a branch that still is at `tip`.
    pub(super) fn delete_branch(&self, name: &WorktreeName, tip: &str) -> Result<(), StoreError> {
        let full = format!("refs/heads/{}", name.branch());
        self.repo.git.ok(&["update-ref", "-d", &full, tip])?;
        Ok(())
    }
}
