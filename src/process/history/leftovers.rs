//! Finds and removes what killed processes left in a private folder: lock files and git's temporary files.
//!
//! Only commands and transfers write to a private folder. While none of them runs, all locks in the folder are stale,
//! however new they are and whether or not the process that made them is visible.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::{FOLDER, PrivateHistory, command_lock, lock};

/// The subfolders of a private folder that git writes to.
const SEARCHED: &[&str] = &["refs", "logs", "objects"];
/// Maximum depth of folders below the subfolders in [`SEARCHED`]. Deeper folders are not searched.
const DEPTH_MAX: usize = 32;

/// Removes the lock files and temporary files that killed git processes left in the private folder `dir`, and returns
/// true. If a command runs in the work directory, removes nothing and returns false. The caller must hold the lock of
/// [`super::lock`].
pub fn remove_if_unused(dir: &Folder) -> io::Result<bool> {
    Ok(command_lock::if_unused(dir, || remove(dir))?.is_some())
}

/// Removes all lock files and temporary files of git in the private folder `dir`. Returns the paths of the removed
/// files, relative to `dir`.
fn remove(dir: &Folder) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    visit(dir, &mut |folder, path| {
        // If this fails, the next git command reports the lock.
        if let Some(name) = path.file_name()
            && folder.remove_file(name).is_ok()
        {
            removed.push(path);
        }
    });
    removed
}

/// Returns the paths of all lock files and temporary files of git in the private folder `dir`, relative to `dir`.
fn find(dir: &Folder) -> Vec<PathBuf> {
    let mut found = Vec::new();
    visit(dir, &mut |_, path| found.push(path));
    found
}

/// Calls `then` for each lock file and temporary file of git below `dir`. The arguments are the folder that contains
/// the file, and the file's path relative to `dir`.
fn visit(dir: &Folder, then: &mut dyn FnMut(&Folder, PathBuf)) {
    for name in SEARCHED {
        if let Ok(folder) = dir.sub(name) {
            visit_folder(&folder, Path::new(name), 0, then);
        }
    }
}

fn visit_folder(
    folder: &Folder,
    path: &Path,
    depth: usize,
    then: &mut dyn FnMut(&Folder, PathBuf),
) {
    for (name, kind) in folder.entries().unwrap_or_default() {
        let path = path.join(&name);
        if kind.is_dir() && depth < DEPTH_MAX {
            if let Ok(sub) = folder.sub(&name) {
                visit_folder(&sub, &path, depth + 1, then);
            }
        } else if !kind.is_dir() && (is_lock(&name) || is_temporary(&path)) {
            then(folder, path);
        }
    }
}

/// Returns whether `name` is the name of a git lock file. No ref has such a name, because names of refs cannot end in
/// `.lock`.
pub fn is_lock(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|end| end == "lock")
}

/// Returns whether `path` names a temporary file of git: its last part begins with `.tmp-`, or with `tmp_` if `path` is
/// below `objects`. `path` is relative to the private folder.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.starts_with(b".tmp-") || name.starts_with(b"tmp_") && path.starts_with("objects")
}

impl PrivateHistory {
    /// Calls `search` on the private folder. Returns the absolute paths of the lock files that `search` has returned,
    /// sorted. If a command runs in the work directory, or no command has ever run there, returns an empty list without
    /// a call of `search`. Blocks while a transfer runs.
    fn locks_in(&self, search: fn(&Folder) -> Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let dir = Folder::open(self.own())?.sub(FOLDER)?;
        if !command_lock::was_used(&dir)? {
            return Ok(Vec::new());
        }
        let lock = lock(&dir)?;
        let found = command_lock::if_unused(&dir, || search(&dir))?;
        lock.unlock()?;
        let mut locks = found.unwrap_or_default();
        locks.retain(|path| is_lock(path.as_os_str()));
        locks.sort();
        Ok(locks.iter().map(|path| self.dir.join(path)).collect())
    }
}

/// Returns the absolute paths of the lock files that killed git processes have left in the private folders of a
/// repository. Skips folders where a command runs and folders that cannot be read. Waits until running transfers end.
pub fn stale_locks(root_git: &Path, common: &Path) -> Vec<PathBuf> {
    search_all(root_git, common, find)
}

/// Removes the lock files and temporary files that killed git processes have left in the private folders of a
/// repository. Skips folders where a command runs and folders that cannot be read. Waits until running transfers end.
/// Returns the absolute paths of the removed lock files.
pub fn remove_stale_locks(root_git: &Path, common: &Path) -> Vec<PathBuf> {
    search_all(root_git, common, remove)
}

fn search_all(root_git: &Path, common: &Path, search: fn(&Folder) -> Vec<PathBuf>) -> Vec<PathBuf> {
    // An error is ignored here, because the next command in that work directory reports it.
    let locks = |history: PrivateHistory| history.locks_in(search).unwrap_or_default();
    super::all(root_git, common).flat_map(locks).collect()
}
