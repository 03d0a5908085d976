//! Checkouts of committed content, in which checks run.
//!
//! A check does not run in the worktree of the agent, because the agent's programs can write there while it runs, and
//! because the files there need not be those of the branch.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use tokio_util::sync::CancellationToken;

use super::command_environment::{CACHE_VARIABLE, PORT_VARIABLE};
use super::commands::{WorktreeCommandResult, WorktreeCommands, output_end, without_cache};
use super::{OpenRegistry, Worktrees, cache};
use crate::domain::folders::{CHECK_CACHE, CHECK_CHECKOUTS};
use crate::domain::redact::Redactor;
use crate::domain::worktree::check_ports;
use crate::process::{AddedEnvironment, ContentOrigin};
use crate::store::StoreError;
use crate::store::atomic::Lock;

/// Maximum number of cache folders. More than checks of one process that run at the same time.
const CACHES_MAX: u16 = 32;

/// A cache folder of checks, which one check uses.
#[derive(Debug)]
pub struct CheckCache {
    /// The additions to the environment of the check: `CREWDECK_CACHE`, the path of the folder, and `CREWDECK_PORT`, the first
    /// port that no other check of the project has at this time.
    pub added: AddedEnvironment,
    /// Held until the check has ended.
    _lock: Lock,
}

impl Worktrees {
    /// Checks out `commit` in a new folder and returns the path of the folder. Copies the untracked files of the root
    /// that `.worktreeinclude` lists. `key` is a part of the folder's name; a folder that this process has made for the
    /// same key is replaced. Also deletes what killed processes have left.
    ///
    /// # Errors
    /// When git fails, or a folder cannot be created or deleted.
    pub fn check_out(&self, key: &str, commit: &str) -> Result<PathBuf, StoreError> {
        let work = self.begin_change()?;
        let all = work.repo.root.join(CHECK_CHECKOUTS);
        fs::create_dir_all(&all).map_err(StoreError::at(&all))?;
        let all = fs::canonicalize(&all).map_err(StoreError::at(&all))?;
        work.delete_stale_checkouts();
        let dir = all.join(format!("check-{key}-{}", std::process::id()));
        work.delete_checkout(&dir)?;
        let path = dir.to_string_lossy();
        // `--force` twice, because git may still have an entry for a folder that is gone.
        let add = ["worktree", "add", "--quiet", "--detach", "-f", "-f", "--"];
        let args: Vec<&str> = add.into_iter().chain([&*path, commit]).collect();
        work.repo.git.without_lfs_downloads().ok(&args)?;
        work.copy_included_to(&dir, &all)?;
        Ok(dir)
    }

    /// Prepares a folder of [`Worktrees::check_out`] as a new worktree is prepared: clones the folders that the settings
    /// name, and runs the setup command. Does nothing if the settings name neither.
    ///
    /// # Errors
    /// When the setup command failed or was cancelled. The text is the reason and the end of the output.
    pub async fn prepare_checkout(
        &self,
        dir: &Path,
        commands: &WorktreeCommands,
        added: AddedEnvironment,
        (redactor, cancel): (&Redactor, &CancellationToken),
    ) -> Result<(), String> {
        if commands.settings.clone_folders.is_some() {
            let settings = commands.settings.clone();
            let (store, checkout) = (self.clone(), dir.to_path_buf());
            let name = dir.file_name().unwrap_or_default().to_string_lossy();
            let scratch = dir.with_file_name(unfinished_name(&name));
            let cloned = move || store.clone_folders_to(&checkout, &scratch, &settings);
            // Without the folders, the setup command takes longer.
            if let Ok(Err(error)) = tokio::task::spawn_blocking(cloned).await {
                tracing::warn!("no folders are cloned into {}: {error}", dir.display());
            }
        }
        let Some(command) = &commands.settings.setup else {
            return Ok(());
        };
        let result = match without_cache(&added) {
            Some(failed) => Some(failed),
            None => {
                // The content is that of a branch of agents, and all checks share the cache.
                let place = (dir.to_path_buf(), ContentOrigin::Agents);
                Box::pin(commands.run(command, place, added, redactor, cancel)).await
            }
        };
        let Some(result) = result else {
            return Err("interrupted".into());
        };
        let limits = result.limits_text();
        match result {
            WorktreeCommandResult { failure: None, .. } => Ok(()),
            WorktreeCommandResult {
                failure: Some(why),
                output,
                ..
            } => Err(format!("{why}{limits}\n{}", output_end(&output))),
        }
    }

    /// Lends a cache folder to a check until the result is dropped. The folder is kept, so that a check need not build
    /// everything. Returns `None` if all folders are lent, or if none can be created.
    ///
    /// Call this before [`Worktrees::check_out`], so that the checkout is newer than what earlier checks have built: cargo
    /// compares only times, and takes a file for built if it is older than the build of another checkout. For the same
    /// reason, no two checks use a folder at the same time.
    pub fn lend_check_cache(&self) -> Option<CheckCache> {
        let lent = self.try_to_lend_check_cache();
        lent.unwrap_or_else(|error| {
            tracing::warn!("a check has no cache: {error}");
            None
        })
    }

    fn try_to_lend_check_cache(&self) -> Result<Option<CheckCache>, StoreError> {
        let trees = self.root.join(CHECK_CHECKOUTS);
        fs::create_dir_all(&trees).map_err(StoreError::at(&trees))?;
        let all = self.root.join(CHECK_CACHE);
        cache::create_folder(all.clone()).map_err(StoreError::at(&all))?;
        for number in 1..=CACHES_MAX {
            let Some(lock) = self.lock_check_cache(number)? else {
                continue;
            };
            let path = all.join(number.to_string());
            if path.symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
                // A check has put a file or a link in its place.
                fs::remove_file(&path).map_err(StoreError::at(&path))?;
            }
            cache::create_folder(path.clone()).map_err(StoreError::at(&path))?;
            let mut added = AddedEnvironment::default();
            let port = check_ports(&self.root, number).to_string();
            added.variables.insert(PORT_VARIABLE.into(), port);
            // The environment of commands is text.
            if let Ok(path) = path.into_os_string().into_string() {
                added.variables.insert(CACHE_VARIABLE.into(), path);
            }
            return Ok(Some(CheckCache { added, _lock: lock }));
        }
        Ok(None)
    }

    /// Locks the cache folder with this number; `None` if a check uses it.
    fn lock_check_cache(&self, number: u16) -> Result<Option<Lock>, StoreError> {
        // Outside of the folders, which checks can write.
        let lock = self.root.join(format!("{CHECK_CACHE}-{number}.lock"));
        Lock::take_within(&lock, Duration::ZERO)
    }

    /// Deletes the caches that no check uses, and `own`, the cache folder of a check that has ended, to free space on the disk.
    /// The check whose cache disappears would fail for a reason that is not in its content. Returns how many were deleted.
    pub fn delete_check_caches(&self, own: Option<&Path>) -> usize {
        let Ok(entries) = fs::read_dir(self.root.join(CHECK_CACHE)) else {
            return 0;
        };
        let mut count = 0;
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            let mut numbers = 1..=CACHES_MAX;
            let number = numbers.find(|number| *name == *number.to_string());
            // Held until the folder is deleted, so that no check begins to use it.
            let lock = match number {
                Some(number) if own != Some(&*path) => match self.lock_check_cache(number) {
                    Ok(Some(lock)) => Some(lock),
                    Ok(None) => continue,
                    Err(error) => {
                        tracing::warn!("a cache of checks cannot be deleted: {error}");
                        continue;
                    }
                },
                Some(_) | None => None,
            };
            cache::make_folders_writable(&path);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let deleted = if is_folder {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            match deleted {
                Ok(()) => count += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => tracing::warn!("a cache of checks cannot be deleted: {error}"),
            }
            drop(lock);
        }
        count
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
        let all = self.repo.root.join(CHECK_CHECKOUTS);
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
        cache::make_folders_writable(dir);
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
    let folders = [root.join(CHECK_CHECKOUTS), common.join("worktrees")];
    let entries = folders.iter().filter_map(|dir| fs::read_dir(dir).ok());
    let names = entries
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| is_stale(name)).collect()
}

/// Returns the name of the folder for folders that are being cloned into the checkout `name`. It ends with the process
/// like the checkout, so it is deleted like one if the process is killed.
fn unfinished_name(name: &str) -> String {
    format!("check-unfinished-{}", name.trim_start_matches("check-"))
}

/// Returns whether `name` is the name of a checkout whose process has ended.
fn is_stale(name: &str) -> bool {
    let process = name.strip_prefix("check-").and_then(|rest| {
        let (_, process) = rest.rsplit_once('-')?;
        Pid::from_raw(process.parse().ok()?)
    });
    process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::{assert_eq, assert_ne};

    #[test]
    fn cache_is_lent_to_one_check_at_a_time_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let trees = Worktrees::open(dir.path());
        let path = |cache: &CheckCache| PathBuf::from(&cache.added.variables[CACHE_VARIABLE]);
        let first = trees.lend_check_cache().unwrap();
        let second = trees.lend_check_cache().unwrap();
        assert_ne!(path(&first), path(&second));
        let freed = path(&first);
        fs::write(freed.join("built"), "").unwrap();
        drop(first);
        let third = trees.lend_check_cache().unwrap();
        assert_eq!(path(&third), freed);
        assert!(freed.join("built").exists());
        let port = |cache: &CheckCache| cache.added.variables[PORT_VARIABLE].clone();
        assert_ne!(port(&second), port(&third));
    }

    #[test]
    fn link_in_place_of_a_cache_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let trees = Worktrees::open(dir.path());
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        let first = trees.lend_check_cache().unwrap();
        let path = PathBuf::from(&first.added.variables[CACHE_VARIABLE]);
        fs::remove_dir(&path).unwrap();
        std::os::unix::fs::symlink(&outside, &path).unwrap();
        drop(first);
        let again = trees.lend_check_cache().unwrap();
        assert_eq!(Path::new(&again.added.variables[CACHE_VARIABLE]), path);
        assert!(path.is_dir() && !path.is_symlink() && outside.exists());
    }

    #[test]
    fn only_caches_that_no_other_check_uses_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let trees = Worktrees::open(dir.path());
        let path = |cache: &CheckCache| PathBuf::from(&cache.added.variables[CACHE_VARIABLE]);
        let [own, used, unused] = [(); 3].map(|()| trees.lend_check_cache().unwrap());
        let folders = [&own, &used, &unused].map(path);
        let other = folders[0].with_file_name("other");
        fs::create_dir(&other).unwrap();
        drop(unused);
        assert_eq!(trees.delete_check_caches(Some(&folders[0])), 3);
        let are_there = folders.each_ref().map(|folder| folder.exists());
        assert_eq!(are_there, [false, true, false]);
        assert!(!other.exists());
    }
}
