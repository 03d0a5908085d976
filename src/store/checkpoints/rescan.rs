//! Scans a work directory again and again. Looks only at the folders that have changed since the last scan, if that is known
//! for certain.

use std::collections::{BTreeSet, HashMap};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::error::CheckpointError;
use super::files::{self, open_below};
use super::known::{KnownContent, KnownFiles, split};
use super::rules::IgnoreRules;
use super::scan::{DirectoryScan, ScannedFolder, scan, scan_folders};
use super::watch::{DirectoryWatch, FolderChanges};

/// The number of files from which on a directory is watched. The scan of a smaller one takes a few milliseconds. Tests have
/// small directories.
const WATCHED_FILES_MIN: usize = if cfg!(test) { 1 } else { 5_000 };
/// Time after which all folders are scanned again, because a few changes are not reported: see [`super::watch`].
const FULL_SCAN_AFTER: Duration = Duration::from_secs(60);

/// Which folders a scan looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanScope {
    /// All folders.
    All,
    /// Those that have changed, if it is known which ones these are.
    Changed,
}

/// What is known between two scans of a directory.
#[derive(Default)]
pub struct Rescan {
    watch: WatchState,
    last: Option<LastScan>,
}

#[derive(Default)]
enum WatchState {
    #[default]
    None,
    Running(DirectoryWatch),
    /// The directory cannot be watched, or has too many folders.
    Unavailable,
}

/// The last scan. Only its lists of files that are not recorded are needed again.
struct LastScan {
    ignored: Vec<Vec<u8>>,
    unreadable: Vec<Vec<u8>>,
    private: Vec<Vec<u8>>,
    /// When all folders were scanned.
    full_at: Instant,
    /// The patterns that apply in all folders.
    patterns: Vec<Vec<u8>>,
    /// The folders with files that the next scan must look at even if they have not changed. `None` until
    /// [`Rescan::settle`].
    unsettled: Option<BTreeSet<Vec<u8>>>,
}

impl Rescan {
    /// Scans the work directory `top`: see [`scan`]. `patterns` are those of the user and the repository.
    ///
    /// # Errors
    /// As [`scan`].
    pub fn scan(
        &mut self,
        top: &OwnedFd,
        known: &KnownFiles,
        patterns: Vec<Vec<u8>>,
        scope: ScanScope,
    ) -> Result<DirectoryScan, CheckpointError> {
        let rules = IgnoreRules::new(&patterns);
        let last = self.last.take();
        if scope == ScanScope::All {
            return scan(top, known, rules, None);
        }
        if let Some(last) = last
            && last.patterns == patterns
            && last.full_at.elapsed() < FULL_SCAN_AFTER
            && let Some(folders) = self.changed_folders(&last)
        {
            let found = rescan(top, known, rules.clone(), &folders)?;
            if !found.is_unsteady && last.has_unreadable(&found.unreadable) {
                let found = last.complete(found, &folders);
                self.remember(&found, patterns, last.full_at);
                return Ok(found);
            }
        }
        let full_at = Instant::now();
        let found = scan(top, known, rules, self.begin_watch(top, known))?;
        if let WatchState::Running(watch) = &mut self.watch {
            if watch.end() {
                self.remember(&found, patterns, full_at);
            } else {
                self.watch = WatchState::Unavailable;
            }
        }
        Ok(found)
    }

    /// Makes the next scan look at all folders.
    pub fn forget_last(&mut self) {
        self.last = None;
    }

    /// Records that a snapshot was taken after the last scan, and what is known now about each of its changed files. If this
    /// is not called, the next scan looks at all folders.
    pub fn settle(&mut self, updates: &[(Vec<u8>, Option<KnownContent>)]) {
        if let Some(last) = &mut self.last {
            let is_settled =
                |content: &Option<_>| content.as_ref().is_none_or(KnownContent::is_settled);
            let unsettled = updates.iter().filter(|(_, content)| !is_settled(content));
            last.unsettled = Some(unsettled.map(|(path, _)| split(path).0.to_vec()).collect());
        }
    }

    #[cfg(test)]
    pub fn is_watched(&self) -> bool {
        matches!(self.watch, WatchState::Running(_))
    }

    /// Lets `time` pass since the last scan of all folders.
    #[cfg(test)]
    pub fn let_time_pass(&mut self, time: Duration) {
        if let Some(last) = &mut self.last
            && let Some(full_at) = last.full_at.checked_sub(time)
        {
            last.full_at = full_at;
        }
    }

    fn changed_folders(&mut self, last: &LastScan) -> Option<BTreeSet<Vec<u8>>> {
        let WatchState::Running(watch) = &mut self.watch else {
            return None;
        };
        let unsettled = last.unsettled.as_ref()?;
        match watch.changes() {
            FolderChanges::In(mut folders) => {
                folders.extend(unsettled.iter().cloned());
                Some(folders)
            }
            FolderChanges::Unknown => None,
        }
    }

    fn begin_watch(&mut self, top: &OwnedFd, known: &KnownFiles) -> Option<&DirectoryWatch> {
        if matches!(self.watch, WatchState::None) && known.file_count() >= WATCHED_FILES_MIN {
            self.watch = match DirectoryWatch::start(top) {
                Some(watch) => WatchState::Running(watch),
                None => WatchState::Unavailable,
            };
        }
        match &mut self.watch {
            WatchState::Running(watch) => {
                watch.begin();
                Some(watch)
            }
            WatchState::None | WatchState::Unavailable => None,
        }
    }

    fn remember(&mut self, found: &DirectoryScan, patterns: Vec<Vec<u8>>, full_at: Instant) {
        if found.is_unsteady {
            return;
        }
        self.last = Some(LastScan {
            ignored: found.ignored.clone(),
            unreadable: found.unreadable.clone(),
            private: found.private.clone(),
            full_at,
            patterns,
            unsettled: None,
        });
    }
}

impl LastScan {
    fn has_unreadable(&self, folders: &[Vec<u8>]) -> bool {
        let mut folders = folders.iter();
        folders.all(|folder| self.unreadable.binary_search(folder).is_ok())
    }

    /// Adds what this scan has found in all folders but `folders`.
    fn complete(&self, mut found: DirectoryScan, folders: &BTreeSet<Vec<u8>>) -> DirectoryScan {
        for (all, new) in [
            (&self.ignored, &mut found.ignored),
            (&self.private, &mut found.private),
        ] {
            let is_elsewhere = |path: &&Vec<u8>| !folders.contains(split(path).0);
            new.extend(all.iter().filter(is_elsewhere).cloned());
            new.sort_unstable();
        }
        found.limit();
        // Folders, which are as they were.
        found.unreadable.clone_from(&self.unreadable);
        found
    }
}

/// Scans only `folders`, not what is below them.
fn rescan(
    top: &OwnedFd,
    known: &KnownFiles,
    rules: IgnoreRules,
    folders: &BTreeSet<Vec<u8>>,
) -> Result<DirectoryScan, CheckpointError> {
    let top = open_below(top, b"").map_err(|error| CheckpointError::read(b"", error))?;
    let mut above = RulesAbove {
        top: Arc::new(top),
        first: rules,
        known: HashMap::new(),
    };
    let folders = folders.iter().map(|path| above.folder(path));
    let folders: Vec<ScannedFolder> = folders.collect();
    scan_folders(known, folders)
}

/// The rules of folders and whether git ignores the folders, read once for each.
struct RulesAbove {
    top: Arc<OwnedFd>,
    /// The rules of the top folder without its own.
    first: IgnoreRules,
    known: HashMap<Vec<u8>, (IgnoreRules, bool)>,
}

impl RulesAbove {
    fn folder(&mut self, path: &[u8]) -> ScannedFolder {
        let (rules, is_ignored) = self.of(path);
        ScannedFolder::below(&self.top, path, rules, is_ignored)
    }

    /// Returns the rules of a folder without its own file of rules, and whether git ignores the folder.
    fn of(&mut self, path: &[u8]) -> (IgnoreRules, bool) {
        if path.is_empty() {
            return (self.first.clone(), false);
        }
        let (rules, is_above_ignored) = self.inside(split(path).0);
        let is_ignored = is_above_ignored || rules.ignore(path, true);
        (rules, is_ignored)
    }

    /// Returns the rules of a folder with its own file of rules, and whether git ignores the folder.
    fn inside(&mut self, path: &[u8]) -> (IgnoreRules, bool) {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let (rules, is_ignored) = self.of(path);
        let own = open_below(&self.top, path)
            .and_then(|folder| files::read_small(&folder, b".gitignore").ok_or(Errno::NOENT));
        let rules = own.map_or_else(|_| rules.clone(), |text| rules.with_file(path, &text));
        let inside = (rules, is_ignored);
        self.known.insert(path.to_vec(), inside.clone());
        inside
    }
}
