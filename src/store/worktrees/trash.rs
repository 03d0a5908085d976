//! Two-phase deletion of a worktree's folder. The folder is renamed before it is checked, and renamed again before it
//! is deleted. If the process is killed in between, the folder's name shows whether to restore or to delete the folder.
//! The cache folder of a worktree holds no work. It is renamed once and deleted without a check.
//!
//! Folders are deleted after the worktree lock was released, because that takes long for a large one. Meanwhile another
//! lock keeps other processes from deleting the same folders.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache;
use crate::domain::worktree::WorktreeName;
use crate::store::StoreError;
use crate::store::atomic::Lock;

/// The name prefix of a worktree's folder that is being checked for work that its deletion would lose. Worktree names
/// cannot start with a dot.
const CHECKING_PREFIX: &str = ".removing-";
/// The name prefix of a worktree's folder that is to be deleted. The folder was already checked for work that the
/// deletion would lose.
const DELETING_PREFIX: &str = ".removed-";
/// The name prefix of the cache folder of a worktree that is to be deleted. Worktree names contain no dots.
const DELETING_CACHE_PREFIX: &str = ".removed-cache.";
/// The name of the lock file that is locked while folders are deleted without the worktree lock.
const DELETION_LOCK: &str = ".deleting.lock";
/// Maximum number of folders with the same name that wait for their deletion.
const SAME_NAME_MAX: u32 = 100;

/// The renamed folder of a worktree. Before the folder is deleted, it is checked for work that would be lost.
#[derive(Debug)]
pub struct TrashCandidate {
    home: PathBuf,
    /// The path of the folder while it is checked; its name begins with `CHECKING_PREFIX`.
    pub dir: PathBuf,
    /// The folder `.worktrees/`.
    trees: PathBuf,
    /// The name of the folder while it waits for its deletion, unless another folder has this name.
    trash: String,
}

impl TrashCandidate {
    /// Renames the folder of the worktree `name` in the worktrees folder `dir`, so that programs can no longer reach it
    /// by its path.
    pub fn move_away(dir: &Path, name: &WorktreeName) -> Result<TrashCandidate, StoreError> {
        let candidate = TrashCandidate {
            home: dir.join(name.as_str()),
            dir: dir.join(format!("{CHECKING_PREFIX}{name}")),
            trees: dir.to_path_buf(),
            trash: format!("{DELETING_PREFIX}{name}"),
        };
        rename(&candidate.home, &candidate.dir)?;
        Ok(candidate)
    }

    /// Renames the folder back to its original name.
    pub fn put_back(self) -> Result<(), StoreError> {
        put_back(&self.dir, &self.home)
    }

    /// Renames the folder to mark it for deletion. If this process is killed afterwards, the next process deletes the
    /// folder. If the renaming fails, the folder keeps its current name.
    pub fn mark_for_deletion(&self) -> Result<TrashedFolder, StoreError> {
        let trash = free_path(&self.trees, &self.trash)?;
        rename(&self.dir, &trash)?;
        Ok(TrashedFolder(trash))
    }
}

/// A folder that is marked for deletion.
#[derive(Debug)]
pub struct TrashedFolder(PathBuf);

/// Releases the worktree lock by calling `release`, and then deletes `folders` in the worktrees folder `dir`.
///
/// # Errors
/// When a folder cannot be deleted. Every later access tries again.
pub fn delete_unlocked(
    dir: &Path,
    folders: Vec<TrashedFolder>,
    release: impl FnOnce(),
) -> Result<(), StoreError> {
    if folders.is_empty() {
        release();
        return Ok(());
    }
    let path = dir.join(DELETION_LOCK);
    // If possible taken before the worktree lock is released, so that no other process deletes the folders under it.
    let at_once = Lock::take_within(&path, Duration::ZERO)?;
    release();
    let _deletion = match at_once {
        Some(lock) => lock,
        None => Lock::take(&path)?,
    };
    let mut deleted = Ok(());
    for TrashedFolder(folder) in folders {
        deleted = deleted.and(delete(&folder));
    }
    deleted
}

/// Returns the path with which a folder named `name` in the worktrees folder `dir` waits for its deletion. If the name is
/// in use, first deletes what an earlier removal could not delete. If that is being deleted, the path gets a number.
fn free_path(dir: &Path, name: &str) -> Result<PathBuf, StoreError> {
    let path = dir.join(name);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(path);
    }
    if !is_deletion_running(dir) {
        delete(&path)?;
        return Ok(path);
    }
    let numbered = (2..SAME_NAME_MAX).map(|number| dir.join(format!("{name}.{number}")));
    let mut free = numbered.filter(|path| fs::symlink_metadata(path).is_err());
    free.next().ok_or_else(|| {
        let why = std::io::Error::other("too many folders with this name are being deleted");
        StoreError::at(path)(why)
    })
}

fn is_deletion_running(dir: &Path) -> bool {
    Lock::is_held(&dir.join(DELETION_LOCK))
}

/// Renames the cache folder of a worktree in the worktrees folder `dir` to mark it for deletion. Returns `None` if there
/// is none. Fails if an earlier cache folder cannot be deleted, or if the renaming fails.
pub fn mark_cache_for_deletion(
    dir: &Path,
    name: &WorktreeName,
) -> Result<Option<TrashedFolder>, StoreError> {
    let path = cache::path_of(dir, name);
    if fs::symlink_metadata(&path).is_err() {
        return Ok(None);
    }
    let trash = free_path(dir, &format!("{DELETING_CACHE_PREFIX}{name}"))?;
    rename(&path, &trash)?;
    Ok(Some(TrashedFolder(trash)))
}

/// Returns whether a removal in the worktrees folder `dir` was interrupted or is in progress. Folders that are being
/// deleted without the worktree lock do not count.
pub fn has_leftovers(dir: &Path) -> Result<bool, StoreError> {
    let found = leftovers(dir)?;
    let is_checked = |phase: &TrashPhase| matches!(phase, TrashPhase::Checking);
    Ok(found.iter().any(|(_, phase, _)| is_checked(phase))
        || (!found.is_empty() && !is_deletion_running(dir)))
}

/// Completes or reverts the interrupted removals in the worktrees folder `dir`. Deletes the folders that are marked for
/// deletion, unless a process is deleting folders, and renames the folders that were still being checked back to their
/// original names. If that fails for a folder, appends the error to `notices`. Fails only if `dir` cannot be listed. The caller holds the worktree lock.
pub fn recover(dir: &Path, notices: &mut Vec<String>) -> Result<(), StoreError> {
    let found = leftovers(dir)?;
    let is_running = !found.is_empty() && is_deletion_running(dir);
    for (path, phase, name) in found {
        let done = match phase {
            TrashPhase::Checking => put_back(&path, &dir.join(&name)),
            TrashPhase::Deleting if is_running => continue,
            TrashPhase::Deleting => delete(&path),
        };
        // A folder that remains blocks nothing, so a failure is only reported.
        if let Err(error) = done {
            notices.push(error.to_string());
        }
    }
    Ok(())
}

enum TrashPhase {
    Checking,
    Deleting,
}

/// Returns the folders in `dir` that a removal has renamed, each with its path, the phase of the removal and the name
/// of the worktree.
fn leftovers(dir: &Path) -> Result<Vec<(PathBuf, TrashPhase, String)>, StoreError> {
    let entries = fs::read_dir(dir).map_err(StoreError::at(dir))?;
    let known = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let (phase, name) = parse_name(&name)?;
        Some((entry.path(), phase, name.to_string()))
    };
    Ok(entries.flatten().filter_map(known).collect())
}

/// Returns whether `name` is the name of a folder that a removal has renamed. Such a folder is not an orphan: the
/// removal is in progress, or the next access completes or reverts it.
pub fn is_trash(name: &str) -> bool {
    parse_name(name).is_some()
}

/// Parses the phase of a removal and the worktree's name from a folder name; `None` if it is not the name of a folder
/// that a removal has renamed.
fn parse_name(name: &str) -> Option<(TrashPhase, &str)> {
    let (phase, name) = match name.strip_prefix(CHECKING_PREFIX) {
        Some(name) => (TrashPhase::Checking, name),
        None => {
            let cache = name.strip_prefix(DELETING_CACHE_PREFIX);
            let name = cache.or_else(|| name.strip_prefix(DELETING_PREFIX))?;
            // The number that makes the name unique. Worktree names contain no dots.
            let name = match name.rsplit_once('.') {
                Some((name, number)) if number.parse::<u32>().is_ok() => name,
                _ => name,
            };
            (TrashPhase::Deleting, name)
        }
    };
    WorktreeName::new(name).is_ok().then_some((phase, name))
}

fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(StoreError::at(from))
}

/// Renames the folder `from` back to `home`. An empty folder at `home` is replaced. Fails if a folder at `home` has
/// content.
fn put_back(from: &Path, home: &Path) -> Result<(), StoreError> {
    fs::rename(from, home).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => std::io::Error::other(format!(
                "cannot be restored: files were written to {} during its removal. Move one of the two folders away",
                home.display()
            )),
            _ => error,
        };
        StoreError::at(from)(why)
    })
}

fn delete(dir: &Path) -> Result<(), StoreError> {
    let mut deleted = fs::remove_dir_all(dir);
    let is_denied = |error: &std::io::Error| error.kind() == ErrorKind::PermissionDenied;
    if deleted.as_ref().is_err_and(is_denied) {
        cache::make_folders_writable(dir);
        deleted = fs::remove_dir_all(dir);
    }
    match deleted {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::at(dir)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn folder_that_is_being_deleted_is_left_alone_and_its_name_not_reused() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let (name, old) = (".removed-task-1", dir.join(".removed-task-1"));
        fs::create_dir(&old).unwrap();
        let running = Lock::take(&dir.join(DELETION_LOCK)).unwrap();
        assert!(!has_leftovers(dir).unwrap());
        let mut notices = Vec::new();
        recover(dir, &mut notices).unwrap();
        assert!(old.exists());
        let numbered = dir.join(".removed-task-1.2");
        assert_eq!(free_path(dir, name).unwrap(), numbered);
        fs::create_dir(&numbered).unwrap();
        assert!(is_trash(".removed-task-1.2") && is_trash(".removed-cache.task-1.2"));

        drop(running);
        assert!(has_leftovers(dir).unwrap());
        recover(dir, &mut notices).unwrap();
        assert!(!old.exists() && !numbered.exists());
        assert_eq!(notices, Vec::<String>::new());
    }
}
