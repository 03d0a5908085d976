//! Whole files: written to a temporary one, synced, renamed. And the locks that order the writers.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::{StoreError, plain};

/// How the names of temporary files begin. A leading dot: watchers and the reference's patterns pass over it.
const TEMPORARY: &str = ".tmp-";
/// How often a lock is looked at that is waited for, but not for ever.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How old a temporary file must be to count as left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Writes a file so that every reader, and the disk after a crash, has the old one or the new one, whole.
///
/// # Errors
/// When the folder can not be written; the old file is untouched then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let file = temporary(path, bytes)?;
    file.persist(path)
        .map_err(|e| StoreError::at(path)(e.error))?;
    sync_folder(folder_of(path)).map_err(StoreError::at(path))
}

/// The same for a file that must not be there yet.
///
/// # Errors
/// `AlreadyExists` when it is there, else as [`write()`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let file = temporary(path, bytes)?;
    file.persist_noclobber(path)
        .map_err(|e| StoreError::at(path)(e.error))?;
    sync_folder(folder_of(path)).map_err(StoreError::at(path))
}

/// A temporary file beside `path`, with its content on disk.
fn temporary(path: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile, StoreError> {
    let at = || StoreError::at(path);
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .permissions(permissions())
        .tempfile_in(folder_of(path))
        .map_err(at())?;
    file.write_all(bytes).map_err(at())?;
    file.as_file().sync_all().map_err(at())?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

#[cfg(unix)]
fn permissions() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    // Narrowed by the umask, as any new file.
    fs::Permissions::from_mode(0o666)
}

/// Makes a rename or a new name in `folder` survive a crash.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Whether a name is one that [`write()`] gives to its temporary files.
pub fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMPORARY)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Whether a temporary file is so old that its writer must have been killed.
pub fn is_left_behind(meta: &fs::Metadata, now: SystemTime) -> bool {
    let age = meta
        .modified()
        .ok()
        .and_then(|at| now.duration_since(at).ok());
    age.is_some_and(|age| age >= LEFT_BEHIND)
}

/// Deletes temporary files that a killed writer left behind. To be called under the lock of their folder:
/// then no writer that lives has one there; the age is for writers on machines that share no locks.
pub fn sweep(temporary: &[PathBuf]) {
    for path in temporary {
        let meta = fs::symlink_metadata(path);
        if meta.is_ok_and(|meta| is_left_behind(&meta, SystemTime::now())) {
            // One that can not be deleted is in nobody's way.
            let _ = fs::remove_file(path);
        }
    }
}

/// A lock between processes. The kernel frees it when its holder ends, however it ends; the file stays,
/// because a lock belongs to the file and not to its name.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Given back by word: a program that another thread is starting just now has a copy of every open file for a
/// moment, and would keep the lock so long.
impl Drop for Lock {
    fn drop(&mut self) {
        // Where that fails, closing the file does it.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Waits for the lock.
    ///
    /// # Errors
    /// When the lock file can not be opened.
    pub fn take(path: &Path) -> Result<Lock, StoreError> {
        let file = Lock::open(path)?;
        file.lock().map_err(StoreError::at(path))?;
        Ok(Lock { file })
    }

    /// Waits for the lock, but not for longer than `within`. `None`: somebody else has it still.
    ///
    /// # Errors
    /// When the lock file can not be used.
    pub fn take_within(path: &Path, within: Duration) -> Result<Option<Lock>, StoreError> {
        let file = Lock::open(path)?;
        let until = Instant::now() + within;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock { file })),
                Err(TryLockError::Error(why)) => return Err(StoreError::at(path)(why)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
            }
        }
    }

    /// Whether somebody has the lock at this moment. Leaves no trace; where that can not be told: no.
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = plain::open(path) else {
            return false;
        };
        match file.try_lock_shared() {
            // Given back as by every other holder.
            Ok(()) => drop(Lock { file }),
            Err(why) => return matches!(why, TryLockError::WouldBlock),
        }
        false
    }

    fn open(path: &Path) -> Result<File, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        plain::open_as(&options, path).map_err(StoreError::at(path))
    }

    /// The lock file, for what its holder may write down in it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A second hold on the lock, for a child that goes on when this process is killed: the lock is free then when
    /// all holds are gone, else when it is given back.
    ///
    /// # Errors
    /// When there are no more file descriptors.
    pub fn share(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }
}

/// Moves a damaged file out of the way, to the first free `NAME.damaged-N`; nothing in it is lost.
///
/// # Errors
/// When it can not be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let free = (1..10_000)
        .map(|n| path.with_file_name(format!("{name}.damaged-{n}")))
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .unwrap_or_else(|| path.with_file_name(format!("{name}.damaged")));
    fs::rename(path, &free).map_err(StoreError::at(path))?;
    Ok(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_replaces_the_whole_file_and_leaves_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write(&path, b"a long first version").unwrap();
        write(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_new_file_replaces_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write_new(&path, b"first").unwrap();
        let StoreError::File { why, .. } = write_new(&path, b"second").unwrap_err() else {
            panic!("another error");
        };
        assert_eq!(why.kind(), std::io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_old_files_of_our_own_naming_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - LEFT_BEHIND * 2;
        let mut temporary = Vec::new();
        for (name, time) in [
            (".tmp-Ab12Cd", old),
            (".tmp-young1", SystemTime::now()),
            (".tmp-not.ours", old),
            (".lock", old),
        ] {
            let path = dir.path().join(name);
            File::create(&path).unwrap().set_modified(time).unwrap();
            if is_temporary(name) {
                temporary.push(path);
            }
        }
        sweep(&temporary);
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".lock", ".tmp-not.ours", ".tmp-young1"]);
    }

    #[test]
    fn a_lock_is_free_when_it_is_given_back_whoever_has_a_copy_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let lock = Lock::take(&path).unwrap();
        // As in a program that is being started.
        let copy = lock.file().try_clone().unwrap();
        assert!(Lock::is_held(&path));
        drop(lock);
        assert!(!Lock::is_held(&path));
        drop(copy);
    }

    #[test]
    fn damaged_files_are_numbered() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        for n in 1..=3 {
            fs::write(&path, format!("{n}")).unwrap();
            let aside = set_aside(&path).unwrap();
            assert_eq!(aside, dir.path().join(format!("a.json.damaged-{n}")));
            assert_eq!(fs::read_to_string(aside).unwrap(), n.to_string());
        }
    }
}
