//! Checkouts of committed content, in which checks run.
//!
//! A check does not run in the worktree of the agent, because the agent's programs can write there while it runs, and
//! because the files there need not be those of the branch.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::{OpenRegistry, Worktrees};
use crate::store::StoreError;

/// The folder of the checkouts, relative to the project root. Commands of agents cannot write to it.
const FOLDER: &str = ".crewdeck/checks/trees";

impl Worktrees {
    /// Checks out `commit` in a new folder and returns the path of the folder. Copies the untracked files of the root
    /// that `.worktreeinclude` lists. `key` is a part of the folder's name; a folder that this process has made for the
    /// same key is replaced. Also deletes what killed processes have left.
    ///
    /// # Errors
    /// When git fails, or a folder cannot be created or deleted.
    pub fn check_out(&self, key: &str, commit: &str) -> Result<PathBuf, StoreError> {
        let work = self.begin_change()?;
        let all = work.repo.root.join(FOLDER);
        fs::create_dir_all(&all).map_err(StoreError::at(&all))?;
        let all = fs::canonicalize(&all).map_err(StoreError::at(&all))?;
        work.delete_stale_checkouts();
        let dir = all.join(format!("check-{key}-{}", std::process::id()));
        work.delete_checkout(&dir)?;
        let path = dir.to_string_lossy();
        // `--force` twice, because git may still have an entry for a folder that is gone.
        let add = ["worktree", "add", "--quiet", "--detach", "-f", "-f", "--"];
        let args: Vec<&str> = add.into_iter().chain([&*path, commit]).collect();
        work.repo.git.ok(&args)?;
        work.copy_included_to(&dir, &all)?;
        Ok(dir)
    }

    /// Deletes a folder of [`Worktrees::check_out`].
    ///
    /// # Errors
    /// When the folder cannot be deleted. A later process tries again.
    pub fn delete_checkout(&self, dir: &Path) -> Result<(), StoreError> {
        self.begin_change()?.delete_checkout(dir)
    }
}

impl OpenRegistry {
    /// Deletes the checkouts of processes that have ended. Returns how many were deleted. What cannot be deleted stays.
    pub(super) fn delete_stale_checkouts(&self) -> usize {
        let all = self.repo.root.join(FOLDER);
        let all = fs::canonicalize(&all).unwrap_or(all);
        let mut deleted = 0;
        for name in stale_checkouts(&self.repo.root, self.repo.common()) {
            match self.delete_checkout(&all.join(name)) {
                Ok(()) => deleted += 1,
                Err(error) => tracing::warn!("an old checkout cannot be deleted: {error}"),
            }
        }
        deleted
    }

    fn delete_checkout(&self, dir: &Path) -> Result<(), StoreError> {
        match fs::remove_dir_all(dir) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::at(dir)(error)),
        }
        if self.repo.list_worktrees()?.iter().any(|r| r.path == dir) {
            let path = dir.to_string_lossy();
            let remove = ["worktree", "remove", "--force", "--force", "--", &path];
            self.repo.git.ok(&remove)?;
        }
        Ok(())
    }
}

/// Returns the names of the checkouts whose process has ended: those with a folder, and those of which only git's entry is
/// left. `common` is the git folder that all worktrees share.
pub(super) fn stale_checkouts(root: &Path, common: &Path) -> BTreeSet<String> {
    let folders = [root.join(FOLDER), common.join("worktrees")];
    let entries = folders.iter().filter_map(|dir| fs::read_dir(dir).ok());
    let names = entries
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| is_stale(name)).collect()
}

/// Returns whether `name` is the name of a checkout whose process has ended.
fn is_stale(name: &str) -> bool {
    let process = name.strip_prefix("check-").and_then(|rest| {
        let (_, process) = rest.rsplit_once('-')?;
        Pid::from_raw(process.parse().ok()?)
    });
    process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
}
