//! Finds what has changed in a work directory since its last snapshot. Looks at the state of each file; reads no contents.
//!
//! Several threads scan folders and compare them with the [`KnownFiles`] at once. A large directory has few changes, so
//! nothing is allocated or collected for a file that is as it was.

use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{AtFlags, FileType, Stat, statat};
use rustix::io::Errno;

use super::error::CheckpointError;
use super::files::{self, FolderReader, open_below};
use super::known::{DiskFileState, KnownContent, KnownCursor, KnownFile, KnownFiles, PathBuffer};
use super::rules::IgnoreRules;
use super::watch::DirectoryWatch;
use crate::domain::folders::is_reserved;

/// Maximum number of files in a work directory. A larger directory gets no checkpoints.
const FILES_MAX: usize = 500_000;
/// Maximum number of ignored files and folders that are remembered. A rewind cannot tell the further ones from files
/// that were created later.
const IGNORED_MAX: usize = 50_000;
/// Maximum number of files of which a snapshot records that only their owner may read them.
const PRIVATE_MAX: usize = 10_000;
/// The number of folders that are scanned before other threads are started to help.
const ALONE_MAX: usize = 16;
/// Maximum number of threads of one scan.
const THREADS_MAX: usize = 4;
/// The depth down to which a folder stays open until the folders in it are scanned, so that their paths need not be
/// resolved from the top. Each thread keeps at most this number of folders open.
const OPEN_DEPTH_MAX: usize = 8;

/// What a scan has found. All lists are sorted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DirectoryScan {
    /// New files, and files whose content must be read again, with their states.
    pub changed: Vec<(Vec<u8>, DiskFileState)>,
    /// Known files that no longer exist or that git ignores now. Includes those in unreadable folders.
    pub gone: Vec<Vec<u8>>,
    /// Files and folders that git ignores. What is below an ignored folder is not listed.
    pub ignored: Vec<Vec<u8>>,
    /// Folders that are not recorded: they could not be read, or are repositories of their own.
    pub unreadable: Vec<Vec<u8>>,
    /// Files that only their owner may read.
    pub private: Vec<Vec<u8>>,
    /// Whether more may change than the kernel reports: a folder was replaced while it was scanned, or has a `.git` that
    /// does not make it a repository yet.
    pub is_unsteady: bool,
}

/// A folder to scan.
pub struct ScannedFolder {
    path: Vec<u8>,
    /// An open folder above this one.
    base: Arc<OwnedFd>,
    /// The part of `path` that is below `base`.
    below: Range<usize>,
    depth: usize,
    rules: IgnoreRules,
    /// Whether git ignores the folder. It is then scanned only for tracked files.
    is_ignored: bool,
}

struct ScanQueue<'a> {
    known: &'a KnownFiles,
    /// Learns of each folder before it is read.
    watch: Option<&'a DirectoryWatch>,
    state: Mutex<ScanState>,
    has_changed: Condvar,
    /// The number of files so far.
    count: AtomicUsize,
}

struct ScanState {
    waiting: Vec<ScannedFolder>,
    /// The number of folders that are being scanned.
    running: usize,
    error: Option<CheckpointError>,
}

/// Scans the work directory `top` and compares it with what is known. Tracked files are found even if git ignores their
/// names. Nested repositories, and the folders of crewdeck in the top folder, are left out. `watch` gets all folders that
/// are scanned.
///
/// # Errors
/// When the work directory cannot be read or has more than [`FILES_MAX`] files.
pub fn scan(
    top: &OwnedFd,
    known: &KnownFiles,
    rules: IgnoreRules,
    watch: Option<&DirectoryWatch>,
) -> Result<DirectoryScan, CheckpointError> {
    let top = open_below(top, b"").map_err(|error| CheckpointError::read(b"", error))?;
    let first = ScannedFolder::below(&Arc::new(top), b"", rules, false);
    let queue = ScanQueue::new(known, watch, vec![first]);
    let mut own = FolderScanner::new(&queue);
    let is_done = (0..ALONE_MAX).any(|_| !own.scan_next());
    let mut found = own.found;
    if !is_done {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let scan_all = || {
            let mut scanner = FolderScanner::new(&queue);
            while scanner.scan_next() {}
            scanner.found
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(THREADS_MAX))
                .map(|_| scope.spawn(scan_all))
                .collect();
            found.append(scan_all());
            for other in others {
                match other.join() {
                    Ok(other) => found.append(other),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
    let state = queue
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = state.error {
        return Err(error);
    }
    found.add_missing_folders(known);
    Ok(found.sorted())
}

/// Scans single folders, not what is below them: see [`scan`].
///
/// # Errors
/// When a folder cannot be read.
pub fn scan_folders(
    known: &KnownFiles,
    folders: Vec<ScannedFolder>,
) -> Result<DirectoryScan, CheckpointError> {
    let queue = ScanQueue::new(known, None, Vec::new());
    let mut scanner = FolderScanner::new(&queue);
    for folder in folders {
        scanner.scan_folder(folder)?;
        scanner.folders.clear();
    }
    Ok(scanner.found.sorted())
}

/// The results of one thread.
#[derive(Default)]
struct FolderFindings {
    scan: DirectoryScan,
    /// The folders with known files that were scanned.
    visited: Vec<Vec<u8>>,
}

impl FolderFindings {
    fn append(&mut self, mut other: FolderFindings) {
        let (all, new) = (&mut self.scan, &mut other.scan);
        all.changed.append(&mut new.changed);
        all.gone.append(&mut new.gone);
        all.ignored.append(&mut new.ignored);
        all.unreadable.append(&mut new.unreadable);
        all.private.append(&mut new.private);
        all.is_unsteady |= new.is_unsteady;
        self.visited.append(&mut other.visited);
    }

    /// Adds the known files in folders that no longer exist.
    fn add_missing_folders(&mut self, known: &KnownFiles) {
        self.visited.sort_unstable();
        // A folder that is renamed during the scan can be listed twice.
        self.visited.dedup();
        if self.visited.len() < known.folder_count() {
            known.add_files_outside(&self.visited, &mut self.scan.gone);
        }
    }

    fn sorted(self) -> DirectoryScan {
        let mut scan = self.scan;
        scan.changed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for list in [
            &mut scan.gone,
            &mut scan.ignored,
            &mut scan.unreadable,
            &mut scan.private,
        ] {
            list.sort_unstable();
        }
        scan.limit();
        scan
    }
}

impl<'a> ScanQueue<'a> {
    fn new(
        known: &'a KnownFiles,
        watch: Option<&'a DirectoryWatch>,
        waiting: Vec<ScannedFolder>,
    ) -> ScanQueue<'a> {
        ScanQueue {
            known,
            watch,
            state: Mutex::new(ScanState {
                waiting,
                running: 0,
                error: None,
            }),
            has_changed: Condvar::new(),
            count: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ScanState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next folder. Waits while other threads may find more. Returns `None` if all folders are scanned.
    fn take(&self) -> Option<ScannedFolder> {
        let mut state = self.lock();
        loop {
            if state.error.is_some() {
                return None;
            }
            if let Some(folder) = state.waiting.pop() {
                state.running += 1;
                return Some(folder);
            }
            if state.running == 0 {
                return None;
            }
            state = self
                .has_changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the scan of a folder in which `folders` were found.
    fn finish(&self, scanned: Result<(), CheckpointError>, folders: &mut Vec<ScannedFolder>) {
        let mut state = self.lock();
        state.running -= 1;
        let has_more = !folders.is_empty();
        state.waiting.append(folders);
        if let Err(error) = scanned {
            state.error = Some(error);
        }
        let is_over = state.error.is_some() || (state.waiting.is_empty() && state.running == 0);
        drop(state);
        if has_more || is_over {
            self.has_changed.notify_all();
        }
    }
}

/// Scans folders on one thread. The buffers are used again for each folder.
struct FolderScanner<'a> {
    queue: &'a ScanQueue<'a>,
    found: FolderFindings,
    reader: FolderReader,
    /// The names in the folder, each with a NUL byte at its end.
    names: Vec<u8>,
    entries: Vec<(Range<usize>, FileType)>,
    /// Which of the known files of the folder exist.
    seen: Vec<bool>,
    folders: Vec<ScannedFolder>,
}

/// What a folder is, by its list of names.
enum FolderKind {
    Folder { has_rules: bool },
    Repository,
}

impl<'a> FolderScanner<'a> {
    fn new(queue: &'a ScanQueue<'a>) -> FolderScanner<'a> {
        FolderScanner {
            queue,
            found: FolderFindings::default(),
            reader: FolderReader::default(),
            names: Vec::new(),
            entries: Vec::new(),
            seen: Vec::new(),
            folders: Vec::new(),
        }
    }

    /// Scans one folder. Returns false if all folders are scanned.
    fn scan_next(&mut self) -> bool {
        let Some(folder) = self.queue.take() else {
            return false;
        };
        let scanned = self.scan_folder(folder);
        self.queue.finish(scanned, &mut self.folders);
        true
    }

    fn scan_folder(&mut self, folder: ScannedFolder) -> Result<(), CheckpointError> {
        let is_top = folder.path.is_empty();
        let below = folder.path.get(folder.below.clone()).unwrap_or_default();
        let fd = match open_below(&folder.base, below) {
            Ok(fd) => Arc::new(fd),
            // The folder was removed or replaced since its parent was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !is_top => {
                self.found.scan.is_unsteady = true;
                return Ok(());
            }
            Err(Errno::ACCESS | Errno::PERM) if !is_top => {
                self.found.scan.unreadable.push(folder.path);
                return Ok(());
            }
            Err(error) => return Err(CheckpointError::read(&folder.path, error)),
        };
        if let Some(watch) = self.queue.watch {
            watch.add(&fd, &folder.path);
        }
        let kind = self.list(&fd, is_top);
        let has_rules = match kind.map_err(|e| CheckpointError::read(&folder.path, e))? {
            FolderKind::Folder { has_rules } => has_rules,
            FolderKind::Repository => {
                if !self.queue.known.submodules.contains(&folder.path) {
                    self.found.scan.unreadable.push(folder.path);
                }
                return Ok(());
            }
        };
        let own = has_rules.then(|| files::read_small(&fd, b".gitignore"));
        let rules = match own.flatten() {
            Some(text) => folder.rules.with_file(&folder.path, &text),
            None => folder.rules.clone(),
        };
        let here = ScannedFolder { rules, ..folder };
        self.compare(&fd, here)
    }

    /// Reads the names in a folder.
    fn list(&mut self, fd: &OwnedFd, is_top: bool) -> Result<FolderKind, Errno> {
        let (names, entries) = (&mut self.names, &mut self.entries);
        names.clear();
        entries.clear();
        let mut has_rules = false;
        let mut has_git = false;
        let mut is_repository = false;
        self.reader.read(fd, |name, kind| {
            let bytes = name.to_bytes();
            if matches!(bytes, b"." | b"..") {
                return;
            }
            if bytes.eq_ignore_ascii_case(b".git") {
                has_git |= !is_top;
                is_repository |= !is_top && files::is_repository(fd, bytes);
                return;
            }
            has_rules |= bytes == b".gitignore";
            let start = names.len();
            names.extend_from_slice(name.to_bytes_with_nul());
            entries.push((start..names.len(), kind));
        })?;
        self.found.scan.is_unsteady |= has_git && !is_repository;
        // Sorted as the known files, both are passed through once.
        entries.sort_unstable_by(|a, b| name_at(names, &a.0).cmp(name_at(names, &b.0)));
        Ok(if is_repository {
            FolderKind::Repository
        } else {
            FolderKind::Folder { has_rules }
        })
    }

    /// Compares the names in the folder `here`, whose rules include its own, with what is known.
    fn compare(&mut self, fd: &Arc<OwnedFd>, here: ScannedFolder) -> Result<(), CheckpointError> {
        let is_top = here.path.is_empty();
        let all_known = self.queue.known;
        let mut known = KnownCursor::new(all_known.files(&here.path), &mut self.seen);
        let scan = &mut self.found.scan;
        let mut path = PathBuffer::new(&here.path);
        let mut count = 0;
        for (range, kind) in self.entries.drain(..) {
            let Ok(c_name) = CStr::from_bytes_with_nul(name_at(&self.names, &range)) else {
                continue;
            };
            let name = c_name.to_bytes();
            if is_top && std::str::from_utf8(name).is_ok_and(is_reserved) {
                continue;
            }
            let stat = || statat(fd, c_name, AtFlags::SYMLINK_NOFOLLOW).ok();
            // Some file systems do not say in the list what an entry is.
            let kind = match kind {
                FileType::Unknown => stat().map(|stat| FileType::from_raw_mode(stat.st_mode)),
                kind => Some(kind),
            };
            match kind {
                Some(FileType::Directory) => {
                    let path = path.of(name);
                    let is_ignored = here.is_ignored || here.rules.ignore(path, true);
                    if is_ignored {
                        scan.add_ignored(path);
                    }
                    if !is_ignored || all_known.has_folder(path) {
                        self.folders.push(here.folder_in(fd, path, is_ignored));
                    }
                }
                Some(FileType::RegularFile | FileType::Symlink) => {
                    let file = known.find(name);
                    let is_tracked = file.is_some_and(|file| file.is_tracked);
                    if !is_tracked && (here.is_ignored || here.rules.ignore(path.of(name), false)) {
                        scan.add_ignored(path.of(name));
                        continue;
                    }
                    // A file that was removed since the list was read is missing; one that was replaced by a folder is
                    // found by the next scan.
                    let is_file = |stat: &Stat| !FileType::from_raw_mode(stat.st_mode).is_dir();
                    let Some(stat) = stat().filter(is_file) else {
                        continue;
                    };
                    count += 1;
                    let state = DiskFileState::of(&stat);
                    if file.is_some() {
                        known.mark_seen();
                    }
                    let is_same = file.is_some_and(|file| file.is_same(&state));
                    if !is_same {
                        scan.changed.push((path.of(name).to_vec(), state));
                    }
                    if state.is_private() && scan.private.len() < PRIVATE_MAX {
                        scan.private.push(path.of(name).to_vec());
                    }
                }
                // Pipes, sockets and devices.
                _ => {}
            }
        }
        let was_there = |file: &&KnownFile| !matches!(file.content, KnownContent::Gone);
        let gone = known.unseen().filter(was_there);
        scan.gone
            .extend(gone.map(|file| path.of(&file.name).to_vec()));
        if all_known.has_folder(&here.path) {
            self.found.visited.push(here.path);
        }
        if self.queue.count.fetch_add(count, Ordering::Relaxed) + count > FILES_MAX {
            return Err(CheckpointError::TooManyFiles(FILES_MAX));
        }
        Ok(())
    }
}

impl DirectoryScan {
    /// Shortens the lists that are too long.
    pub fn limit(&mut self) {
        self.ignored.truncate(IGNORED_MAX);
        self.private.truncate(PRIVATE_MAX);
    }

    fn add_ignored(&mut self, path: &[u8]) {
        if self.ignored.len() < IGNORED_MAX {
            self.ignored.push(path.to_vec());
        }
    }
}

fn name_at<'a>(names: &'a [u8], range: &Range<usize>) -> &'a [u8] {
    names.get(range.clone()).unwrap_or_default()
}

impl ScannedFolder {
    /// Returns the folder at `path` below the top folder. `rules` are those of the folder without its own.
    pub fn below(
        top: &Arc<OwnedFd>,
        path: &[u8],
        rules: IgnoreRules,
        is_ignored: bool,
    ) -> ScannedFolder {
        ScannedFolder {
            path: path.to_vec(),
            base: Arc::clone(top),
            below: 0..path.len(),
            depth: 0,
            rules,
            is_ignored,
        }
    }

    /// Returns the folder at `path` in this folder, which is open as `fd`.
    fn folder_in(&self, fd: &Arc<OwnedFd>, path: &[u8], is_ignored: bool) -> ScannedFolder {
        let is_kept_open = self.depth < OPEN_DEPTH_MAX;
        let own_start = match self.path.len() {
            0 => 0,
            len => len + 1,
        };
        ScannedFolder {
            path: path.to_vec(),
            base: Arc::clone(if is_kept_open { fd } else { &self.base }),
            below: if is_kept_open {
                own_start..path.len()
            } else {
                self.below.start..path.len()
            },
            depth: self.depth + 1,
            rules: self.rules.clone(),
            is_ignored,
        }
    }
}
