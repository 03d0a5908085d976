//! Polls the task files. Keeps one fingerprint per file, so that a poll can report which tasks changed.
//!
//! A board may have thousands of files, and a crew changes a few of them at a time. Most polls therefore check only the
//! folder and the files with recent events. The more files there are, the less often all of them are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::super::board::{TaskSet, task_of_file_name};
use super::super::file_fingerprint::FileFingerprint;
use super::identity::{FolderId, identity};
use crate::domain::ids::TaskId;

/// Interval between full polls of a small board, if the system reports every change.
const FULL_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of task files that full polls check per second, on average. One second is therefore added to
/// [`FULL_POLL_INTERVAL`] for every `FILES_PER_SECOND` task files.
const FILES_PER_SECOND: u64 = 100;
/// Maximum number of tasks that are reported by number. More changed tasks are reported as a change of the whole board.
const NAMED_MAX: usize = 1000;

/// What a poll says about the reliability of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollOutcome {
    /// There were no changes, or each change had an event.
    Expected,
    /// There was a change without an event, so an event was lost.
    Missed,
    /// A file cannot be checked, or it is so new that a further change could leave the same metadata.
    Uncertain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollScope {
    All,
    /// Only the files that had an event since the last poll, and the files that were too new for a fingerprint. All
    /// files if the folder has changed without an event.
    Uncertain,
}

/// The state of the task files at the last poll.
pub(super) struct TaskFiles {
    folder: PathBuf,
    identity: Option<FolderId>,
    /// Fingerprint of the folder. This fingerprint changes when a file is added, deleted or replaced.
    fingerprint: FileFingerprint,
    fingerprints: BTreeMap<TaskId, FileFingerprint>,
    /// Files that had an event since the last poll, and files that were too new for a fingerprint.
    uncertain: BTreeSet<TaskId>,
    /// Whether any file may have changed, so that the next poll reports the whole board.
    is_unknown: bool,
    /// Number of files that polls have checked so far.
    #[cfg(test)]
    checked: usize,
}

impl TaskFiles {
    /// Creates the state for the task files in `folder`. The first poll reports the whole board.
    pub(super) fn new(folder: PathBuf) -> TaskFiles {
        TaskFiles {
            folder,
            identity: None,
            fingerprint: FileFingerprint::default(),
            fingerprints: BTreeMap::new(),
            uncertain: BTreeSet::new(),
            is_unknown: true,
            #[cfg(test)]
            checked: 0,
        }
    }

    /// Returns [`FULL_POLL_INTERVAL`] for a small board, more for a large one: see [`FILES_PER_SECOND`].
    pub(super) fn full_poll_interval(&self) -> Duration {
        FULL_POLL_INTERVAL + Duration::from_secs(self.fingerprints.len() as u64 / FILES_PER_SECOND)
    }

    /// Records that the tasks in `which` are being reported because of an event. The next poll reports them again,
    /// because a second change right after the event could leave the same metadata.
    pub(super) fn record_event(&mut self, which: &TaskSet) {
        match which {
            TaskSet::All => self.is_unknown = true,
            TaskSet::These(ids) => self.uncertain.extend(ids),
        }
    }

    /// Checks the files in `scope` at the time `now`. Returns the tasks whose files have changed or may have changed
    /// (`None` if there are none), and what the poll says about the reliability of events.
    pub(super) fn poll(
        &mut self,
        now: SystemTime,
        scope: PollScope,
    ) -> (Option<TaskSet>, PollOutcome) {
        let Ok(meta) = fs::metadata(&self.folder) else {
            self.is_unknown = true;
            return (Some(TaskSet::All), PollOutcome::Uncertain);
        };
        let identity = identity(&self.folder);
        let is_replaced = identity != self.identity;
        // If there was no event since the last poll, the folder must be unchanged.
        let has_missed_event = self.uncertain.is_empty() && !self.fingerprint.matches(&meta);
        self.identity = identity;
        self.fingerprint = FileFingerprint::of(&meta, now).unwrap_or_default();
        let ids = if scope == PollScope::All || self.is_unknown || is_replaced || has_missed_event {
            let Some(mut ids) = list(&self.folder) else {
                self.is_unknown = true;
                return (Some(TaskSet::All), PollOutcome::Uncertain);
            };
            ids.extend(self.fingerprints.keys());
            ids.extend(&self.uncertain);
            ids
        } else {
            self.uncertain.clone()
        };
        let was_unknown = std::mem::take(&mut self.is_unknown);
        let mut found = PollOutcome::Expected;
        let mut reported = BTreeSet::new();
        for id in ids {
            match self.poll_file(id, now) {
                None => continue,
                Some(PollOutcome::Missed) if !was_unknown => found = PollOutcome::Missed,
                Some(PollOutcome::Uncertain) if found == PollOutcome::Expected => {
                    found = PollOutcome::Uncertain;
                }
                Some(_) => {}
            }
            reported.insert(id);
        }
        let which = if was_unknown || reported.len() > NAMED_MAX {
            Some(TaskSet::All)
        } else {
            (!reported.is_empty()).then_some(TaskSet::These(reported))
        };
        (which, found)
    }

    /// Checks the file of the task `id` at the time `now`. Returns what the check says about the reliability of events;
    /// `None` if the file is unchanged.
    fn poll_file(&mut self, id: TaskId, now: SystemTime) -> Option<PollOutcome> {
        #[cfg(test)]
        {
            self.checked += 1;
        }
        let path = self.folder.join(format!("task_{id}.json", id = id.0));
        let was_uncertain = self.uncertain.remove(&id);
        let Ok(meta) = fs::symlink_metadata(path) else {
            let was_there = self.fingerprints.remove(&id).is_some();
            return match (was_uncertain, was_there) {
                (true, _) => Some(PollOutcome::Expected),
                (false, true) => Some(PollOutcome::Missed),
                (false, false) => None,
            };
        };
        let Some(fingerprint) = FileFingerprint::of(&meta, now) else {
            // The event of the change may still arrive, so this does not count as a missed event.
            self.uncertain.insert(id);
            self.fingerprints.remove(&id);
            return Some(PollOutcome::Uncertain);
        };
        let before = self.fingerprints.insert(id, fingerprint);
        if was_uncertain {
            Some(PollOutcome::Expected)
        } else {
            (before != Some(fingerprint)).then_some(PollOutcome::Missed)
        }
    }
}

/// Returns the numbers of the task files in `folder`, or `None` if it cannot be read.
fn list(folder: &Path) -> Option<BTreeSet<TaskId>> {
    let entries = fs::read_dir(folder).ok()?;
    let mut ids = BTreeSet::new();
    for entry in entries {
        ids.extend(task_of_file_name(
            &entry.ok()?.file_name().to_string_lossy(),
        ));
    }
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn these(ids: &[u64]) -> TaskSet {
        TaskSet::These(ids.iter().copied().map(TaskId).collect())
    }

    /// Returns a time in the future, at which every file is old enough for a fingerprint.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    /// Creates a folder with `size` tasks and polls it once.
    fn polled_tasks(size: u64) -> (tempfile::TempDir, TaskFiles) {
        let dir = tempfile::tempdir().unwrap();
        for id in 1..=size {
            write(&dir, id, "{}");
        }
        let mut files = TaskFiles::new(dir.path().to_path_buf());
        assert_eq!(
            files.poll(later(), PollScope::All),
            (Some(TaskSet::All), PollOutcome::Expected)
        );
        (dir, files)
    }

    fn write(dir: &tempfile::TempDir, id: u64, text: &str) {
        fs::write(dir.path().join(format!("task_{id}.json")), text).unwrap();
    }

    #[test]
    fn partial_poll_checks_only_files_with_events() {
        let (dir, mut files) = polled_tasks(9);
        write(&dir, 3, "{ }");
        // The file is written in place and without an event, so only a full poll finds the change.
        write(&dir, 5, "{ }");
        files.record_event(&these(&[3]));
        let young = files.poll(SystemTime::now(), PollScope::Uncertain);
        assert_eq!(young, (Some(these(&[3])), PollOutcome::Uncertain));
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (Some(these(&[3])), PollOutcome::Expected)
        );
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (None, PollOutcome::Expected)
        );
        assert_eq!(
            files.poll(later(), PollScope::All),
            (Some(these(&[5])), PollOutcome::Missed)
        );
        assert_eq!(
            files.poll(later(), PollScope::All),
            (None, PollOutcome::Expected)
        );
    }

    #[test]
    fn folder_change_reveals_files_without_events() {
        let (dir, mut files) = polled_tasks(3);
        write(&dir, 4, "{}");
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (Some(these(&[4])), PollOutcome::Missed)
        );
        fs::remove_file(dir.path().join("task_2.json")).unwrap();
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (Some(these(&[2])), PollOutcome::Missed)
        );
        // The file is written under a temporary name and then renamed, as crewdeck and most editors do.
        fs::write(dir.path().join(".tmp-1"), "{ }").unwrap();
        fs::rename(dir.path().join(".tmp-1"), dir.path().join("task_1.json")).unwrap();
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (Some(these(&[1])), PollOutcome::Missed)
        );
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (None, PollOutcome::Expected)
        );
    }

    #[test]
    fn recreated_folder_is_polled_completely() {
        let (dir, mut files) = polled_tasks(2);
        let aside = dir.path().with_extension("aside");
        fs::rename(dir.path(), &aside).unwrap();
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (Some(TaskSet::All), PollOutcome::Uncertain)
        );
        fs::create_dir(dir.path()).unwrap();
        write(&dir, 7, "{}");
        assert_eq!(
            files.poll(later(), PollScope::Uncertain),
            (Some(TaskSet::All), PollOutcome::Expected)
        );
        assert_eq!(
            files.poll(later(), PollScope::All),
            (None, PollOutcome::Expected)
        );
        fs::remove_dir_all(aside).unwrap();
    }

    /// Between two full polls, what an idle crew costs does not depend on the size of its board.
    #[test]
    fn idle_poll_checks_no_file_on_any_board() {
        for size in [20, 2_000] {
            let (dir, mut files) = polled_tasks(size);
            assert_eq!(files.checked, usize::try_from(size).unwrap());
            files.checked = 0;
            for _ in 0..5 {
                let found = files.poll(later(), PollScope::Uncertain);
                assert_eq!(found, (None, PollOutcome::Expected));
            }
            assert_eq!(files.checked, 0, "{size} tasks");
            // After a change, the changed file is checked until its metadata is reliable, and no other one.
            write(&dir, 3, "{ }");
            files.record_event(&these(&[3]));
            files.poll(SystemTime::now(), PollScope::Uncertain);
            files.poll(later(), PollScope::Uncertain);
            files.poll(later(), PollScope::Uncertain);
            assert_eq!(files.checked, 2, "{size} tasks");
        }
    }

    /// The files of an idle crew are checked at most [`FILES_PER_SECOND`] per second on average.
    #[test]
    fn full_polls_are_rarer_on_larger_boards() {
        let mut files = TaskFiles::new(PathBuf::new());
        for (count, seconds) in [(0, 30), (100, 31), (10_000, 130)] {
            files.fingerprints = (0..count)
                .map(|id| (TaskId(id), FileFingerprint::default()))
                .collect();
            assert_eq!(files.full_poll_interval().as_secs(), seconds);
            assert!(count <= FILES_PER_SECOND * seconds);
        }
    }
}
