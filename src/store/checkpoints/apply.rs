//! Writes and deletes the files of a plan. Files that have changed since the snapshot on which the plan is based are left
//! alone, because that change would be lost.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, mkdirat, openat, renameat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::directory::SnapshotDirectory;
use super::error::CheckpointError;
use super::files::{FILE_MAX, folder_flags, is_foreign, open_below, shown, state_of};
use super::known::{DiskFileState, split};
use super::meta::CheckpointMeta;
use super::plan::{RewindAction, RewindStep, WrittenKind};
use super::repository::{CheckpointRepository, next_object};
use crate::domain::checkpoint::{CheckpointId, RestoredFiles};
use crate::store::os_errors;

/// Maximum size of the contents that are read from git at once, in bytes. A single larger content is read alone.
const BATCH_MAX: u64 = 64 * 1024 * 1024;

/// The names of the temporary files of rewinds begin with this. git ignores them.
pub const TEMPORARY: &str = ".crewdeck-rewind-";

/// The contents that a plan writes, with their sizes in bytes, in the order of the steps.
pub struct RewindContents(Vec<(String, u64)>);

/// Checks that git has the content of each file that a plan writes.
///
/// # Errors
/// [`CheckpointError::Gone`] if one is missing.
pub fn find_contents(
    repository: &CheckpointRepository,
    id: CheckpointId,
    steps: &[RewindStep],
) -> Result<RewindContents, CheckpointError> {
    let wanted: Vec<(&[u8], &str)> = steps
        .iter()
        .filter_map(|step| match &step.action {
            RewindAction::Write { content, .. } => Some((step.path.as_slice(), content.as_str())),
            RewindAction::Delete => None,
        })
        .collect();
    let names: Vec<&str> = wanted.iter().map(|(_, content)| *content).collect();
    let format = "--batch-check=%(objectname) %(objecttype) %(objectsize)";
    let listed = repository.cat_file(format, &names, names.len() as u64 * 200)?;
    let text = String::from_utf8_lossy(&listed);
    let mut lines = text.lines();
    let mut out = Vec::new();
    for (path, content) in wanted {
        let mut words = lines.next().unwrap_or_default().split(' ').skip(1);
        let (Some("blob"), Some(Ok(size))) = (words.next(), words.next().map(str::parse)) else {
            let path = shown(path);
            return Err(CheckpointError::Gone { id, path });
        };
        out.push((content.to_string(), size));
    }
    Ok(RewindContents(out))
}

/// Carries out the steps of a plan, whose contents [`find_contents`] has found. `directory` knows the states of the files on which the plan is based. A step that
/// fails is reported, and the others are carried out.
pub fn apply(
    repository: &CheckpointRepository,
    directory: &SnapshotDirectory,
    steps: &[RewindStep],
    contents: &RewindContents,
    target: &CheckpointMeta,
) -> RestoredFiles {
    let mut done = RestoredFiles::default();
    let mut report = |path: &[u8], result: Result<(), String>| match result {
        Ok(()) => done.changed.add(shown(path)),
        Err(why) => done.skipped.add(format!("{}: {why}", shown(path))),
    };
    let (deletes, writes): (Vec<&RewindStep>, Vec<&RewindStep>) = steps
        .iter()
        .partition(|step| step.action == RewindAction::Delete);
    for step in deletes {
        report(&step.path, delete(directory, &step.path));
    }
    let mut writes = writes.as_slice();
    let mut contents = contents.0.as_slice();
    while !writes.is_empty() {
        let mut size = 0;
        let is_in_batch = |(_, bytes): &&(String, u64)| {
            size += bytes;
            size <= BATCH_MAX
        };
        let count = contents.iter().take_while(is_in_batch).count();
        let count = count.max(1).min(writes.len());
        let (now, later) = writes.split_at(count);
        let (batch, rest) = contents.split_at(count.min(contents.len()));
        let names: Vec<&str> = batch.iter().map(|(name, _)| name.as_str()).collect();
        // A single content that is too large is cut off and not used.
        let bytes: u64 = batch.iter().map(|(_, size)| size + 200).sum();
        let bytes = bytes.min(BATCH_MAX + 200 * batch.len() as u64);
        // The rewind has begun, so a failure concerns only these files.
        let read = repository.cat_file("--batch", &names, bytes);
        let read = read.unwrap_or_default();
        let mut read = read.as_slice();
        for (step, (_, size)) in now.iter().zip(batch) {
            let written = match next_object(&mut read) {
                _ if *size > FILE_MAX => Err(TOO_LARGE.into()),
                Some(bytes) => write(directory, step, bytes, target),
                None => Err("its content cannot be read from git".into()),
            };
            report(&step.path, written);
        }
        (writes, contents) = (later, rest);
    }
    sync(directory.top());
    done
}

fn delete(directory: &SnapshotDirectory, path: &[u8]) -> Result<(), String> {
    if is_foreign(path) {
        return Err(FOREIGN.into());
    }
    let known = directory.known_state(path);
    if known.is_some_and(|state| state.size > FILE_MAX) {
        return Err(TOO_LARGE.into());
    }
    let (folder, name) = split(path);
    let opened = match open_below(directory.top(), folder) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        opened => opened.map_err(explain)?,
    };
    match state_of(&opened, name).map_err(explain)? {
        None => return Ok(()),
        Some(state) if Some(state) != known => return Err(CHANGED.into()),
        Some(_) => {}
    }
    unlinkat(&opened, name, AtFlags::empty()).map_err(explain)?;
    remove_empty(directory.top(), folder);
    Ok(())
}

/// Removes `folder` and the folders above it, up to the first one that is not empty.
fn remove_empty(top: &OwnedFd, folder: &[u8]) {
    let mut folder = folder;
    while !folder.is_empty() {
        let (above, name) = split(folder);
        let removed =
            open_below(top, above).and_then(|above| unlinkat(&above, name, AtFlags::REMOVEDIR));
        if removed.is_err() {
            return;
        }
        folder = above;
    }
}

const CHANGED: &str = "it has changed during the rewind";
const UNRECORDED: &str = "its present content is not recorded";
const FOREIGN: &str = "a rewind writes nothing there";
const TOO_LARGE: &str = "it is larger than 64 MiB";

fn write(
    directory: &SnapshotDirectory,
    step: &RewindStep,
    bytes: &[u8],
    target: &CheckpointMeta,
) -> Result<(), String> {
    let RewindAction::Write { kind, .. } = &step.action else {
        return Ok(());
    };
    if is_foreign(&step.path) {
        return Err(FOREIGN.into());
    }
    let (folder, name) = split(&step.path);
    let folder = make_folder(directory.top(), folder)?;
    let present = state_of(&folder, name).map_err(explain)?;
    let known = directory.known_state(&step.path);
    match (present, known) {
        (Some(present), Some(known)) if present == known => {}
        (Some(present), None) if is_folder(present) => {
            // Only folders without files are left here.
            let removed = unlinkat(&folder, name, AtFlags::REMOVEDIR);
            removed.map_err(|_| "a folder with unrecorded files is in its place".to_string())?;
        }
        (None, _) => {}
        (Some(_), None) => return Err(UNRECORDED.into()),
        (Some(_), Some(_)) => return Err(CHANGED.into()),
    }
    // git ignores files with such a name, so a file that is left behind by a crash is never committed.
    let temp = format!("{TEMPORARY}{}.tmp", uuid::Uuid::now_v7().simple());
    let made = make_file(
        &folder,
        &temp,
        bytes,
        *kind,
        present,
        target.is_private(&step.path),
    );
    // Writing can take long, so the file is looked at once more.
    let placed = made.and_then(|()| match present.filter(|state| !is_folder(*state)) {
        Some(present) if state_of(&folder, name).map_err(explain)? == Some(present) => {
            renameat(&folder, &*temp, &folder, name).map_err(explain)
        }
        Some(_) => Err(CHANGED.into()),
        None => rename_new(&folder, &temp, name),
    });
    placed.inspect_err(|_| {
        // The temporary file may not exist, and only the first error matters.
        let _ = unlinkat(&folder, &*temp, AtFlags::empty());
    })
}

/// Renames a file to a name that no file has yet.
#[cfg(target_os = "linux")]
fn rename_new(folder: &OwnedFd, from: &str, to: &[u8]) -> Result<(), String> {
    let flags = rustix::fs::RenameFlags::NOREPLACE;
    match rustix::fs::renameat_with(folder, from, folder, to, flags) {
        // The file system does not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(folder, from, folder, to).map_err(explain),
        Err(Errno::EXIST) => Err(UNRECORDED.into()),
        renamed => renamed.map_err(explain),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(folder: &OwnedFd, from: &str, to: &[u8]) -> Result<(), String> {
    match state_of(folder, to).map_err(explain)? {
        None => renameat(folder, from, folder, to).map_err(explain),
        Some(_) => Err(UNRECORDED.into()),
    }
}

fn make_file(
    folder: &OwnedFd,
    name: &str,
    bytes: &[u8],
    kind: WrittenKind,
    present: Option<DiskFileState>,
    is_private: bool,
) -> Result<(), String> {
    if kind == WrittenKind::Symlink {
        return symlinkat(bytes, folder, name).map_err(explain);
    }
    let run_bits = if kind == WrittenKind::Executable {
        0o111
    } else {
        0
    };
    let mode =
        if is_private { 0o600 } else { 0o666 } | run_bits & if is_private { 0o700 } else { 0o777 };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, mode_of(mode)).map_err(explain)?;
    if let Some(present) = present.filter(|present| !present.is_symlink() && !is_folder(*present)) {
        // Who may read the file may also run it.
        let read_bits = present.mode & 0o444;
        let run = if run_bits != 0 { read_bits >> 2 } else { 0 };
        let mode = present.mode & 0o666 | run;
        let mode = if is_private { mode & 0o700 } else { mode };
        fchmod(&file, mode_of(mode)).map_err(explain)?;
    }
    File::from(file)
        .write_all(bytes)
        .map_err(|e| os_errors::explain(&e))
}

/// Opens a folder and creates what is missing on its path.
fn make_folder(top: &OwnedFd, path: &[u8]) -> Result<OwnedFd, String> {
    let mut folder = openat(top, c".", folder_flags(), Mode::empty()).map_err(explain)?;
    for name in path
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
        match mkdirat(&folder, name, mode_of(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(explain(error)),
        }
        folder =
            openat(&folder, name, folder_flags(), Mode::empty()).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => {
                    "a file or a link is in the place of its folder".into()
                }
                error => explain(error),
            })?;
    }
    Ok(folder)
}

fn is_folder(state: DiskFileState) -> bool {
    state.file_type() == FileType::Directory
}

#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast)] // 16 bits on some platforms
fn mode_of(bits: u32) -> Mode {
    Mode::from_bits_truncate(bits as _)
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn explain(error: Errno) -> String {
    os_errors::explain(&error.into())
}

/// Makes sure that the written files survive a power failure before the rewind counts as finished.
#[cfg(target_os = "linux")]
fn sync(top: &OwnedFd) {
    // If this fails, the files are written later.
    let _ = rustix::fs::syncfs(top);
}

#[cfg(not(target_os = "linux"))]
fn sync(_: &OwnedFd) {
    rustix::fs::sync();
}
