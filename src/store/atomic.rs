//! Whole files: written to a temporary one, synced, renamed. And the locks that order the writers.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

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
    write_by(path, bytes, Nameless::link)
}

fn write_by(path: &Path, bytes: &[u8], link: Link) -> Result<(), StoreError> {
    // The name is there for the moment between two calls of the system only.
    let name = unused_name(path);
    if nameless(path, bytes)?.is_some_and(|file| link(&file, &name).is_ok()) {
        if let Err(why) = fs::rename(&name, path) {
            let _ = fs::remove_file(&name);
            return Err(StoreError::at(path)(why));
        }
    } else {
        let file = temporary(path, bytes)?;
        file.persist(path)
            .map_err(|e| StoreError::at(path)(e.error))?;
    }
    sync_folder(folder_of(path)).map_err(StoreError::at(path))
}

/// The same for a file that must not be there yet.
///
/// # Errors
/// `AlreadyExists` when it is there, else as [`write()`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_new_by(path, bytes, Nameless::link)
}

fn write_new_by(path: &Path, bytes: &[u8], link: Link) -> Result<(), StoreError> {
    let linked = nameless(path, bytes)?.map(|file| link(&file, path));
    match linked {
        Some(Ok(())) => {}
        Some(Err(why)) if why.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(StoreError::at(path)(why));
        }
        // A file system may have files without a name and refuse to name them: NFS does.
        Some(Err(_)) | None => {
            let file = temporary(path, bytes)?;
            file.persist_noclobber(path)
                .map_err(|e| StoreError::at(path)(e.error))?;
        }
    }
    sync_folder(folder_of(path)).map_err(StoreError::at(path))
}

/// How a file without a name gets one.
type Link = fn(&Nameless, &Path) -> std::io::Result<()>;

/// A file without a name in the folder of `path`, with its content on disk. Nothing is left of it where its writer is
/// killed.
struct Nameless(File);

/// `None`: the file system has no such files, or `/proc` is not there to give it its name.
fn nameless(path: &Path, bytes: &[u8]) -> Result<Option<Nameless>, StoreError> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // Narrowed by the umask, as any new file.
    let mode = Mode::from_raw_mode(0o666);
    let Ok(file) = rustix::fs::open(folder_of(path), flags, mode) else {
        return Ok(None);
    };
    let file = Nameless(File::from(file));
    if !file.way().exists() {
        return Ok(None);
    }
    (&file.0).write_all(bytes).map_err(StoreError::at(path))?;
    file.0.sync_all().map_err(StoreError::at(path))?;
    Ok(Some(file))
}

impl Nameless {
    fn way(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    /// Gives it a name, which must not be there yet.
    fn link(&self, name: &Path) -> std::io::Result<()> {
        rustix::fs::linkat(CWD, self.way(), CWD, name, AtFlags::SYMLINK_FOLLOW)?;
        Ok(())
    }
}

/// A name for a temporary file beside `path` that nothing else has.
fn unused_name(path: &Path) -> PathBuf {
    let id = uuid::Uuid::now_v7().simple();
    folder_of(path).join(format!("{TEMPORARY}{id}"))
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

/// Whether a path that was heard of is that of a file that has no name yet: the system calls it `#` and its number, and
/// nothing is there.
pub fn is_nameless(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let number = name.as_deref().and_then(|name| name.strip_prefix('#'));
    let is_number = number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    is_number && !path.exists()
}

/// Whether a temporary file is so old that its writer must have been killed.
pub fn is_left_behind(meta: &fs::Metadata, now: SystemTime) -> bool {
    let age = meta
        .modified()
        .ok()
        .and_then(|at| now.duration_since(at).ok());
    age.is_some_and(|age| age >= LEFT_BEHIND)
}

/// Deletes temporary files that a killed writer left behind. Without the lock of their folder only such that no writer
/// has touched for long.
pub fn sweep(temporary: &[PathBuf]) {
    sweep_if(temporary, |meta| is_left_behind(meta, SystemTime::now()));
}

/// Deletes temporary files that are older than the hold on `lock`, the lock of their folder: whoever wrote one held the
/// lock before, and is gone. A younger one is of a writer on a machine that shares no locks.
pub fn sweep_under(lock: &Lock, temporary: &[PathBuf]) {
    sweep_if(temporary, |meta| {
        let is_older = meta.modified().is_ok_and(|at| at <= lock.since);
        is_older || is_left_behind(meta, SystemTime::now())
    });
}

fn sweep_if(temporary: &[PathBuf], is_left: impl Fn(&fs::Metadata) -> bool) {
    for path in temporary {
        if fs::symlink_metadata(path).is_ok_and(|meta| is_left(&meta)) {
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
    /// Since when it is held.
    since: SystemTime,
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
        Ok(Lock::of(file))
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
                Ok(()) => return Ok(Some(Lock::of(file))),
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
            Ok(()) => drop(Lock::of(file)),
            Err(why) => return matches!(why, TryLockError::WouldBlock),
        }
        false
    }

    fn of(file: File) -> Lock {
        Lock {
            file,
            since: SystemTime::now(),
        }
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
    set_aside_as(path, "damaged")
}

/// Moves a file out of the way, to the first free `NAME.KIND-N`.
///
/// # Errors
/// When it cannot be renamed.
pub fn set_aside_as(path: &Path, kind: &str) -> Result<PathBuf, StoreError> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let free = (1..10_000)
        .map(|n| path.with_file_name(format!("{name}.{kind}-{n}")))
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .unwrap_or_else(|| path.with_file_name(format!("{name}.{kind}")));
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
    fn a_file_that_cannot_be_linked_is_written_under_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        let refuse: Link = |_, _| Err(rustix::io::Errno::OPNOTSUPP.into());
        write_new_by(&path, b"first", refuse).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let StoreError::File { why, .. } = write_new_by(&path, b"new", refuse).unwrap_err() else {
            panic!("another error");
        };
        assert_eq!(why.kind(), std::io::ErrorKind::AlreadyExists);
        write_by(&path, b"second", refuse).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
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
    fn under_the_lock_all_that_is_older_than_its_hold_is_swept() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(&dir.path().join(".lock")).unwrap();
        let second = Duration::from_secs(1);
        let mut temporary = Vec::new();
        for (name, time) in [
            (".tmp-before", lock.since - second),
            (".tmp-after", lock.since + second),
        ] {
            let path = dir.path().join(name);
            File::create(&path).unwrap().set_modified(time).unwrap();
            temporary.push(path);
        }
        sweep_under(&lock, &temporary);
        let left: Vec<bool> = temporary.iter().map(|path| path.exists()).collect();
        assert_eq!(left, [false, true]);
    }

    #[test]
    fn a_writer_that_is_killed_before_its_file_is_whole_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        // As in a killed writer: the file is written and closed, and never gets its name.
        let file = nameless(&path, b"half").unwrap();
        assert!(file.is_some(), "temporary directories have such files here");
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_a_number_that_nothing_has_is_nameless() {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("#7")).unwrap();
        for (name, is) in [
            ("#12", true),
            ("#7", false),
            ("#", false),
            ("#a", false),
            ("12", false),
        ] {
            assert_eq!(is_nameless(&dir.path().join(name)), is, "{name}");
        }
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
