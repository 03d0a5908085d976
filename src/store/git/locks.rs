//! Lock files that a killed git left: every later git refuses to work beside them.
//!
//! Git itself never removes such a file, because its owner may live. Here one is removed only when no process has it
//! open, no git works in the repository, and it is old enough. Where a git may work unseen (in another process
//! namespace, by another user, on another machine), only the lock of a step of crewdeck that was cut off counts as
//! left behind soon; any other must be ten minutes old.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::TIMEOUT;
use crate::domain::stamp::Stamp;
use crate::process::users::{GitUse, git_in, has_open};
use crate::store::watch::is_shared;

/// How old a lock must be: other programs than git (libgit2, JGit) lock for moments, and show no git.
const YOUNG: Duration = Duration::from_secs(2);
/// The same where the system may not show all that work in the repository.
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

/// What a lock may not be removed before, and why it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// This git works in the repository.
    Git(u32),
    /// A process has the file open.
    Open,
    /// None is seen, but the file is too young.
    Young,
    /// None is seen, but a git may work where this system does not show it.
    Unseen,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Git(id) => write!(f, "git works in the repository now (process {id})"),
            Holder::Open => write!(f, "a program has it open now"),
            Holder::Young => write!(f, "it is less than {} seconds old", YOUNG.as_secs()),
            Holder::Unseen => write!(
                f,
                "a git that this system does not show may work in the repository, so it must be {} minutes old. If none does, delete the file",
                YOUNG_UNSEEN.as_secs() / 60
            ),
        }
    }
}

/// The lock files that no process is seen to hold, and those that only an unseen git may hold ([`Holder::Unseen`]).
/// `root` is the main work tree; `cut` tells when the interrupted steps began.
pub fn left_behind(root: &Path, common: &Path, cut: &[Stamp]) -> Vec<(PathBuf, Option<Holder>)> {
    let locks = lock_files(common).into_iter();
    locks
        .map(|lock| {
            let holder = holder(&lock, root, common, cut);
            (lock, holder)
        })
        .filter(|(_, holder)| matches!(holder, None | Some(Holder::Unseen)))
        .collect()
}

/// Removes the lock files that no process holds, and waits a moment for those that are young or in use, not for those
/// that only an unseen git may hold. Returns what was removed, and what stays with the reason.
pub fn clear(root: &Path, common: &Path, cut: &[Stamp]) -> (Vec<PathBuf>, Vec<(PathBuf, Holder)>) {
    let until = Instant::now() + PATIENCE;
    let mut removed = Vec::new();
    loop {
        let mut stay = Vec::new();
        for lock in lock_files(common) {
            let before = identity(&lock);
            match holder(&lock, root, common, cut) {
                None if identity(&lock) == before && fs::remove_file(&lock).is_ok() => {
                    removed.push(lock);
                }
                by => stay.push((lock, by.unwrap_or(Holder::Young))),
            }
        }
        if !may_go_soon(&stay) || Instant::now() >= until {
            return (removed, stay);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether one of these locks may go within [`PATIENCE`]: one of an unseen git may take minutes.
fn may_go_soon(stay: &[(PathBuf, Holder)]) -> bool {
    stay.iter().any(|(_, by)| *by != Holder::Unseen)
}

/// What tells that a file is not another one of the same name.
fn identity(path: &Path) -> Option<(u64, i64, i64)> {
    let meta = fs::symlink_metadata(path).ok()?;
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec()))
}

/// Who holds a lock, or may hold it; `None`: it was left behind.
fn holder(lock: &Path, root: &Path, common: &Path, cut: &[Stamp]) -> Option<Holder> {
    let meta = fs::symlink_metadata(lock).ok();
    let made = meta.as_ref().and_then(|meta| meta.modified().ok());
    // A time in the future does not tell how old it is.
    let Some((made, age)) =
        made.and_then(|at| Some((at, SystemTime::now().duration_since(at).ok()?)))
    else {
        return Some(Holder::Young);
    };
    if age < YOUNG {
        return Some(Holder::Young);
    }
    let gits = match git_in(&[root, common]) {
        // What is shown here may not be all: another user or machine has made it.
        GitUse::None if is_foreign(lock, meta.as_ref()) => GitUse::NoneShown,
        gits => gits,
    };
    match gits {
        GitUse::By(id) => Some(Holder::Git(id)),
        _ if has_open(lock) => Some(Holder::Open),
        _ if age >= needed(gits, is_of_cut_step(made, cut)) => None,
        _ => Some(Holder::Unseen),
    }
}

/// How old a lock must be.
fn needed(gits: GitUse, is_of_cut_step: bool) -> Duration {
    match gits {
        GitUse::None => YOUNG,
        // A git of crewdeck would be shown.
        GitUse::NoneShown if is_of_cut_step => YOUNG,
        GitUse::NoneShown | GitUse::Unknown | GitUse::By(_) => YOUNG_UNSEEN,
    }
}

/// Whether a file was made while a step was under way that was cut off: from its begin on, as long as a git may run.
fn is_of_cut_step(made: SystemTime, cut: &[Stamp]) -> bool {
    let made = made.duration_since(SystemTime::UNIX_EPOCH);
    let made = Stamp(made.unwrap_or_default().as_secs_f64());
    cut.iter()
        .any(|begun| *begun <= made && made <= begun.after(TIMEOUT))
}

/// Whether another user has made the file, or other machines write to its file system.
fn is_foreign(lock: &Path, meta: Option<&fs::Metadata>) -> bool {
    let own = rustix::process::geteuid().as_raw();
    meta.is_none_or(|meta| meta.uid() != own) || is_shared(lock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_lock_must_be_older_where_a_git_may_work_unseen() {
        for (gits, is_ours, seconds) in [
            (GitUse::None, false, 2),
            (GitUse::None, true, 2),
            // In a container: what crewdeck itself left is repaired at the next start.
            (GitUse::NoneShown, true, 2),
            (GitUse::NoneShown, false, 600),
            (GitUse::Unknown, true, 600),
            (GitUse::Unknown, false, 600),
        ] {
            let found = needed(gits, is_ours).as_secs();
            assert_eq!((gits, is_ours, found), (gits, is_ours, seconds));
        }
    }

    #[test]
    fn only_a_lock_from_the_time_of_a_cut_step_is_ours() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let cut = [Stamp(1000.5), Stamp(5000.0)];
        for (made, is_ours) in [
            (1000, false),
            (1001, true),
            (1120, true),
            (1121, false),
            (5000, true),
        ] {
            assert_eq!((made, is_of_cut_step(at(made), &cut)), (made, is_ours));
        }
        assert!(!is_of_cut_step(at(1001), &[]));
    }

    #[test]
    fn what_only_an_unseen_git_may_hold_is_not_waited_for() {
        let lock = |by| (PathBuf::from("index.lock"), by);
        assert!(!may_go_soon(&[]));
        assert!(!may_go_soon(&[lock(Holder::Unseen), lock(Holder::Unseen)]));
        for by in [Holder::Young, Holder::Open, Holder::Git(1)] {
            assert!(may_go_soon(&[lock(Holder::Unseen), lock(by)]));
        }
    }

    #[test]
    fn a_lock_of_another_user_is_foreign() {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("index.lock");
        fs::write(&lock, "").unwrap();
        let own = fs::symlink_metadata(&lock).unwrap();
        assert!(!is_foreign(&lock, Some(&own)));
        assert!(is_foreign(&lock, None));
        if own.uid() == 0 {
            std::os::unix::fs::chown(&lock, Some(1), None).unwrap();
            let other = fs::symlink_metadata(&lock).unwrap();
            assert!(is_foreign(&lock, Some(&other)));
        }
    }
}
