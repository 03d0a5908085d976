//! Finds the files of a work directory that a snapshot contains, with their states. Reads no contents.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat, openat, statat};
use rustix::io::Errno;

use super::error::CheckpointError;
use super::files::{self, folder_flags, open_below};
use super::known::{DiskFileState, KnownFiles, ScannedFile, join};
use super::rules::IgnoreRules;
use crate::domain::folders::is_reserved;

/// Maximum number of files in a work directory. A larger directory gets no checkpoints.
const FILES_MAX: usize = 500_000;
/// Maximum number of ignored files and folders that are remembered. A rewind cannot tell the further ones from files
/// that were created later.
const IGNORED_MAX: usize = 50_000;
/// The number of folders that are scanned before other threads are started to help.
const ALONE_MAX: usize = 16;
/// Maximum number of threads of one scan.
const THREADS_MAX: usize = 4;

/// The files of a work directory.
#[derive(Debug, Default)]
pub struct DirectoryScan {
    /// The files by folder, each list sorted by name.
    pub folders: HashMap<Box<[u8]>, Vec<ScannedFile>>,
    /// Files and folders that git ignores, sorted. What is below an ignored folder is not listed.
    pub ignored: Vec<Vec<u8>>,
    /// Folders that are not recorded, sorted: they could not be read, or are repositories of their own.
    pub unreadable: Vec<Vec<u8>>,
}

/// A folder to scan.
struct ScannedFolder {
    path: Vec<u8>,
    rules: IgnoreRules,
    /// Whether git ignores the folder. It is then scanned only for tracked files.
    is_ignored: bool,
}

struct ScanQueue<'a> {
    top: &'a OwnedFd,
    known: &'a KnownFiles,
    state: Mutex<ScanState>,
    has_changed: Condvar,
}

struct ScanState {
    waiting: Vec<ScannedFolder>,
    /// The number of folders that are being scanned.
    running: usize,
    count: usize,
    done: DirectoryScan,
    error: Option<CheckpointError>,
}

/// Scans the work directory `top`. Tracked files are found even if git ignores their names. Nested repositories,
/// and the folders of crewdeck in the top folder, are left out.
///
/// # Errors
/// When the work directory cannot be read or has more than [`FILES_MAX`] files.
pub fn scan(
    top: &OwnedFd,
    known: &KnownFiles,
    rules: IgnoreRules,
) -> Result<DirectoryScan, CheckpointError> {
    let first = ScannedFolder {
        path: Vec::new(),
        rules,
        is_ignored: false,
    };
    let queue = ScanQueue {
        top,
        known,
        state: Mutex::new(ScanState {
            waiting: vec![first],
            running: 0,
            count: 0,
            done: DirectoryScan::default(),
            error: None,
        }),
        has_changed: Condvar::new(),
    };
    for _ in 0..ALONE_MAX {
        if !queue.scan_next() {
            break;
        }
    }
    if !queue.lock().waiting.is_empty() {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 1..threads.min(THREADS_MAX) {
                scope.spawn(|| while queue.scan_next() {});
            }
            while queue.scan_next() {}
        });
    }
    let state = queue
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = state.error {
        return Err(error);
    }
    let mut done = state.done;
    done.ignored.sort();
    done.unreadable.sort();
    Ok(done)
}

impl ScanQueue<'_> {
    fn lock(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scans one folder. Returns false if all folders are scanned.
    fn scan_next(&self) -> bool {
        let mut state = self.lock();
        let folder = loop {
            if state.error.is_some() {
                return false;
            }
            if let Some(folder) = state.waiting.pop() {
                break folder;
            }
            if state.running == 0 {
                return false;
            }
            state = self
                .has_changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        state.running += 1;
        drop(state);
        let scanned = self.scan_folder(&folder);
        let mut state = self.lock();
        state.running -= 1;
        match scanned {
            Ok(mut scanned) => {
                state.count += scanned.files.len();
                state.waiting.append(&mut scanned.folders);
                let room = IGNORED_MAX.saturating_sub(state.done.ignored.len());
                state
                    .done
                    .ignored
                    .extend(scanned.ignored.into_iter().take(room));
                if scanned.is_unreadable {
                    state.done.unreadable.push(folder.path.clone());
                }
                if !scanned.files.is_empty() {
                    let path = folder.path.into_boxed_slice();
                    state.done.folders.insert(path, scanned.files);
                }
                if state.count > FILES_MAX {
                    state.error = Some(CheckpointError::TooManyFiles(FILES_MAX));
                }
            }
            Err(error) => state.error = Some(error),
        }
        self.has_changed.notify_all();
        true
    }

    fn scan_folder(&self, folder: &ScannedFolder) -> Result<FolderContent, CheckpointError> {
        let is_top = folder.path.is_empty();
        let mut out = FolderContent::default();
        let opened = open_below(self.top, &folder.path)
            .and_then(|fd| Ok((openat(&fd, c".", folder_flags(), Mode::empty())?, fd)));
        let (list, fd) = match opened {
            Ok((list, fd)) => (list, fd),
            // The folder was removed or replaced since its parent was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !is_top => return Ok(out),
            Err(Errno::ACCESS | Errno::PERM) if !is_top => {
                out.is_unreadable = true;
                return Ok(out);
            }
            Err(error) => return Err(CheckpointError::read(&folder.path, error)),
        };
        let mut entries: Vec<(Box<[u8]>, FileType)> = Vec::new();
        let read = Dir::new(list).map_err(|e| CheckpointError::read(&folder.path, e))?;
        for entry in read {
            let entry = entry.map_err(|e| CheckpointError::read(&folder.path, e))?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if name.eq_ignore_ascii_case(b".git") {
                if !is_top && files::is_repository(&fd, name) {
                    let is_submodule = self.known.submodules.contains(&folder.path);
                    return Ok(FolderContent {
                        is_unreadable: !is_submodule,
                        ..FolderContent::default()
                    });
                }
                continue;
            }
            entries.push((name.into(), entry.file_type()));
        }
        let own = entries.iter().any(|(name, _)| **name == *b".gitignore");
        let own = own.then(|| files::read_small(&fd, b".gitignore")).flatten();
        let rules = match own {
            Some(text) => folder.rules.with_file(&folder.path, &text),
            None => folder.rules.clone(),
        };
        let known = self.known.files(&folder.path);
        for (name, kind) in entries {
            if is_top && std::str::from_utf8(&name).is_ok_and(is_reserved) {
                continue;
            }
            let path = join(&folder.path, &name);
            let is_ignored = |is_folder| folder.is_ignored || rules.ignore(&path, is_folder);
            let stat = || statat(&fd, &*name, AtFlags::SYMLINK_NOFOLLOW).ok();
            // Some file systems do not say in the list what an entry is.
            let kind = match kind {
                FileType::Unknown => stat().map(|stat| FileType::from_raw_mode(stat.st_mode)),
                kind => Some(kind),
            };
            match kind {
                Some(FileType::Directory) => {
                    let is_ignored = is_ignored(true);
                    if is_ignored {
                        out.ignored.push(path.clone());
                    }
                    if !is_ignored || self.known.has_folder(&path) {
                        out.folders.push(ScannedFolder {
                            path,
                            rules: rules.clone(),
                            is_ignored,
                        });
                    }
                }
                Some(FileType::RegularFile | FileType::Symlink) => {
                    let at = known.binary_search_by(|file| file.name.cmp(&name)).ok();
                    let is_tracked = at
                        .and_then(|at| known.get(at))
                        .is_some_and(|f| f.is_tracked);
                    if !is_tracked && is_ignored(false) {
                        out.ignored.push(path);
                        continue;
                    }
                    // A file that was removed since the list was read is missing; one that was replaced by a folder is
                    // found by the next scan.
                    let is_file = |stat: &Stat| !FileType::from_raw_mode(stat.st_mode).is_dir();
                    if let Some(stat) = stat().filter(is_file) {
                        let state = DiskFileState::of(&stat);
                        out.files.push(ScannedFile { name, state });
                    }
                }
                // Pipes, sockets and devices.
                _ => {}
            }
        }
        out.files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(out)
    }
}

/// The content of one folder.
#[derive(Default)]
struct FolderContent {
    files: Vec<ScannedFile>,
    folders: Vec<ScannedFolder>,
    ignored: Vec<Vec<u8>>,
    is_unreadable: bool,
}
