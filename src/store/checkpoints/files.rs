//! Access to the files of a work directory that agents write to at the same time. No path leads out of the directory:
//! it is resolved one name at a time, without following symbolic links.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use ring::digest::{SHA256, digest};
#[cfg(target_os = "linux")]
use rustix::fs::RawDir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::known::{DiskFileState, split};
use crate::domain::folders::is_reserved;

/// Maximum size of a file that a snapshot contains, in bytes. Larger files are left out.
pub const FILE_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of a file `.gitignore`, in bytes. A larger one counts as empty.
const RULES_MAX: u64 = 1024 * 1024;
/// The size of the buffer for the entries of a folder, in bytes. More entries are read in several steps.
#[cfg(target_os = "linux")]
const LIST_BUFFER: usize = 32 * 1024;

/// The content of a file as it was read, with the state that the file had right before.
pub struct ReadContent {
    pub bytes: Vec<u8>,
    pub state: DiskFileState,
}

/// Why the content of a file is not in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoContent {
    /// The file no longer exists, or is no longer a file.
    Gone,
    TooLarge,
    Unreadable,
}

pub fn folder_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens the work directory itself. Symbolic links in its path are followed.
pub fn open_top(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

/// Returns whether two open folders are the same one.
pub fn is_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    let identity = |folder: &OwnedFd| fstat(folder).map(|stat| (stat.st_dev, stat.st_ino));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Opens the folder at `path`, which is relative to `top`; an empty path is `top` itself.
pub fn open_below(top: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    let mut names = path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty());
    let first = names.next().unwrap_or(b".");
    let mut folder = openat(top, first, folder_flags(), Mode::empty())?;
    for name in names {
        folder = openat(&folder, name, folder_flags(), Mode::empty())?;
    }
    Ok(folder)
}

/// Lists folders with a buffer that is used again.
#[derive(Default)]
pub struct FolderReader {
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl FolderReader {
    /// Passes the name and the type of each entry of `folder` to `each`. The folder must not have been read yet.
    pub fn read(
        &mut self,
        folder: &OwnedFd,
        mut each: impl FnMut(&CStr, FileType),
    ) -> Result<(), Errno> {
        self.buffer.reserve(LIST_BUFFER);
        let mut list = RawDir::new(folder, self.buffer.spare_capacity_mut());
        while let Some(entry) = list.next() {
            let entry = entry?;
            each(entry.file_name(), entry.file_type());
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
impl FolderReader {
    pub fn read(
        &mut self,
        folder: &OwnedFd,
        mut each: impl FnMut(&CStr, FileType),
    ) -> Result<(), Errno> {
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            each(entry.file_name(), entry.file_type());
        }
        Ok(())
    }
}

/// Returns whether the entry `name` of `folder`, a `.git`, makes the folder a repository or a worktree.
pub fn is_repository(folder: &OwnedFd, name: &[u8]) -> bool {
    match openat(folder, name, folder_flags(), Mode::empty()) {
        Ok(git) => matches!(state_of(&git, b"HEAD"), Ok(Some(_))),
        Err(_) => read_small(folder, name).is_some_and(|text| text.starts_with(b"gitdir:")),
    }
}

/// Returns the state of the entry `name`; `None` if there is none.
pub fn state_of(folder: &OwnedFd, name: &[u8]) -> Result<Option<DiskFileState>, Errno> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(DiskFileState::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file or the target of a symbolic link. `path` is relative to `top`.
pub fn read(top: &OwnedFd, path: &[u8]) -> Result<ReadContent, NoContent> {
    let (folder, name) = split(path);
    let folder = open_below(top, folder).map_err(reason)?;
    let state = state_of(&folder, name).map_err(reason)?;
    if state.ok_or(NoContent::Gone)?.is_symlink() {
        let target = readlinkat(&folder, name, Vec::new()).map_err(reason)?;
        let after = state_of(&folder, name).map_err(reason)?;
        return Ok(ReadContent {
            bytes: target.into_bytes(),
            state: after.ok_or(NoContent::Gone)?,
        });
    }
    let (file, state) = open_file(&folder, name)?;
    if state.size > FILE_MAX {
        return Err(NoContent::TooLarge);
    }
    let mut bytes = Vec::new();
    let read = file.take(FILE_MAX + 1).read_to_end(&mut bytes);
    match read {
        Ok(_) if bytes.len() as u64 > FILE_MAX => Err(NoContent::TooLarge),
        Ok(_) => Ok(ReadContent { bytes, state }),
        Err(_) => Err(NoContent::Unreadable),
    }
}

/// Reads a file of rules in `folder`; `None` if it is not a regular file, is too large or cannot be read.
pub fn read_small(folder: &OwnedFd, name: &[u8]) -> Option<Vec<u8>> {
    let (file, state) = open_file(folder, name).ok()?;
    let mut bytes = Vec::new();
    if state.size > RULES_MAX {
        return None;
    }
    file.take(RULES_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

pub fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, bytes).as_ref());
    out
}

/// Returns whether a path must not be in a snapshot and is never written: it lies in a folder of crewdeck or of git, or
/// it could lead out of the work directory. Agents can make commits with such paths.
pub fn is_foreign(path: &[u8]) -> bool {
    let mut names = path.split(|byte| *byte == b'/');
    let first = names.clone().next().unwrap_or_default();
    std::str::from_utf8(first).is_ok_and(is_reserved)
        || names
            .any(|name| matches!(name, b"" | b"." | b"..") || name.eq_ignore_ascii_case(b".git"))
}

/// Returns a path as text for the user.
pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

fn open_file(folder: &OwnedFd, name: &[u8]) -> Result<(File, DiskFileState), NoContent> {
    // Without NONBLOCK, opening a pipe would wait for its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).map_err(reason)?;
    let stat = fstat(&file).map_err(reason)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(NoContent::Gone);
    }
    Ok((File::from(file), DiskFileState::of(&stat)))
}

fn reason(error: Errno) -> NoContent {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => NoContent::Gone,
        _ => NoContent::Unreadable,
    }
}
