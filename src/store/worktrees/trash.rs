//! Two-phase deletion of a worktree's folder. The folder is renamed before it is checked, and renamed again before it
//! is deleted. If the process is killed in between, the folder's name shows whether to restore or to delete the folder.
//! The cache folder of a worktree holds no work. It is renamed once and deleted without a check.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::cache;
use crate::domain::worktree::WorktreeName;
use crate::store::StoreError;

/// The name prefix of a worktree's folder that is being checked for work that its deletion would lose. Worktree names
/// cannot start with a dot.
const CHECKING_PREFIX: &str = ".removing-";
/// The name prefix of a worktree's folder that is to be deleted. The folder was already checked for work that the
/// deletion would lose.
const DELETING_PREFIX: &str = ".removed-";
/// The name prefix of the cache folder of a worktree that is to be deleted. Worktree names contain no dots.
const DELETING_CACHE_PREFIX: &str = ".removed-cache.";

/// The renamed folder of a worktree. Before the folder is deleted, it is checked for work that would be lost.
#[derive(Debug)]
pub struct TrashCandidate {
    home: PathBuf,
    /// The path of the folder while it is checked; its name begins with `CHECKING_PREFIX`.
    pub dir: PathBuf,
    trash: PathBuf,
}

impl TrashCandidate {
    /// Renames the folder of the worktree `name` in the worktrees folder `dir`, so that programs can no longer reach it
    /// by its path.
    pub fn move_away(dir: &Path, name: &WorktreeName) -> Result<TrashCandidate, StoreError> {
        let candidate = TrashCandidate {
            home: dir.join(name.as_str()),
            dir: dir.join(format!("{CHECKING_PREFIX}{name}")),
            trash: dir.join(format!("{DELETING_PREFIX}{name}")),
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
        // Deletes what an earlier removal could not delete, or returns the error.
        delete(&self.trash)?;
        rename(&self.dir, &self.trash)?;
        Ok(TrashedFolder(self.trash.clone()))
    }
}

/// A folder that is marked for deletion.
#[derive(Debug)]
pub struct TrashedFolder(PathBuf);

impl TrashedFolder {
    pub fn delete(self) -> Result<(), StoreError> {
        delete(&self.0)
    }
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
    let trash = dir.join(format!("{DELETING_CACHE_PREFIX}{name}"));
    delete(&trash)?;
    rename(&path, &trash)?;
    Ok(Some(TrashedFolder(trash)))
}

/// Returns whether a removal in the worktrees folder `dir` was interrupted or is in progress.
pub fn has_leftovers(dir: &Path) -> Result<bool, StoreError> {
    Ok(!leftovers(dir)?.is_empty())
}

/// Completes or reverts the interrupted removals in the worktrees folder `dir`. Deletes the folders that are marked for
/// deletion, and renames the folders that were still being checked back to their original names. If that fails for a
/// folder, appends the error to `notices`. Fails only if `dir` cannot be listed. The caller holds the worktree lock.
pub fn recover(dir: &Path, notices: &mut Vec<String>) -> Result<(), StoreError> {
    for (path, phase, name) in leftovers(dir)? {
        let done = match phase {
            TrashPhase::Checking => put_back(&path, &dir.join(&name)),
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
