//! Finds and removes lock files that a killed git left behind. Git commands fail as long as a lock file exists, and git
//! itself never removes the lock file of another process.
//!
//! crewdeck removes a lock file if all of these conditions hold:
//!
//! - No process has the file open.
//! - No git runs in the repository.
//! - The file is at least two seconds old. It must be at least ten minutes old if a git may run invisibly: in another
//!   process namespace, as another user or on another machine. Files that an interrupted operation of crewdeck created
//!   are removed after two seconds even then.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::TIMEOUT;
use crate::domain::timestamp::Timestamp;
use crate::process::history::FOLDER;
use crate::process::users::{GitUse, git_in, has_open};
use crate::store::watch::is_shared_file_system;

/// Minimum age at which a lock file that no process uses is removed. A younger lock may belong to a program that uses
/// libgit2 or JGit: such a program holds locks briefly and runs no git process.
const MIN_AGE: Duration = Duration::from_secs(2);
/// Minimum age at which a lock is removed if it may be held by a process that is invisible to this one, such as a
/// process in another container.
const MIN_AGE_INVISIBLE: Duration = Duration::from_secs(600);
/// Maximum time for which [`clear`] waits until locks reach the minimum age and a running git ends.
const WAIT_MAX: Duration = Duration::from_secs(4);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of folders to search for lock files.
const FOLDERS_MAX: usize = 20_000;

/// The folders in which git creates locks, relative to the git folder that all worktrees share. The flag says whether
/// subfolders are searched too.
const SEARCHED: &[(&str, bool)] = &[
    ("", false),
    ("refs", true),
    ("logs", true),
    ("reftable", true),
    ("info", false),
    ("sequencer", false),
    ("rebase-merge", false),
    ("objects", false),
    ("objects/info", true),
    ("objects/pack", true),
    ("worktrees", true),
];

/// Returns the lock files below `common`, the git folder that all worktrees share, sorted by path. Searches at most
/// [`FOLDERS_MAX`] folders. Skips the folders in which commands of agents write objects and refs:
/// [`crate::process::history::stale_locks`] finds the locks in them.
pub fn lock_files(common: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let searched = SEARCHED.iter();
    let mut folders: Vec<(PathBuf, bool)> = searched
        .map(|(name, is_deep)| (common.join(name), *is_deep))
        .collect();
    let trees = common.join("worktrees");
    let is_private = |path: &Path| {
        path.ends_with(FOLDER) && path.parent().and_then(Path::parent) == Some(&trees)
    };
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
            if kind.is_dir() && is_deep && !is_private(&path) {
                folders.push((path, true));
            } else if kind.is_file() && is_lock(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns whether `path` is the path of a lock file. `packed-refs.new` counts as a lock file, because no branch can be
/// deleted while it exists.
fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "lock")
        || path
            .file_name()
            .is_some_and(|name| name == "packed-refs.new")
}

/// Why a lock file cannot be removed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockHolder {
    /// The git process with this id runs in the repository.
    Git(u32),
    /// A process has the lock file open.
    Open,
    /// The lock file is younger than two seconds, its age is unknown, or it was replaced or could not be removed.
    Young,
    /// No visible process uses the lock, but a git process that is not visible to this process may hold it.
    Invisible,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockHolder::Git(id) => write!(f, "git is running in the repository (process {id})"),
            LockHolder::Open => write!(f, "a program has it open"),
            LockHolder::Young => write!(f, "it is less than {} seconds old", MIN_AGE.as_secs()),
            LockHolder::Invisible => write!(
                f,
                "a git process in another container or on another machine may hold the lock. If no such process runs, delete the file, or wait: crewdeck removes it when it is {} minutes old",
                MIN_AGE_INVISIBLE.as_secs() / 60
            ),
        }
    }
}

/// Returns the lock files that no visible process holds. Each is paired with `None` if it can be removed, or with
/// [`LockHolder::Invisible`] if a process that is invisible to this one may hold it. `root` is the top folder of the
/// repository, `common` the git folder that all worktrees share. `interrupted` contains the start times of crewdeck
/// operations that were interrupted.
pub fn left_behind(
    root: &Path,
    common: &Path,
    interrupted: &[Timestamp],
) -> Vec<(PathBuf, Option<LockHolder>)> {
    let locks = lock_files(common).into_iter();
    locks
        .map(|lock| {
            let holder = holder(&lock, root, common, interrupted);
            (lock, holder)
        })
        .filter(|(_, holder)| matches!(holder, None | Some(LockHolder::Invisible)))
        .collect()
}

/// Removes the lock files that no process holds. The parameters are the same as for [`left_behind`]. Blocks the thread
/// up to four seconds while files are too young or in use, but does not wait for [`LockHolder::Invisible`]. Returns the
/// removed files, then the remaining files, each with the reason.
pub fn clear(
    root: &Path,
    common: &Path,
    interrupted: &[Timestamp],
) -> (Vec<PathBuf>, Vec<(PathBuf, LockHolder)>) {
    let until = Instant::now() + WAIT_MAX;
    let mut removed = Vec::new();
    loop {
        let mut stay = Vec::new();
        for lock in lock_files(common) {
            let before = identity(&lock);
            match holder(&lock, root, common, interrupted) {
                None if identity(&lock) == before && fs::remove_file(&lock).is_ok() => {
                    removed.push(lock);
                }
                by => stay.push((lock, by.unwrap_or(LockHolder::Young))),
            }
        }
        if !may_be_removable_soon(&stay) || Instant::now() >= until {
            return (removed, stay);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns whether a lock in `stay` may become removable within [`WAIT_MAX`]. A lock with [`LockHolder::Invisible`]
/// may not, because it can stay for minutes; any other lock may.
fn may_be_removable_soon(stay: &[(PathBuf, LockHolder)]) -> bool {
    stay.iter().any(|(_, by)| *by != LockHolder::Invisible)
}

/// Returns the inode and the modification time of a file, to detect that the file was replaced by a new file with the
/// same name. Returns `None` if the file is gone.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec()))
}

/// Returns the reason why a lock file cannot be removed yet; `None` if a killed git left it behind.
fn holder(
    lock: &Path,
    root: &Path,
    common: &Path,
    interrupted: &[Timestamp],
) -> Option<LockHolder> {
    let meta = fs::symlink_metadata(lock).ok();
    let made = meta.as_ref().and_then(|meta| meta.modified().ok());
    // If the modification time is in the future, the age is unknown.
    let Some((made, age)) =
        made.and_then(|at| Some((at, SystemTime::now().duration_since(at).ok()?)))
    else {
        return Some(LockHolder::Young);
    };
    if age < MIN_AGE {
        return Some(LockHolder::Young);
    }
    let gits = match git_in(&[root, common]) {
        // Another user or machine may have created the lock, so the process that holds it may not be visible here.
        GitUse::None if is_external(lock, meta.as_ref()) => GitUse::NoneShown,
        gits => gits,
    };
    match gits {
        GitUse::By(id) => Some(LockHolder::Git(id)),
        _ if has_open(lock) => Some(LockHolder::Open),
        _ if age >= min_age(gits, is_from_interrupted(made, interrupted)) => None,
        _ => Some(LockHolder::Invisible),
    }
}

/// Returns the minimum age at which a lock that no visible process holds can be removed.
fn min_age(gits: GitUse, is_from_interrupted: bool) -> Duration {
    match gits {
        GitUse::None => MIN_AGE,
        // If a git that crewdeck started still held the lock, it would be visible.
        GitUse::NoneShown if is_from_interrupted => MIN_AGE,
        GitUse::NoneShown | GitUse::Unknown | GitUse::By(_) => MIN_AGE_INVISIBLE,
    }
}

/// Returns whether a file was written during an interrupted operation: its modification time `made` is at most
/// [`TIMEOUT`] after the start of one. `interrupted` contains the start times.
fn is_from_interrupted(made: SystemTime, interrupted: &[Timestamp]) -> bool {
    let made = made.duration_since(SystemTime::UNIX_EPOCH);
    let made = Timestamp(made.unwrap_or_default().as_secs_f64());
    interrupted
        .iter()
        .any(|begun| *begun <= made && made <= begun.after(TIMEOUT))
}

/// Returns whether another user owns the lock file, or other machines can write to its file system.
fn is_external(lock: &Path, meta: Option<&fs::Metadata>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    meta.is_none_or(|meta| meta.uid() != own) || is_shared_file_system(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn all_locks_are_found_except_private_ones() {
        let dir = tempfile::tempdir().unwrap();
        let common = dir.path();
        let expected = [
            "config.lock",
            "gc.pid.lock",
            "index.lock",
            "info/sparse-checkout.lock",
            "logs/refs/heads/wt/task-1.lock",
            "objects/info/commit-graph.lock",
            "objects/info/commit-graphs/commit-graph-chain.lock",
            "objects/maintenance.lock",
            "objects/pack/multi-pack-index.lock",
            "packed-refs.lock",
            "packed-refs.new",
            "rebase-merge/git-rebase-todo.lock",
            "refs/heads/crewdeck/a.lock",
            "reftable/tables.list.lock",
            "sequencer/todo.lock",
            "worktrees/crewdeck/HEAD.lock",
            "worktrees/task-1/index.lock",
            "worktrees/task-1/logs/HEAD.lock",
            "worktrees/task-1/refs/bisect/bad.lock",
        ];
        let private = [
            "crewdeck/refs/heads/main.lock",
            "worktrees/task-1/crewdeck/refs/heads/main.lock",
        ];
        for file in expected.iter().chain(&private) {
            let path = common.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = lock_files(common);
        let found: Vec<&Path> = found
            .iter()
            .map(|path| path.strip_prefix(common).unwrap())
            .collect();
        assert_eq!(found, expected.map(Path::new));
    }

    #[test]
    fn lock_must_be_older_where_git_may_be_invisible() {
        for (gits, is_ours, seconds) in [
            (GitUse::None, false, 2),
            (GitUse::None, true, 2),
            // In a container, the lock files of crewdeck's own interrupted operations are removed after two seconds.
            (GitUse::NoneShown, true, 2),
            (GitUse::NoneShown, false, 600),
            (GitUse::Unknown, true, 600),
            (GitUse::Unknown, false, 600),
        ] {
            let found = min_age(gits, is_ours).as_secs();
            assert_eq!((gits, is_ours, found), (gits, is_ours, seconds));
        }
    }

    #[test]
    fn lock_is_ours_only_if_made_during_interrupted_operation() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let interrupted = [Timestamp(1000.5), Timestamp(5000.0)];
        for (made, is_ours) in [
            (1000, false),
            (1001, true),
            (1120, true),
            (1121, false),
            (5000, true),
        ] {
            assert_eq!(
                (made, is_from_interrupted(at(made), &interrupted)),
                (made, is_ours)
            );
        }
        assert!(!is_from_interrupted(at(1001), &[]));
    }

    #[test]
    fn clear_does_not_wait_for_invisible_git() {
        let lock = |by| (PathBuf::from("index.lock"), by);
        assert!(!may_be_removable_soon(&[]));
        assert!(!may_be_removable_soon(&[
            lock(LockHolder::Invisible),
            lock(LockHolder::Invisible)
        ]));
        for by in [LockHolder::Young, LockHolder::Open, LockHolder::Git(1)] {
            assert!(may_be_removable_soon(&[
                lock(LockHolder::Invisible),
                lock(by)
            ]));
        }
    }

    #[test]
    fn lock_of_another_user_is_external() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        fs::write(&lock, "").unwrap();
        let own = fs::symlink_metadata(&lock).unwrap();
        assert!(!is_external(&lock, Some(&own)));
        assert!(is_external(&lock, None));
        if own.uid() == 0 {
            std::os::unix::fs::chown(&lock, Some(1), None).unwrap();
            let other = fs::symlink_metadata(&lock).unwrap();
            assert!(is_external(&lock, Some(&other)));
        }
    }
}
