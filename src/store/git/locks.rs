//! Lock files that a git left which was killed: every later git refuses to work beside them.
//!
//! Git itself never removes such a file, because the owner may live. Here one is removed only when it is not young,
//! no process has it open, and no git of any user works in the repository.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::process::users::{GitUse, git_in, has_open};

/// How old a lock must be: other programs than git (libgit2, JGit) lock for moments, and show no git.
const YOUNG: Duration = Duration::from_secs(2);
/// The same where the system does not show who works in the repository.
const YOUNG_UNSEEN: Duration = Duration::from_secs(600);
/// How long a young lock, or the end of a git that still runs, is waited for.
const PATIENCE: Duration = Duration::from_secs(4);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Most folders that are looked into.
const FOLDERS_MAX: usize = 20_000;

/// The lock files below `common`, the git folder that all worktrees share.
pub fn lock_files(common: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![
        (common.to_path_buf(), false),
        (common.join("refs"), true),
        (common.join("logs"), true),
        (common.join("reftable"), true),
        (common.join("objects/info"), true),
        (common.join("objects/pack"), true),
        (common.join("worktrees"), true),
    ];
    let mut count = 0;
    while let Some((folder, is_deep)) = folders.pop() {
        count += 1;
        if count > FOLDERS_MAX {
            break;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && is_deep {
                folders.push((path, true));
            } else if kind.is_file() && is_lock(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// `packed-refs.new` is made as a lock is: with it there no branch can be deleted.
fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "lock")
        || path
            .file_name()
            .is_some_and(|name| name == "packed-refs.new")
}

/// Those of the lock files that nobody holds. `root` is the main work tree.
pub fn left_behind(root: &Path, common: &Path) -> Vec<PathBuf> {
    let mut locks = lock_files(common);
    locks.retain(|lock| is_left(lock, root, common));
    locks
}

/// Removes the lock files that nobody holds, and waits a moment for what is young or in use. What was removed comes
/// back, and what stays.
pub fn clear(root: &Path, common: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let until = Instant::now() + PATIENCE;
    let mut removed = Vec::new();
    loop {
        let mut locks = lock_files(common);
        locks.retain(|lock| {
            let before = identity(lock);
            let is_same = is_left(lock, root, common) && identity(lock) == before;
            let is_gone = is_same && fs::remove_file(lock).is_ok();
            if is_gone {
                removed.push(lock.clone());
            }
            !is_gone
        });
        if locks.is_empty() || Instant::now() >= until {
            return (removed, locks);
        }
        std::thread::sleep(PAUSE);
    }
}

/// What tells that a file is not another one of the same name.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec()))
}

/// Whether nobody holds it.
fn is_left(lock: &Path, root: &Path, common: &Path) -> bool {
    let modified = fs::symlink_metadata(lock).and_then(|meta| meta.modified());
    let age = modified
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    // A time in the future says nothing of its age.
    let Some(age) = age.filter(|age| *age >= YOUNG) else {
        return false;
    };
    let is_free = match git_in(&[root, common]) {
        GitUse::By(_) => false,
        GitUse::Unknown => age >= YOUNG_UNSEEN,
        GitUse::None => true,
    };
    is_free && !has_open(lock)
}
