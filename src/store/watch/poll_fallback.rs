//! Polling in addition to file events: compares file metadata without reading contents, and decides when to poll next.
//!
//! Every report makes other parts of crewdeck read files. A poll therefore reports only what has changed since the last
//! poll: if nothing changes, a poll wakes one thread once.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::super::Skills;
use super::super::file_fingerprint::FileFingerprint;
use super::super::refs::GitFolders;
use super::dirty::{Dirty, FOLDERS, KINDS, dirty_for_path};
use super::tasks::{PollOutcome, PollScope, TaskFiles};

/// Poll interval if the system reports every change.
const LONG_INTERVAL: Duration = Duration::from_secs(30);
/// Poll interval if the system may miss changes or has missed one recently.
const SHORT_INTERVAL: Duration = Duration::from_secs(5);
/// Poll interval if the system sends no file events at all, so that only polling finds changes.
const NO_EVENTS_INTERVAL: Duration = Duration::from_secs(1);
/// Number of polls without a missed event after which events are trusted again: one minute at `SHORT_INTERVAL`.
const CLEAN_POLLS: u32 = 12;

/// How completely the system reports changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventCoverage {
    /// The system reports every change.
    Full,
    /// The system may miss changes, because a folder is not watched or other machines can write to a watched folder.
    Partial,
    /// The system reports no changes, so only polling finds them.
    Absent,
}

/// Decides from the results of recent polls whether the system's events can be trusted. Does no I/O.
#[derive(Debug, Default)]
pub(super) struct EventTrust {
    /// Number of polls without a missed event that are still needed before events are trusted again.
    clean_polls_needed: u32,
    last: Option<PollOutcome>,
}

impl EventTrust {
    pub(super) fn note(&mut self, found: PollOutcome) {
        match found {
            PollOutcome::Missed => self.clean_polls_needed = CLEAN_POLLS,
            PollOutcome::Expected => {
                self.clean_polls_needed = self.clean_polls_needed.saturating_sub(1);
            }
            PollOutcome::Uncertain => {}
        }
        self.last = Some(found);
    }

    /// Returns the time until the next poll. If there were events since the last poll, the next poll is due at most 5
    /// seconds after the last event: the timestamps of the changed files are reliable by then.
    pub(super) fn wait(&self, coverage: EventCoverage, elapsed: Elapsed) -> Duration {
        let pause = match (coverage, self.last) {
            (EventCoverage::Absent, _) => NO_EVENTS_INTERVAL,
            (EventCoverage::Partial, _) | (EventCoverage::Full, Some(PollOutcome::Uncertain)) => {
                SHORT_INTERVAL
            }
            (EventCoverage::Full, _) if self.clean_polls_needed > 0 => SHORT_INTERVAL,
            (EventCoverage::Full, None | Some(PollOutcome::Expected | PollOutcome::Missed)) => {
                LONG_INTERVAL
            }
        };
        let wait = pause.saturating_sub(elapsed.since_poll);
        match elapsed.since_event {
            Some(since) => wait.min(SHORT_INTERVAL.saturating_sub(since)),
            None => wait,
        }
    }
}

/// The time that has passed since the last poll and since the last event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elapsed {
    pub since_poll: Duration,
    /// `None` if there was no event since the last poll.
    pub since_event: Option<Duration>,
}

/// The state of all watched files at the last poll.
pub(super) struct PollFallback {
    base: PathBuf,
    skills: Option<Skills>,
    refs: Option<GitFolders>,
    tasks: TaskFiles,
    /// The time of the last poll that checked all task files.
    last_full_poll: Instant,
    /// One fingerprint per variant of [`Dirty`], in the order of `Dirty::all`. The entry of the board is not used,
    /// because `tasks` has a fingerprint per file. An entry is `None` if its fingerprint is unreliable or an event has
    /// arrived since the last poll.
    fingerprints: [Option<u64>; KINDS],
    folder_files: [Option<FolderFiles>; FOLDERS.len()],
}

/// The state files in a folder. The list `files` is valid while the folder has the fingerprint `folder`. A poll uses
/// the stored list and does not list the folder, because opening a folder causes an event for every process that
/// watches it.
struct FolderFiles {
    folder: FileFingerprint,
    files: Vec<PathBuf>,
}

impl PollFallback {
    /// Returns a fallback for the project in `base` that knows no earlier state of the files, so that its first poll
    /// reports everything.
    pub(super) fn new(base: PathBuf, skills: Option<Skills>) -> PollFallback {
        PollFallback {
            refs: GitFolders::of(&base),
            tasks: TaskFiles::new(base.join(FOLDERS[0])),
            last_full_poll: Instant::now(),
            base,
            skills,
            fingerprints: [None; KINDS],
            folder_files: FOLDERS.map(|_| None),
        }
    }

    /// Returns a fallback for the project in `base` whose first poll reports only what changes from now on, and what is
    /// still too new for a reliable fingerprint.
    pub(super) fn with_baseline(base: PathBuf, skills: Option<Skills>) -> PollFallback {
        let mut fallback = PollFallback::new(base, skills);
        let now = SystemTime::now();
        fallback.tasks.poll(now, PollScope::All);
        fallback.fingerprints = fallback.fingerprint_others(now);
        fallback
    }

    /// Returns which task files the next poll checks: all of them if the last full poll is older than
    /// [`TaskFiles::full_poll_interval`] or events may be incomplete. The next poll then counts as a full poll.
    pub(super) fn scope(&mut self, coverage: EventCoverage, trust: &EventTrust) -> PollScope {
        let is_due = self.last_full_poll.elapsed() >= self.tasks.full_poll_interval();
        if coverage == EventCoverage::Full && trust.clean_polls_needed == 0 && !is_due {
            return PollScope::Uncertain;
        }
        self.last_full_poll = Instant::now();
        PollScope::All
    }

    /// Records that `dirty` is being reported because of an event. The next poll reports it again, because a second
    /// change right after the event could leave the same metadata.
    pub(super) fn record_event(&mut self, dirty: &Dirty) {
        match dirty {
            Dirty::Board(which) => self.tasks.record_event(which),
            other => self.fingerprints[other.kind()] = None,
        }
    }

    /// Polls the task files in `scope` and all other files at the time `now`. Returns what has changed or may have
    /// changed, and whether the poll shows that an event was lost.
    pub(super) fn poll(&mut self, now: SystemTime, scope: PollScope) -> (Vec<Dirty>, PollOutcome) {
        let (board, mut found) = self.tasks.poll(now, scope);
        let mut out: Vec<Dirty> = board.map(Dirty::Board).into_iter().collect();
        let fingerprints = self.fingerprint_others(now);
        let before = std::mem::replace(&mut self.fingerprints, fingerprints);
        for (at, dirty) in Dirty::all().into_iter().enumerate().skip(1) {
            if self.fingerprints[at].is_some() && self.fingerprints[at] == before[at] {
                continue;
            }
            found = match (self.fingerprints[at], before[at]) {
                (Some(_), Some(_)) => PollOutcome::Missed,
                (None, _) if found == PollOutcome::Expected => PollOutcome::Uncertain,
                (Some(_), None) | (None, _) => found,
            };
            out.push(dirty);
        }
        (out, found)
    }

    fn fingerprint_others(&mut self, now: SystemTime) -> [Option<u64>; KINDS] {
        let mut fingerprints = [Some(0); KINDS];
        let mut all = FOLDERS.map(|_| Some(0));
        for (at, folder) in FOLDERS.iter().enumerate().skip(1) {
            let path = self.base.join(folder);
            all[at] = self.fingerprint(at, &path, now);
        }
        let [_, roster, mail, requests, trees] = all;
        let refs = self.fingerprint_refs(now);
        let branches = trees.zip(refs).map(|(a, b)| a.wrapping_add(b));
        for (at, fingerprint) in [roster, mail, requests, branches].into_iter().enumerate() {
            fingerprints[at + 1] = fingerprint;
        }
        fingerprints[Dirty::Skills.kind()] = self.skills.as_ref().map_or(Some(0), |skills| {
            let mut hasher = DefaultHasher::new();
            skills.fingerprint().hash(&mut hasher);
            Some(hasher.finish())
        });
        fingerprints
    }

    /// Returns one fingerprint for all files in [`GitFolders::ref_files`], or `None` while one of them is too new for a
    /// reliable fingerprint. A missing file counts as unchanged while it is missing.
    fn fingerprint_refs(&self, now: SystemTime) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        for path in self.refs.iter().flat_map(GitFolders::ref_files) {
            let fingerprint = match fs::metadata(&path) {
                Ok(meta) => Some(FileFingerprint::of(&meta, now)?),
                Err(_) => None,
            };
            (path, fingerprint).hash(&mut hasher);
        }
        Some(hasher.finish())
    }

    /// Returns one fingerprint for all state files in `folder`, which is the folder `FOLDERS[at]`. The order of the
    /// files does not matter. Returns `None` if the folder cannot be read, and while a file is too new for a reliable
    /// fingerprint.
    fn fingerprint(&mut self, at: usize, folder: &Path, now: SystemTime) -> Option<u64> {
        let meta = fs::metadata(folder).ok()?;
        let known = self.folder_files[at]
            .take()
            .filter(|n| n.folder.matches(&meta));
        let folder_files = match known {
            Some(folder_files) => folder_files,
            None => FolderFiles {
                files: self.list(folder)?,
                // A folder that has just changed gets a default fingerprint, which never matches, so the next poll
                // lists it again.
                folder: FileFingerprint::of(&meta, now).unwrap_or_default(),
            },
        };
        let mut all: Option<u64> = Some(0);
        for file in &folder_files.files {
            let meta = fs::symlink_metadata(file);
            let fingerprint = meta.ok().and_then(|meta| FileFingerprint::of(&meta, now));
            all = all.zip(fingerprint).map(|(all, fingerprint)| {
                let mut hasher = DefaultHasher::new();
                (file, fingerprint).hash(&mut hasher);
                all.wrapping_add(hasher.finish())
            });
        }
        self.folder_files[at] = Some(folder_files);
        all
    }

    fn list(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).ok()? {
            let path = entry.ok()?.path();
            if dirty_for_path(&self.base, &path).is_some() {
                files.push(path);
            }
        }
        Some(files)
    }
}

/// Returns whether programs on other machines, or under another kernel on this machine, can write to the file system of
/// `path`. This machine's kernel reports no events for their changes. Returns `false` if the type of the file system
/// cannot be determined.
#[cfg(target_os = "linux")]
pub fn is_shared_file_system(path: &Path) -> bool {
    /// File system types from linux/magic.h: NFS, SMB1, CIFS, SMB2, 9P, FUSE, Ceph, AFS, Lustre, VirtualBox.
    const SHARED: [u32; 10] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x6573_5546,
        0x00C3_6400,
        0x5346_414F,
        0x0BD0_0BD0,
        0x786F_4256,
    ];
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // f_type is a 32-bit number
    rustix::fs::statfs(path).is_ok_and(|system| SHARED.contains(&(system.f_type as u32)))
}

/// Returns `false`: shared file systems are detected on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn is_shared_file_system(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::store::TaskSet;
    use pretty_assertions::assert_eq;

    fn with_baseline(base: &Path) -> PollFallback {
        crate::store::prepare(base).unwrap();
        PollFallback::with_baseline(base.to_path_buf(), Some(Skills::open(base, None)))
    }

    fn these(ids: &[u64]) -> Dirty {
        Dirty::Board(TaskSet::These(ids.iter().copied().map(TaskId).collect()))
    }

    /// Returns a time in the future, at which every file is old enough for a fingerprint.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    #[test]
    fn poll_delay_depends_on_coverage_and_recent_polls() {
        use EventCoverage::{Absent, Full, Partial};
        use PollOutcome::{Expected, Missed, Uncertain};
        let seconds = Duration::from_secs;
        let wait = |found: &[PollOutcome], coverage, since_poll, since_event: Option<u64>| {
            let mut trust = EventTrust::default();
            for one in found {
                trust.note(*one);
            }
            let since_event = since_event.map(seconds);
            let since_poll = seconds(since_poll);
            let elapsed = Elapsed {
                since_poll,
                since_event,
            };
            trust.wait(coverage, elapsed).as_secs()
        };
        let table = [
            // The results of earlier polls, the coverage, the seconds since the last poll and since the last event, and
            // the expected delay in seconds.
            (&[][..], Full, 0, None, 30),
            (&[Expected], Full, 0, None, 30),
            (&[Expected], Full, 12, None, 18),
            (&[Expected], Full, 40, None, 0),
            // With events since the last poll, the next poll is due at most 5 seconds after the last event.
            (&[Expected], Full, 12, Some(0), 5),
            (&[Expected], Full, 12, Some(4), 1),
            (&[Expected], Full, 29, Some(0), 1),
            (&[Uncertain], Full, 0, None, 5),
            (&[Uncertain, Expected], Full, 0, None, 30),
            (&[Missed], Full, 0, None, 5),
            (&[Missed, Expected], Full, 0, None, 5),
            (&[Expected], Partial, 0, None, 5),
            (&[Expected], Partial, 4, Some(0), 1),
            (&[Expected], Absent, 0, None, 1),
        ];
        for (found, coverage, poll, event, expected) in table {
            let row = (found, coverage, poll, event);
            assert_eq!((row, wait(found, coverage, poll, event)), (row, expected));
        }
        let mut long = vec![Missed];
        long.extend([Expected; CLEAN_POLLS as usize]);
        assert_eq!(
            wait(&long, Full, 0, None),
            30,
            "a minute without a lost event"
        );
        long.push(Missed);
        assert_eq!(wait(&long, Full, 0, None), 5);
    }

    #[test]
    fn idle_crew_polls_twice_a_minute() {
        let mut trust = EventTrust::default();
        let (mut now, mut polls) = (Duration::ZERO, 0);
        while now < Duration::from_secs(3600) {
            let since_poll = Duration::ZERO;
            let elapsed = Elapsed {
                since_poll,
                since_event: None,
            };
            now += trust.wait(EventCoverage::Full, elapsed);
            trust.note(PollOutcome::Expected);
            polls += 1;
        }
        assert_eq!(polls, 120);
    }

    #[test]
    fn poll_finds_only_changes_without_events() {
        use PollOutcome::{Expected, Missed};
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        for folder in [".git/objects", ".git/refs/heads"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        let mut fallback = with_baseline(base);
        fallback.poll(later(), PollScope::All);
        assert_eq!(fallback.poll(later(), PollScope::All), (vec![], Expected));
        for (file, dirty) in [
            (".tasks/task_1.json", these(&[1])),
            (".team/config.json", Dirty::Roster),
            (".team/inbox/bob.jsonl", Dirty::Mail),
            (".team/inbox/.bob.cursor", Dirty::Mail),
            (".team/requests/r1.json", Dirty::Requests),
            (".worktrees/index.json", Dirty::Branches),
            (".git/refs/heads/main", Dirty::Branches),
            (".git/refs/heads/team/main", Dirty::Branches),
            (".git/packed-refs", Dirty::Branches),
            ("skills/late/SKILL.md", Dirty::Skills),
        ] {
            let file = base.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "{}").unwrap();
            assert_eq!(
                fallback.poll(later(), PollScope::All),
                (vec![dirty.clone()], Missed)
            );
            assert_eq!(fallback.poll(later(), PollScope::All), (vec![], Expected));
            fs::remove_file(&file).unwrap();
            fallback.record_event(&dirty);
            assert_eq!(
                fallback.poll(later(), PollScope::All),
                (vec![dirty], Expected)
            );
        }
        for file in [".tasks/.lock", ".tasks/notes.txt", ".team/.tmp-1"] {
            fs::write(base.join(file), "x").unwrap();
        }
        assert_eq!(fallback.poll(later(), PollScope::All), (vec![], Expected));
    }

    #[test]
    fn unreliable_files_are_reported_at_every_poll() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let mut fallback = with_baseline(base);
        fs::write(base.join(".tasks/task_1.json"), "{}").unwrap();
        let board = vec![these(&[1])];
        fallback.record_event(&board[0]);
        for _ in 0..3 {
            let poll = fallback.poll(SystemTime::now(), PollScope::All);
            assert_eq!(poll, (board.clone(), PollOutcome::Uncertain));
        }
        fallback.poll(later(), PollScope::All);
        fs::remove_dir_all(base.join(".team/inbox")).unwrap();
        for _ in 0..3 {
            let poll = fallback.poll(later(), PollScope::All);
            assert_eq!(poll, (vec![Dirty::Mail], PollOutcome::Uncertain));
        }
    }

    #[test]
    fn local_folder_is_not_shared() {
        assert!(!is_shared_file_system(&std::env::temp_dir()));
    }
}
