//! Clones one folder with everything in it. No symbolic link is followed, neither in the root nor in the worktree, so
//! nothing is read or written outside of them.

use std::ffi::CStr;
use std::fs::{File, FileTimes};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fchmod, fstat, fstatvfs, mkdirat, openat,
    readlinkat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::store::worktrees::include::copy::{folder_flags, open_folder, permissions, split};

/// Maximum number of files, links and folders that are cloned into one worktree.
const ENTRIES_MAX: usize = 200_000;
/// Maximum size of the files that are cloned into one worktree, together, in bytes.
const SIZE_MAX: u64 = 20 * 1024 * 1024 * 1024;
/// Maximum size of the files whose blocks cannot be shared and that are therefore copied into one worktree, together, in
/// bytes. Much lower than [`SIZE_MAX`], because each worktree needs this space.
const COPIED_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// The unit in which a copy takes space on most disks, in bytes.
const BLOCK: u64 = 4096;
/// The free space that copies leave on the disk, in bytes.
const FREE_MIN: u64 = 1024 * 1024 * 1024;
/// The time between the newest copy and the checkout. Some file systems store times in whole seconds.
const BEFORE_CHECKOUT: Duration = Duration::from_secs(1);
/// Maximum depth of folders below a cloned folder. Each level needs two open files.
const DEPTH_MAX: usize = 64;

const TOO_MANY: &str = "more than 200,000 files and folders";
const TOO_LARGE: &str = "more than 20 GiB in total";
const TOO_DEEP: &str = "its folders are nested more than 64 levels deep";
const NO_SPACE: &str = "its files need more space than copies may take: 4 GiB, what worktree.disk_limit leaves, and all \
                        but the last GiB of the disk";
const VIRTUAL_ENVIRONMENT: &str = "it contains a Python virtual environment, whose programs use the files of your \
                                   checkout by absolute paths: create it with worktree.setup";
/// The file in the top folder of a Python virtual environment.
const VIRTUAL_ENVIRONMENT_FILE: &[u8] = b"pyvenv.cfg";

/// The name of the unfinished clone, and of the file that tests whether blocks can be shared, in the scratch folder.
const UNFINISHED: &str = "folder";
const PROBE: &str = "probe";
const PROBE_COPY: &str = "probe-copy";

/// Makes the empty file `copy` share the blocks of `source`: called with `copy` and `source`.
pub type ShareBlocks = fn(&File, &File) -> Result<(), Errno>;

#[derive(Debug)]
pub enum CloneError {
    /// The folder exceeds a limit or must not be cloned, for the reason in the text.
    Unsuitable(&'static str),
    Io(io::Error),
}

impl From<io::Error> for CloneError {
    fn from(error: io::Error) -> CloneError {
        CloneError::Io(error)
    }
}

impl From<Errno> for CloneError {
    fn from(error: Errno) -> CloneError {
        CloneError::Io(error.into())
    }
}

/// The open folders between which folders are cloned, and what may still be cloned.
pub struct FolderCloner {
    root: OwnedFd,
    tree: OwnedFd,
    /// An empty folder on the same file system as the worktree.
    scratch: OwnedFd,
    share: ShareBlocks,
    /// Whether a file is copied if its blocks cannot be shared.
    copies: bool,
    left: CloneBudget,
    /// The latest time of modification that a cloned file gets.
    newest: Option<SystemTime>,
}

/// What may still be cloned into a worktree.
#[derive(Debug, Clone, Copy)]
struct CloneBudget {
    entries: usize,
    /// The size of the files, in bytes.
    bytes: u64,
    /// The disk space for files whose blocks are not shared, in bytes.
    copied: u64,
}

impl FolderCloner {
    /// Opens the folders. Files are only cloned if they can share their blocks, until [`FolderCloner::allow_copies`].
    ///
    /// # Errors
    /// Fails if a folder cannot be opened.
    pub fn open(
        root: &Path,
        tree: &Path,
        scratch: &Path,
        share: ShareBlocks,
    ) -> io::Result<FolderCloner> {
        let flags = folder_flags() | OFlags::NOFOLLOW;
        let open = |path: &Path| rustix::fs::open(path, flags, Mode::empty());
        Ok(FolderCloner {
            root: open(root)?,
            tree: open(tree)?,
            scratch: open(scratch)?,
            share,
            copies: false,
            left: CloneBudget {
                entries: ENTRIES_MAX,
                bytes: SIZE_MAX,
                copied: 0,
            },
            // Git has written it before it checked out the files.
            newest: modified_at(&tree.join(".git"))
                .and_then(|written| written.checked_sub(BEFORE_CHECKOUT)),
        })
    }

    /// Copies files whose blocks cannot be shared: at most `bytes_max` bytes of them, and not more than the disk has space
    /// for.
    pub fn allow_copies(&mut self, bytes_max: u64) {
        let disk = fstatvfs(&self.scratch);
        let free = disk.map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let space = free.saturating_sub(FREE_MIN);
        self.left.copied = COPIED_MAX.min(bytes_max).min(space);
        self.copies = true;
    }

    /// Returns the disk space that copies of files whose blocks cannot be shared may still take, in bytes.
    pub fn copies_left(&self) -> u64 {
        self.left.copied
    }

    /// Returns whether the file system of the worktree can share blocks between files. Tries it.
    pub fn can_share(&self) -> bool {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let create = |name: &str| {
            let file = openat(&self.scratch, name, flags, Mode::RUSR | Mode::WUSR);
            file.map(File::from)
        };
        let shared = match (create(PROBE), create(PROBE_COPY)) {
            (Ok(source), Ok(copy)) => {
                (&source).write_all(b"-").is_ok() && (self.share)(&copy, &source).is_ok()
            }
            (Ok(_) | Err(_), _) => false,
        };
        for name in [PROBE, PROBE_COPY] {
            let _ = unlinkat(&self.scratch, name, AtFlags::empty());
        }
        shared
    }

    /// Clones the folder at `path`, relative to the root, to the same path in the worktree. Returns false if its parent
    /// folder is missing in the worktree, or if something has appeared at `path` there.
    ///
    /// # Errors
    /// Fails if the folder exceeds a limit, or cannot be cloned as a whole. The worktree is then unchanged, and so are the
    /// limits for other folders.
    pub fn clone_folder(&mut self, path: &Path) -> Result<bool, CloneError> {
        let before = self.left;
        let cloned = self.try_clone_folder(path);
        if !matches!(cloned, Ok(true)) {
            self.left = before;
        }
        cloned
    }

    fn try_clone_folder(&mut self, path: &Path) -> Result<bool, CloneError> {
        let (folders, name) = split(path)?;
        let (mut from, mut to) = (self.root.try_clone()?, self.tree.try_clone()?);
        for folder in folders {
            from = open_folder(&from, folder)?;
            to = match open_folder(&to, folder) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
        }
        let from = open_folder(&from, name)?;
        let mode = permissions(&fstat(&from)?) | Mode::RWXU;
        mkdirat(&self.scratch, UNFINISHED, mode)?;
        let cloned = openat(
            &self.scratch,
            UNFINISHED,
            folder_flags() | OFlags::NOFOLLOW,
            Mode::empty(),
        );
        let done = cloned
            .map_err(CloneError::from)
            .and_then(|copy| self.clone_content(&from, &copy, DEPTH_MAX));
        let moved = done.and_then(|()| {
            let flags = RenameFlags::NOREPLACE;
            Ok(renameat_with(&self.scratch, UNFINISHED, &to, name, flags)?)
        });
        match moved {
            Ok(()) => Ok(true),
            Err(error) => {
                remove_tree(&self.scratch, UNFINISHED)?;
                match error {
                    CloneError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Ok(false)
                    }
                    error => Err(error),
                }
            }
        }
    }

    fn clone_content(
        &mut self,
        from: &OwnedFd,
        to: &OwnedFd,
        depth: usize,
    ) -> Result<(), CloneError> {
        for entry in Dir::read_from(from)? {
            let entry = entry?;
            let name = entry.file_name();
            // A git repository in the folder would count as work that a removal of the worktree loses.
            if matches!(name.to_bytes(), b"." | b".." | b".git") {
                continue;
            }
            if name.to_bytes() == VIRTUAL_ENVIRONMENT_FILE {
                return Err(CloneError::Unsuitable(VIRTUAL_ENVIRONMENT));
            }
            let left = self.left.entries.checked_sub(1);
            self.left.entries = left.ok_or(CloneError::Unsuitable(TOO_MANY))?;
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            match kind {
                FileType::Directory => {
                    let depth = depth.checked_sub(1);
                    let depth = depth.ok_or(CloneError::Unsuitable(TOO_DEEP))?;
                    let flags = folder_flags() | OFlags::NOFOLLOW;
                    let inner = openat(from, name, flags, Mode::empty())?;
                    // Writable for the user, so that it can be deleted with the worktree.
                    let mode = permissions(&fstat(&inner)?) | Mode::RWXU;
                    mkdirat(to, name, mode)?;
                    let copy = openat(to, name, flags, Mode::empty())?;
                    self.clone_content(&inner, &copy, depth)?;
                }
                FileType::RegularFile => self.clone_file(from, to, name)?,
                FileType::Symlink => {
                    let target = readlinkat(from, name, Vec::new())?;
                    symlinkat(&*target, to, name)?;
                }
                // Pipes, sockets and devices belong to programs that run.
                _ => {}
            }
        }
        Ok(())
    }

    /// Clones a file with its permissions and its time of modification, by which build tools detect changes. A file that is
    /// newer than the worktree becomes as old as the worktree: otherwise build output of the user's checkout would be newer
    /// than the sources in the worktree, which may differ, and would count as up to date.
    fn clone_file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr) -> Result<(), CloneError> {
        // Without NONBLOCK, opening a pipe would wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let source = File::from(openat(from, name, flags | OFlags::CLOEXEC, Mode::empty())?);
        let stat = fstat(&source)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(());
        }
        let meta = source.metadata()?;
        let left = self.left.bytes.checked_sub(meta.len());
        self.left.bytes = left.ok_or(CloneError::Unsuitable(TOO_LARGE))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        if let Err(error) = (self.share)(&copy, &source) {
            self.copy_file(&copy, &source, meta.len(), error)?;
        }
        fchmod(&copy, permissions(&stat))?;
        let modified = meta.modified()?;
        let modified = self.newest.map_or(modified, |newest| modified.min(newest));
        copy.set_times(FileTimes::new().set_modified(modified))?;
        Ok(())
    }

    /// Copies the content of a file of `length` bytes, if files may be copied. Otherwise fails with `error`, for which the
    /// blocks cannot be shared. A file that grows meanwhile is cut at `length`.
    fn copy_file(
        &mut self,
        copy: &File,
        source: &File,
        length: u64,
        error: Errno,
    ) -> Result<(), CloneError> {
        if !self.copies {
            return Err(error.into());
        }
        let space = length.div_ceil(BLOCK).saturating_mul(BLOCK);
        let left = self.left.copied.checked_sub(space);
        self.left.copied = left.ok_or(CloneError::Unsuitable(NO_SPACE))?;
        let (mut from, mut to) = (source.take(length), copy);
        io::copy(&mut from, &mut to)?;
        Ok(())
    }
}

fn modified_at(path: &Path) -> Option<SystemTime> {
    path.symlink_metadata().ok()?.modified().ok()
}

/// Deletes the folder `name` in the folder `at`.
fn remove_tree(at: &OwnedFd, name: &str) -> io::Result<()> {
    let flags = folder_flags() | OFlags::NOFOLLOW;
    let folder = openat(at, name, flags, Mode::empty())?;
    remove_content(&folder)?;
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

fn remove_content(folder: &OwnedFd) -> io::Result<()> {
    let flags = folder_flags() | OFlags::NOFOLLOW;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        match unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) => {}
            // Linux and other systems report different errors for a folder.
            Err(Errno::ISDIR | Errno::PERM) => {
                remove_content(&openat(folder, name, flags, Mode::empty())?)?;
                unlinkat(folder, name, AtFlags::REMOVEDIR)?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
pub fn share_blocks(copy: &File, source: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(copy, source)
}

#[cfg(not(target_os = "linux"))]
pub fn share_blocks(_copy: &File, _source: &File) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Copies the content, as a file system that can share blocks would appear to do.
#[cfg(test)]
pub fn copy_for_tests(copy: &File, source: &File) -> Result<(), Errno> {
    let copied = io::copy(&mut &*source, &mut &*copy);
    copied.map(drop).map_err(|_| Errno::IO)
}

#[cfg(test)]
mod tests;
