//! The scratch worktree, in which the checks of a train run. It has no branch, and nothing in it is kept.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::debris::is_empty_worktree;
use super::train::train_lock_path;
use super::{OpenRegistry, Worktrees};
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::{WorktreeError, WorktreeName};
use crate::store::atomic::Lock;
use crate::store::git::Git;
use crate::store::{StoreError, regular_file};

/// The name of the scratch worktree. Worktrees of tasks have other names.
const SCRATCH: &str = "merge-train";
/// Maximum size of git's file `HEAD`, in bytes.
const HEAD_MAX: u64 = 4096;

pub(super) fn scratch_name() -> Result<WorktreeName, StoreError> {
    Ok(WorktreeName::new(SCRATCH)?)
}

/// Returns whether `name` is the scratch worktree, which is not in the registry and no orphan. A worktree of that name with
/// a branch belongs to another program. `common` is the git folder that all worktrees share.
pub fn is_scratch(name: &str, common: &Path) -> bool {
    let head = || {
        regular_file::read_text(
            &common.join("worktrees").join(SCRATCH).join("HEAD"),
            HEAD_MAX,
        )
    };
    name == SCRATCH && head().is_ok_and(|head| !head.starts_with("ref: "))
}

/// Returns whether a killed train has left its scratch worktree. `dir` is the worktrees folder, `common` the git folder
/// that all worktrees share.
pub fn is_scratch_left(dir: &Path, common: &Path) -> bool {
    is_scratch(SCRATCH, common) && !Lock::is_held(&train_lock_path(dir))
}

impl Worktrees {
    /// Checks out a commit in the scratch worktree, and returns its folder. Files that git ignores stay from one commit
    /// to the next, so that builds are faster; every other file is as in the commit. Also copies the files that
    /// `.worktreeinclude` lists. The caller holds the [`TrainLock`](super::train::TrainLock).
    ///
    /// # Errors
    /// When the worktree cannot be created or written, or git fails.
    pub fn check_out_scratch(&self, commit: &str, now: Timestamp) -> Result<PathBuf, StoreError> {
        let mut work = self.begin_change()?;
        let name = scratch_name()?;
        let dir = work.dir.join(name.as_str());
        if work.is_scratch_listed()?
            && let Some((git, _)) = work.folder(&name).git
            && reset(&git, commit).is_ok()
        {
            return Ok(dir);
        }
        work.remove_scratch()?;
        let path = dir.to_string_lossy();
        let add = [
            "worktree", "add", "--quiet", "--detach", "--", &path, commit,
        ];
        work.repo.git.ok(&add)?;
        work.copy_included(&name, now)?;
        Ok(dir)
    }

    /// Removes the scratch worktree, if there is one.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove_scratch(&self) -> Result<(), StoreError> {
        self.begin_change()?.remove_scratch()
    }
}

impl OpenRegistry {
    /// Returns whether git lists the scratch worktree.
    ///
    /// # Errors
    /// When its folder was not made by a train, so that it must not be changed.
    fn is_scratch_listed(&self) -> Result<bool, StoreError> {
        let name = scratch_name()?;
        let dir = self.dir.join(name.as_str());
        let listed = self.repo.list_worktrees()?;
        let listed = listed.into_iter().find(|tree| tree.path == dir);
        let is_ours = match &listed {
            Some(known) => known.branch.is_none(),
            None => dir.symlink_metadata().is_err() || is_empty_worktree(&dir),
        };
        if !is_ours || self.index.get(&name).is_some() {
            return Err(WorktreeError::Foreign(name).into());
        }
        Ok(listed.is_some())
    }

    /// Removes the scratch worktree that a killed train has left. Returns a line for the report.
    pub(super) fn repair_scratch(&self) -> Result<String, StoreError> {
        match self.remove_scratch() {
            Ok(()) => Ok("removed the scratch worktree of the merge train".into()),
            Err(StoreError::Worktree(why)) => Ok(why.to_string()),
            Err(error) => Err(error),
        }
    }

    fn remove_scratch(&self) -> Result<(), StoreError> {
        let is_listed = self.is_scratch_listed()?;
        let name = scratch_name()?;
        let dir = self.dir.join(name.as_str());
        let removed = match dir.symlink_metadata() {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&dir),
            Ok(_) => fs::remove_file(&dir),
            Err(_) => Ok(()),
        };
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(StoreError::at(dir)(error));
            }
            Ok(()) | Err(_) => {}
        }
        self.remove_excludes(&name);
        if is_listed {
            let path = dir.to_string_lossy();
            // `--force` twice, because git locks a worktree while it creates it.
            let remove = ["worktree", "remove", "--force", "--force", "--", &path];
            self.repo.git.ok(&remove)?;
        }
        Ok(())
    }
}

/// Makes the files in a worktree those of `commit`, except ignored ones. Does not trust the index: the commands of checks
/// can write it, and could make git take a changed file for an unchanged one. Files that are equal are not written, so
/// that they keep their time.
fn reset(git: &Git, commit: &str) -> Result<(), StoreError> {
    git.ok(&["read-tree", commit])?;
    git.ok(&["update-ref", "--no-deref", "HEAD", commit])?;
    // The exit code only says whether files differ.
    git.run(&["update-index", "-q", "--refresh"])?;
    git.ok(&["clean", "--quiet", "--force", "--force", "-d"])?;
    git.ok(&["checkout-index", "--all", "--force", "--index", "--quiet"])?;
    Ok(())
}
