//! Polling in addition to file events: compares file metadata without reading contents, and decides when to poll next.
//!
//! Every report makes other parts of crewdeck read files. A poll therefore reports only what has changed since the last
//! poll: if nothing changes, a poll wakes one thread once.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::super::Skills;
use super::super::print::Print;
use super::super::refs::Refs;
use super::dirty::{Dirty, FOLDERS, KINDS, dirty};
use super::tasks::{Scope, TaskFiles};

/// Poll interval if the system reports every change.
const SELDOM: Duration = Duration::from_secs(30);
/// Poll interval if the system may miss changes or has missed one recently.
const OFTEN: Duration = Duration::from_secs(5);
/// Poll interval if the system reports nothing.
const POLL: Duration = Duration::from_secs(1);
/// Polls without a missed event after which events are trusted again: one minute at `OFTEN`.
const DOUBTS: u32 = 12;

/// How completely the system reports changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hearing {
    /// Every change.
    All,
    /// Not every change: a folder is not watched, or other machines write to it too.
    Parts,
    /// No changes.
    Nothing,
}

/// Result of a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No changes, or only changes with an event.
    Heard,
    /// A change without an event: an event was lost.
    Unheard,
    /// A file is so new that a further change could leave the same metadata, or it cannot be checked.
    Unsure,
}

/// Decides from recent polls how far events can be trusted. Does no I/O.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// Clean polls that are still needed before events are trusted again.
    doubts: u32,
    last: Option<Found>,
}

impl Trust {
    /// Records the result of a poll.
    pub(super) fn note(&mut self, found: Found) {
        match found {
            Found::Unheard => self.doubts = DOUBTS,
            Found::Heard => self.doubts = self.doubts.saturating_sub(1),
            Found::Unsure => {}
        }
        self.last = Some(found);
    }

    /// Returns the time until the next poll. After events, a poll follows once there were none for 5 seconds, because the
    /// timestamps of the files are reliable then.
    pub(super) fn wait(&self, hearing: Hearing, passed: Passed) -> Duration {
        let pause = match (hearing, self.last) {
            (Hearing::Nothing, _) => POLL,
            (Hearing::Parts, _) | (Hearing::All, Some(Found::Unsure)) => OFTEN,
            (Hearing::All, _) if self.doubts > 0 => OFTEN,
            (Hearing::All, None | Some(Found::Heard | Found::Unheard)) => SELDOM,
        };
        let wait = pause.saturating_sub(passed.since_look);
        match passed.since_heard {
            Some(since) => wait.min(OFTEN.saturating_sub(since)),
            None => wait,
        }
    }
}

/// Times since the last poll and event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// Since the last poll.
    pub since_look: Duration,
    /// Since the last event; `None`: no event since the last poll.
    pub since_heard: Option<Duration>,
}

/// The state of all watched files at the last poll.
pub(super) struct Net {
    base: PathBuf,
    skills: Option<Skills>,
    refs: Option<Refs>,
    tasks: TaskFiles,
    /// Time of the last full poll of the task files.
    looked: Instant,
    /// One fingerprint per kind of file except tasks; `None` if it is unreliable or an event has arrived since.
    prints: [Option<u64>; KINDS],
    names: [Option<Names>; FOLDERS.len()],
}

/// The state files of a folder. Valid while the fingerprint of the folder matches. Avoids listing the folder at each poll,
/// because opening a folder causes an event for its watchers.
struct Names {
    folder: Print,
    files: Vec<PathBuf>,
}

impl Net {
    /// Returns the fallback for `base` without a baseline: its first poll reports everything.
    pub(super) fn new(base: PathBuf, skills: Option<Skills>) -> Net {
        Net {
            refs: Refs::of(&base),
            tasks: TaskFiles::new(base.join(FOLDERS[0])),
            looked: Instant::now(),
            base,
            skills,
            prints: [None; KINDS],
            names: FOLDERS.map(|_| None),
        }
    }

    /// Returns the fallback for `base` with the current files as the baseline.
    pub(super) fn spread(base: PathBuf, skills: Option<Skills>) -> Net {
        let mut net = Net::new(base, skills);
        let now = SystemTime::now();
        net.tasks.look(now, Scope::All);
        net.prints = net.look_at_others(now);
        net
    }

    /// Returns which task files the next poll checks: all of them if the interval has passed or events may be incomplete.
    pub(super) fn scope(&mut self, hearing: Hearing, trust: &Trust) -> Scope {
        let is_due = self.looked.elapsed() >= self.tasks.pause();
        if hearing == Hearing::All && trust.doubts == 0 && !is_due {
            return Scope::Unsure;
        }
        self.looked = Instant::now();
        Scope::All
    }

    /// Records an event that is being reported. The next poll reports it again, because a second change right after the
    /// event could leave the same metadata.
    pub(super) fn heard(&mut self, dirty: &Dirty) {
        match dirty {
            Dirty::Board(which) => self.tasks.heard(which),
            other => self.prints[other.kind()] = None,
        }
    }

    /// Polls all files at `now`, of the tasks those in `scope`. Returns what has changed or may have changed.
    pub(super) fn look(&mut self, now: SystemTime, scope: Scope) -> (Vec<Dirty>, Found) {
        let (board, mut found) = self.tasks.look(now, scope);
        let mut out: Vec<Dirty> = board.map(Dirty::Board).into_iter().collect();
        let prints = self.look_at_others(now);
        let before = std::mem::replace(&mut self.prints, prints);
        for (at, dirty) in Dirty::all().into_iter().enumerate().skip(1) {
            if self.prints[at].is_some() && self.prints[at] == before[at] {
                continue;
            }
            found = match (self.prints[at], before[at]) {
                (Some(_), Some(_)) => Found::Unheard,
                (None, _) if found == Found::Heard => Found::Unsure,
                (Some(_), None) | (None, _) => found,
            };
            out.push(dirty);
        }
        (out, found)
    }

    fn look_at_others(&mut self, now: SystemTime) -> [Option<u64>; KINDS] {
        let mut prints = [Some(0); KINDS];
        let mut all = FOLDERS.map(|_| Some(0));
        for (at, folder) in FOLDERS.iter().enumerate().skip(1) {
            let path = self.base.join(folder);
            all[at] = self.print(at, &path, now);
        }
        let [_, roster, mail, requests, trees] = all;
        let refs = self.print_refs(now);
        let branches = trees.zip(refs).map(|(a, b)| a.wrapping_add(b));
        for (at, print) in [roster, mail, requests, branches].into_iter().enumerate() {
            prints[at + 1] = print;
        }
        prints[Dirty::Skills.kind()] = self.skills.as_ref().map_or(Some(0), |skills| {
            let mut hasher = DefaultHasher::new();
            skills.fingerprint().hash(&mut hasher);
            Some(hasher.finish())
        });
        prints
    }

    /// Returns the fingerprint of the files that change when a branch moves, or `None` while it is unreliable.
    fn print_refs(&self, now: SystemTime) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        for path in self.refs.iter().flat_map(Refs::marks) {
            let print = match fs::metadata(&path) {
                Ok(meta) => Some(Print::of(&meta, now)?),
                Err(_) => None,
            };
            (path, print).hash(&mut hasher);
        }
        Some(hasher.finish())
    }

    /// Returns the fingerprint of the state files in `folder`, independent of their order, or `None` while one of them is
    /// unreliable.
    fn print(&mut self, at: usize, folder: &Path, now: SystemTime) -> Option<u64> {
        let meta = fs::metadata(folder).ok()?;
        let known = self.names[at].take().filter(|n| n.folder.fits(&meta));
        let names = match known {
            Some(names) => names,
            None => Names {
                files: self.list(folder)?,
                // A new folder gets a default fingerprint, so that the next poll lists it again.
                folder: Print::of(&meta, now).unwrap_or_default(),
            },
        };
        let mut all: Option<u64> = Some(0);
        for file in &names.files {
            let meta = fs::symlink_metadata(file);
            let print = meta.ok().and_then(|meta| Print::of(&meta, now));
            all = all.zip(print).map(|(all, print)| {
                let mut hasher = DefaultHasher::new();
                (file, print).hash(&mut hasher);
                all.wrapping_add(hasher.finish())
            });
        }
        self.names[at] = Some(names);
        all
    }

    fn list(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).ok()? {
            let path = entry.ok()?.path();
            if dirty(&self.base, &path).is_some() {
                files.push(path);
            }
        }
        Some(files)
    }
}

/// Returns whether other machines or processes outside of this kernel can write to the file system of `path`. The kernel
/// reports no events for such changes.
#[cfg(target_os = "linux")]
pub fn is_shared(path: &Path) -> bool {
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
    // The type numbers have 32 bits, whatever the width of the field.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    rustix::fs::statfs(path).is_ok_and(|system| SHARED.contains(&(system.f_type as u32)))
}

/// Returns `false`: shared file systems are detected on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn is_shared(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::TaskId;
    use crate::store::Which;
    use pretty_assertions::assert_eq;

    fn spread(base: &Path) -> Net {
        crate::store::prepare(base).unwrap();
        Net::spread(base.to_path_buf(), Some(Skills::open(base, None)))
    }

    fn these(ids: &[u64]) -> Dirty {
        Dirty::Board(Which::These(ids.iter().copied().map(TaskId).collect()))
    }

    /// Returns a time at which the timestamps of all files are reliable.
    fn later() -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }

    #[test]
    fn poll_delay_depends_on_coverage_and_recent_polls() {
        use Found::{Heard, Unheard, Unsure};
        use Hearing::{All, Nothing, Parts};
        let seconds = Duration::from_secs;
        let wait = |found: &[Found], hearing, since_look, since_heard: Option<u64>| {
            let mut trust = Trust::default();
            for one in found {
                trust.note(*one);
            }
            let since_heard = since_heard.map(seconds);
            let since_look = seconds(since_look);
            let passed = Passed {
                since_look,
                since_heard,
            };
            trust.wait(hearing, passed).as_secs()
        };
        let table = [
            // Poll results, coverage, seconds since the last poll, seconds since the last event, expected delay.
            (&[][..], All, 0, None, 30),
            (&[Heard], All, 0, None, 30),
            (&[Heard], All, 12, None, 18),
            (&[Heard], All, 40, None, 0),
            // After the last event, and during continuous events.
            (&[Heard], All, 12, Some(0), 5),
            (&[Heard], All, 12, Some(4), 1),
            (&[Heard], All, 29, Some(0), 1),
            (&[Unsure], All, 0, None, 5),
            (&[Unsure, Heard], All, 0, None, 30),
            (&[Unheard], All, 0, None, 5),
            (&[Unheard, Heard], All, 0, None, 5),
            (&[Heard], Parts, 0, None, 5),
            (&[Heard], Parts, 4, Some(0), 1),
            (&[Heard], Nothing, 0, None, 1),
        ];
        for (found, hearing, look, heard, expected) in table {
            let row = (found, hearing, look, heard);
            assert_eq!((row, wait(found, hearing, look, heard)), (row, expected));
        }
        let mut long = vec![Unheard];
        long.extend([Heard; DOUBTS as usize]);
        assert_eq!(
            wait(&long, All, 0, None),
            30,
            "a minute without a lost event"
        );
        long.push(Unheard);
        assert_eq!(wait(&long, All, 0, None), 5);
    }

    /// Bounds the cost of an idle crew.
    #[test]
    fn idle_crew_polls_twice_a_minute() {
        let mut trust = Trust::default();
        let (mut now, mut looks) = (Duration::ZERO, 0);
        while now < Duration::from_secs(3600) {
            let since_look = Duration::ZERO;
            let passed = Passed {
                since_look,
                since_heard: None,
            };
            now += trust.wait(Hearing::All, passed);
            trust.note(Found::Heard);
            looks += 1;
        }
        assert_eq!(looks, 120);
    }

    #[test]
    fn poll_finds_only_changes_without_events() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        for folder in [".git/objects", ".git/refs/heads"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        let mut net = spread(base);
        net.look(later(), Scope::All);
        assert_eq!(net.look(later(), Scope::All), (vec![], Found::Heard));
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
                net.look(later(), Scope::All),
                (vec![dirty.clone()], Found::Unheard)
            );
            assert_eq!(net.look(later(), Scope::All), (vec![], Found::Heard));
            fs::remove_file(&file).unwrap();
            net.heard(&dirty);
            assert_eq!(net.look(later(), Scope::All), (vec![dirty], Found::Heard));
        }
        for file in [".tasks/.lock", ".tasks/notes.txt", ".team/.tmp-1"] {
            fs::write(base.join(file), "x").unwrap();
        }
        assert_eq!(net.look(later(), Scope::All), (vec![], Found::Heard));
    }

    #[test]
    fn unreliable_files_are_reported_at_every_poll() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path();
        let mut net = spread(base);
        fs::write(base.join(".tasks/task_1.json"), "{}").unwrap();
        let board = vec![these(&[1])];
        net.heard(&board[0]);
        for _ in 0..3 {
            let look = net.look(SystemTime::now(), Scope::All);
            assert_eq!(look, (board.clone(), Found::Unsure));
        }
        net.look(later(), Scope::All);
        fs::remove_dir_all(base.join(".team/inbox")).unwrap();
        for _ in 0..3 {
            let look = net.look(later(), Scope::All);
            assert_eq!(look, (vec![Dirty::Mail], Found::Unsure));
        }
    }

    #[test]
    fn local_folder_is_not_shared() {
        assert!(!is_shared(&std::env::temp_dir()));
    }
}
