//! Polls the task files. Keeps one fingerprint per file, so that a poll can report which tasks changed.
//!
//! A board may have thousands of files, and a crew changes a few of them at a time. Most polls therefore check only the
//! folder and the files with recent events. The more files there are, the less often all of them are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::board::{Which, is_task_file};
use super::super::print::Print;
use super::folders::{Identity, identity};
use super::net::Found;
use crate::domain::ids::TaskId;

/// Interval between full polls of a small board, if the system reports every change.
const SELDOM: Duration = Duration::from_secs(30);
/// The interval grows by one second for this many files, so full polls check at most this many files per second.
const FILES_A_SECOND: u64 = 100;
/// Most tasks reported by number. More changes are reported as the whole board.
const NAMED_MAX: usize = 1000;

/// Which files a poll checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// All task files.
    All,
    /// Files with events since the last poll and files that were too new. All files if the folder changed without events.
    Unsure,
}

/// The state of the task files at the last poll.
pub(super) struct TaskFiles {
    folder: PathBuf,
    identity: Option<Identity>,
    /// Fingerprint of the folder. It changes when a file is added, deleted or replaced.
    print: Print,
    prints: BTreeMap<TaskId, Print>,
    /// Files with events since the last poll, and files that were too new for a fingerprint.
    unsure: BTreeSet<TaskId>,
    /// Whether all files may have changed.
    is_lost: bool,
}

impl TaskFiles {
    /// Tracks the files in `folder`. The first poll reports the whole board.
    pub(super) fn new(folder: PathBuf) -> TaskFiles {
        TaskFiles {
            folder,
            identity: None,
            print: Print::default(),
            prints: BTreeMap::new(),
            unsure: BTreeSet::new(),
            is_lost: true,
        }
    }

    /// Returns the interval between full polls.
    pub(super) fn pause(&self) -> Duration {
        SELDOM + Duration::from_secs(self.prints.len() as u64 / FILES_A_SECOND)
    }

    /// Records an event that is being reported. The next poll reports these tasks again, because a second change right
    /// after the event could leave the same metadata.
    pub(super) fn heard(&mut self, which: &Which) {
        match which {
            Which::All => self.is_lost = true,
            Which::These(ids) => self.unsure.extend(ids),
        }
    }

    /// Checks files at `now`. Returns the tasks whose files changed or may have changed, or `None`.
    pub(super) fn look(&mut self, now: SystemTime, scope: Scope) -> (Option<Which>, Found) {
        let Ok(meta) = fs::metadata(&self.folder) else {
            self.is_lost = true;
            return (Some(Which::All), Found::Unsure);
        };
        let identity = identity(&self.folder);
        let is_replaced = identity != self.identity;
        // Without events since the last poll, the folder must be unchanged.
        let is_unheard = self.unsure.is_empty() && !self.print.fits(&meta);
        self.identity = identity;
        self.print = Print::of(&meta, now).unwrap_or_default();
        let ids = if scope == Scope::All || self.is_lost || is_replaced || is_unheard {
            let Some(mut ids) = list(&self.folder) else {
                self.is_lost = true;
                return (Some(Which::All), Found::Unsure);
            };
            ids.extend(self.prints.keys());
            ids.extend(&self.unsure);
            ids
        } else {
            self.unsure.clone()
        };
        let was_lost = std::mem::take(&mut self.is_lost);
        let mut found = Found::Heard;
        let mut told = BTreeSet::new();
        for id in ids {
            match self.look_at(id, now) {
                None => continue,
                Some(Found::Unheard) if !was_lost => found = Found::Unheard,
                Some(Found::Unsure) if found == Found::Heard => found = Found::Unsure,
                Some(_) => {}
            }
            told.insert(id);
        }
        let which = if was_lost || told.len() > NAMED_MAX {
            Some(Which::All)
        } else {
            (!told.is_empty()).then_some(Which::These(told))
        };
        (which, found)
    }

    /// Checks one file. Returns `None` if it is unchanged.
    fn look_at(&mut self, id: TaskId, now: SystemTime) -> Option<Found> {
        let path = self.folder.join(format!("task_{id}.json", id = id.0));
        let was_unsure = self.unsure.remove(&id);
        let Ok(meta) = fs::symlink_metadata(path) else {
            let was_there = self.prints.remove(&id).is_some();
            return match (was_unsure, was_there) {
                (true, _) => Some(Found::Heard),
                (false, true) => Some(Found::Unheard),
                (false, false) => None,
            };
        };
        let Some(print) = Print::of(&meta, now) else {
            // Its event may still arrive, so this does not count as a missed event.
            self.unsure.insert(id);
            self.prints.remove(&id);
            return Some(Found::Unsure);
        };
        let before = self.prints.insert(id, print);
        if was_unsure {
            Some(Found::Heard)
        } else {
            (before != Some(print)).then_some(Found::Unheard)
        }
    }
}

/// Returns the numbers of the task files in `folder`, or `None` if it cannot be read.
fn list(folder: &Path) -> Option<BTreeSet<TaskId>> {
    let entries = fs::read_dir(folder).ok()?;
    let mut ids = BTreeSet::new();
    for entry in entries {
        ids.extend(is_task_file(&entry.ok()?.file_name().to_string_lossy()));
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn these(ids: &[u64]) -> Which {
        Which::These(ids.iter().copied().map(TaskId).collect())
    }

    /// Returns a time at which the timestamps of all files are reliable.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    /// Creates a folder with `size` tasks and polls it once.
    fn known(size: u64) -> (tempfile::TempDir, TaskFiles) {
        let dir = tempfile::tempdir().unwrap();
        for id in 1..=size {
            write(&dir, id, "{}");
        }
        let mut files = TaskFiles::new(dir.path().to_path_buf());
        assert_eq!(
            files.look(later(), Scope::All),
            (Some(Which::All), Found::Heard)
        );
        (dir, files)
    }

    fn write(dir: &tempfile::TempDir, id: u64, text: &str) {
        fs::write(dir.path().join(format!("task_{id}.json")), text).unwrap();
    }

    #[test]
    fn partial_poll_checks_only_files_with_events() {
        let (dir, mut files) = known(9);
        write(&dir, 3, "{ }");
        // Written in place without an event: only a full poll finds it.
        write(&dir, 5, "{ }");
        files.heard(&these(&[3]));
        let young = files.look(SystemTime::now(), Scope::Unsure);
        assert_eq!(young, (Some(these(&[3])), Found::Unsure));
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[3])), Found::Heard)
        );
        assert_eq!(files.look(later(), Scope::Unsure), (None, Found::Heard));
        assert_eq!(
            files.look(later(), Scope::All),
            (Some(these(&[5])), Found::Unheard)
        );
        assert_eq!(files.look(later(), Scope::All), (None, Found::Heard));
    }

    #[test]
    fn folder_change_reveals_files_without_events() {
        let (dir, mut files) = known(3);
        write(&dir, 4, "{}");
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[4])), Found::Unheard)
        );
        fs::remove_file(dir.path().join("task_2.json")).unwrap();
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[2])), Found::Unheard)
        );
        // Written to a temporary file and renamed, as crewdeck and most editors do.
        fs::write(dir.path().join(".tmp-1"), "{ }").unwrap();
        fs::rename(dir.path().join(".tmp-1"), dir.path().join("task_1.json")).unwrap();
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(these(&[1])), Found::Unheard)
        );
        assert_eq!(files.look(later(), Scope::Unsure), (None, Found::Heard));
    }

    #[test]
    fn recreated_folder_is_polled_completely() {
        let (dir, mut files) = known(2);
        let aside = dir.path().with_extension("aside");
        fs::rename(dir.path(), &aside).unwrap();
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(Which::All), Found::Unsure)
        );
        fs::create_dir(dir.path()).unwrap();
        write(&dir, 7, "{}");
        assert_eq!(
            files.look(later(), Scope::Unsure),
            (Some(Which::All), Found::Heard)
        );
        assert_eq!(files.look(later(), Scope::All), (None, Found::Heard));
        fs::remove_dir_all(aside).unwrap();
    }

    /// Bounds the cost of an idle crew in file checks per second.
    #[test]
    fn full_polls_are_rarer_on_larger_boards() {
        let mut files = TaskFiles::new(PathBuf::new());
        for (count, seconds) in [(0, 30), (100, 31), (10_000, 130)] {
            files.prints = (0..count)
                .map(|id| (TaskId(id), Print::default()))
                .collect();
            assert_eq!(files.pause().as_secs(), seconds);
            assert!(count <= FILES_A_SECOND * seconds);
        }
    }
}
