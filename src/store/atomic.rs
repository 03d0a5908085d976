//! Atomic file writes (temporary file, fsync, rename) and the lock files that serialize writers.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use super::{StoreError, regular_file};

/// Prefix of temporary file names. Watchers and the file patterns of learn-claude-code skip names with a leading dot.
const TEMPORARY: &str = ".tmp-";
/// Pause between two attempts of [`Lock::take_within`] to acquire the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Minimum age at which a temporary file counts as left behind by a killed writer.
const STALE_AGE: Duration = Duration::from_secs(60);

/// Replaces a file atomically, or creates it. A reader gets either the complete old or the complete new content, even
/// after a crash. The folder must exist.
///
/// # Errors
/// When the file cannot be written or replaced; the old file is then unchanged. Also when the folder cannot be synced
/// afterwards; the file then has the new content, which a power failure may undo.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_by(path, bytes, UnnamedFile::link)
}

fn write_by(path: &Path, bytes: &[u8], link: Link) -> Result<(), StoreError> {
    // The temporary file has this name only between the link and the rename.
    let name = temporary_path(path);
    if create_unnamed(path, bytes)?.is_some_and(|file| link(&file, &name).is_ok()) {
        if let Err(why) = fs::rename(&name, path) {
            let _ = fs::remove_file(&name);
            return Err(StoreError::at(path)(why));
        }
    } else {
        let file = write_temporary(path, bytes)?;
        file.persist(path)
            .map_err(|e| StoreError::at(path)(e.error))?;
    }
    sync_folder(folder_of(path)).map_err(StoreError::at(path))
}

/// Creates a file with the content `bytes` atomically: the file appears with its complete content or not at all.
///
/// # Errors
/// If something exists at `path`, a [`StoreError::File`] with the kind `AlreadyExists`; otherwise as [`write()`].
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_new_by(path, bytes, UnnamedFile::link)
}

fn write_new_by(path: &Path, bytes: &[u8], link: Link) -> Result<(), StoreError> {
    let linked = create_unnamed(path, bytes)?.map(|file| link(&file, path));
    match linked {
        Some(Ok(())) => {}
        Some(Err(why)) if why.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(StoreError::at(path)(why));
        }
        // Some file systems, such as NFS, support unnamed files but cannot link them.
        Some(Err(_)) | None => {
            let file = write_temporary(path, bytes)?;
            file.persist_noclobber(path)
                .map_err(|e| StoreError::at(path)(e.error))?;
        }
    }
    sync_folder(folder_of(path)).map_err(StoreError::at(path))
}

/// The type of [`UnnamedFile::link`]. Tests pass another function.
type Link = fn(&UnnamedFile, &Path) -> std::io::Result<()>;

/// An open file without a name (`O_TMPFILE`). The kernel removes it if the writer is killed.
struct UnnamedFile(File);

/// Creates an unnamed file in the folder of `path` and syncs `bytes` to it. Returns `None` if the file system does not
/// support unnamed files, or if `/proc`, which is needed to link such a file, is not mounted.
fn create_unnamed(path: &Path, bytes: &[u8]) -> Result<Option<UnnamedFile>, StoreError> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // The umask applies, as for any new file.
    let mode = Mode::from_raw_mode(0o666);
    let Ok(file) = rustix::fs::open(folder_of(path), flags, mode) else {
        return Ok(None);
    };
    let file = UnnamedFile(File::from(file));
    if !file.proc_path().exists() {
        return Ok(None);
    }
    (&file.0).write_all(bytes).map_err(StoreError::at(path))?;
    file.0.sync_all().map_err(StoreError::at(path))?;
    Ok(Some(file))
}

impl UnnamedFile {
    fn proc_path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    /// Links the file to the path `name`. Fails if something exists at this path.
    fn link(&self, name: &Path) -> std::io::Result<()> {
        rustix::fs::linkat(CWD, self.proc_path(), CWD, name, AtFlags::SYMLINK_FOLLOW)?;
        Ok(())
    }
}

/// Returns an unused path for a temporary file in the folder of `path`.
fn temporary_path(path: &Path) -> PathBuf {
    let id = uuid::Uuid::now_v7().simple();
    folder_of(path).join(format!("{TEMPORARY}{id}"))
}

/// Creates a temporary file in the folder of `path` and syncs `bytes` to it.
fn write_temporary(path: &Path, bytes: &[u8]) -> Result<tempfile::NamedTempFile, StoreError> {
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
    // The umask applies, as for any new file.
    fs::Permissions::from_mode(0o666)
}

/// Syncs `folder`, so that a rename or a new file in it survives a crash.
pub fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

pub fn is_temporary(name: &str) -> bool {
    name.strip_prefix(TEMPORARY)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Returns whether a path from a file event belongs to an unnamed file. The kernel reports such a file as `#` and its
/// inode number, and no file exists at that path.
pub fn is_unnamed(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let number = name.as_deref().and_then(|name| name.strip_prefix('#'));
    let is_number = number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    is_number && !path.exists()
}

/// Returns whether a temporary file was last written at least a minute before `now`. Its writer must then have been
/// killed.
pub fn is_stale(meta: &fs::Metadata, now: SystemTime) -> bool {
    let age = meta
        .modified()
        .ok()
        .and_then(|at| now.duration_since(at).ok());
    age.is_some_and(|age| age >= STALE_AGE)
}

/// Deletes temporary files that no writer has touched for a minute, and returns how many it has deleted. Needs no lock.
pub fn sweep(temporary: &[PathBuf]) -> usize {
    sweep_if(temporary, |meta| is_stale(meta, SystemTime::now()))
}

/// Deletes the files of `temporary` that killed writers have left behind. `lock` is the lock of their folder, which
/// this process holds.
///
/// A file that was last written before this process acquired the lock is deleted: its writer held the lock and has
/// ended. A newer file may belong to a writer on another machine, where the lock has no effect. It is deleted only if
/// it was not written for a minute.
pub fn sweep_under(lock: &Lock, temporary: &[PathBuf]) {
    sweep_if(temporary, |meta| {
        let is_older = meta.modified().is_ok_and(|at| at <= lock.since);
        is_older || is_stale(meta, SystemTime::now())
    });
}

fn sweep_if(temporary: &[PathBuf], is_left: impl Fn(&fs::Metadata) -> bool) -> usize {
    let is_deleted = |path: &&PathBuf| {
        let is_left = fs::symlink_metadata(path).is_ok_and(|meta| is_left(&meta));
        // A file that cannot be deleted does no harm.
        is_left && fs::remove_file(path).is_ok()
    };
    temporary.iter().filter(is_deleted).count()
}

/// An exclusive lock between processes, which also excludes other [`Lock`] values of this process. The kernel releases
/// the lock when its holder ends, even if the holder is killed. The lock file is never deleted, because a lock belongs to
/// the inode and not to the name.
#[derive(Debug)]
pub struct Lock {
    file: File,
    since: SystemTime,
}

/// Releases the lock before the file is closed. Closing alone may release it later: a child process that another thread
/// is starting has a copy of the open file until it runs `exec`.
impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Acquires the lock; waits without a limit. Creates the lock file if it is missing, but not its folder.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn take(path: &Path) -> Result<Lock, StoreError> {
        let file = Lock::open(path)?;
        file.lock().map_err(StoreError::at(path))?;
        Ok(Lock::of(file))
    }

    /// Acquires the lock; waits at most `within`. Returns `None` if the lock is then still held, by another process or by
    /// another [`Lock`] of this one.
    ///
    /// # Errors
    /// When the lock file cannot be used.
    pub fn take_within(path: &Path, within: Duration) -> Result<Option<Lock>, StoreError> {
        let file = Lock::open(path)?;
        let until = Instant::now() + within;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Lock::of(file))),
                Err(TryLockError::Error(why)) => return Err(StoreError::at(path)(why)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
            }
        }
    }

    /// Returns whether any process, including this one, holds the lock now. Creates no lock file. Returns `false` if the
    /// file cannot be opened.
    pub fn is_held(path: &Path) -> bool {
        let Ok(file) = regular_file::open(path) else {
            return false;
        };
        match file.try_lock_shared() {
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
        regular_file::open_with(&options, path).map_err(StoreError::at(path))
    }

    /// Returns the lock file. The holder of the lock may store data in it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns a second handle to the lock for a child process. If this process is killed, the lock stays held until
    /// the child closes the handle. Dropping the [`Lock`] releases the lock immediately, even if the child has the
    /// handle open.
    ///
    /// # Errors
    /// When this process cannot open another file descriptor.
    pub fn share(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }
}

/// Renames a damaged file with the name `NAME` to the first unused name `NAME.damaged-N`, and returns the new path. See
/// [`set_aside_as`] for the case that all names are used.
///
/// # Errors
/// When the file cannot be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf, StoreError> {
    set_aside_as(path, "damaged")
}

/// Renames the file with the name `NAME` to `NAME.KIND-N`, and returns the new path. `N` is the first number from 1 for
/// which no file exists. If all numbers below 10,000 are used, the new name is `NAME.KIND`, and a file of that name is
/// replaced.
///
/// # Errors
/// When the file cannot be renamed.
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
    fn write_replaces_the_file_and_leaves_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        write(&path, b"a long first version").unwrap();
        write(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_new_rejects_an_existing_file() {
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
    fn write_falls_back_when_linking_fails() {
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
    fn sweep_deletes_only_old_temporary_files() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - STALE_AGE * 2;
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
        assert_eq!(sweep(&temporary), 1);
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".lock", ".tmp-not.ours", ".tmp-young1"]);
    }

    #[test]
    fn sweep_under_lock_deletes_files_older_than_the_lock() {
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
    fn killed_writer_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.json");
        // As after a killed writer, the file is written and closed, but never linked.
        let file = create_unnamed(&path, b"half").unwrap();
        assert!(file.is_some(), "the file system has no unnamed files");
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn unnamed_file_is_a_number_without_a_file() {
        let dir = tempfile::tempdir().unwrap();
        File::create(dir.path().join("#7")).unwrap();
        for (name, expected) in [
            ("#12", true),
            ("#7", false),
            ("#", false),
            ("#a", false),
            ("12", false),
        ] {
            assert_eq!(is_unnamed(&dir.path().join(name)), expected, "{name}");
        }
    }

    #[test]
    fn drop_releases_the_lock_despite_a_copied_handle() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".lock");
        let lock = Lock::take(&path).unwrap();
        // A child process that is being started has such a copy.
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
