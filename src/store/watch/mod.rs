//! Watches the state folders, the branches of the repository and the skills. A report only says what to read again: events
//! are hints, and the files are the truth.
//!
//! In addition to file events, the files are polled, because events can be lost:
//!
//! - every 30 seconds if the system reports every change;
//! - every 5 seconds if it may not report every change, after a change that it did not report, and while a file is so new
//!   that its timestamps are not reliable;
//! - every second if it cannot report changes at all.
//!
//! A poll reports only changes. If the system reports every change, the task files of a large board are polled less often
//! (`tasks.rs`), so that the cost of an idle crew does not grow with its board.

mod dirty;
mod dirty_queue;
mod folders;
#[cfg(test)]
mod git_tests;
mod poll_fallback;
mod tasks;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::refs::Refs;
use super::{Skills, StoreError, atomic, words};
pub use dirty::Dirty;
use dirty::dirty_for_path;
use dirty_queue::{DirtyQueue, PendingChanges};
use folders::WatchedFolders;
pub use folders::{Identity, identity};
pub use poll_fallback::is_shared;
use poll_fallback::{Elapsed, EventCoverage, EventTrust, PollFallback};

/// Events within this time are merged into one report.
const MERGE: Duration = Duration::from_millis(10);

/// How changes are detected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// By events of the operating system.
    Native,
    /// By polling once a second, because the system cannot report changes.
    Polling {
        /// Why the system cannot report changes.
        why: String,
    },
}

/// A running watch. Dropping it stops the watch.
pub struct Watch {
    how: Watching,
    queue: Arc<DirtyQueue>,
    thread: Option<JoinHandle<()>>,
}

/// Returns the time until the next poll. Tests replace it.
type PollDelay = fn(&EventTrust, EventCoverage, Elapsed) -> Duration;

/// Watches the state folders below `root` and its `skills`, and calls `report` for each change from a separate thread. The
/// state folders must exist.
///
/// # Errors
/// When the thread cannot be started.
pub fn start(
    root: &Path,
    skills: &Skills,
    report: impl Fn(Dirty) + Send + 'static,
) -> Result<Watch, StoreError> {
    start_with(
        root,
        Some(skills),
        WatchedFolders::native,
        EventTrust::wait,
        report,
    )
}

/// Implements [`start`] with replaceable event source and poll delay.
fn start_with(
    root: &Path,
    skills: Option<&Skills>,
    connect: fn(PathBuf, Option<Skills>, Arc<DirtyQueue>) -> notify::Result<WatchedFolders>,
    wait: PollDelay,
    report: impl Fn(Dirty) + Send + 'static,
) -> Result<Watch, StoreError> {
    let queue = Arc::<DirtyQueue>::default();
    let base = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let skills = skills.map(|skills| skills.with_root(&base));
    let (folders, how) = match connect(base.clone(), skills.clone(), Arc::clone(&queue)) {
        Ok(folders) => (Some(folders), Watching::Native),
        Err(error) => (None, Watching::Polling { why: why(&error) }),
    };
    let thread_queue = Arc::clone(&queue);
    let thread = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || {
            let coverage = folders
                .as_ref()
                .map_or(EventCoverage::Absent, WatchedFolders::coverage);
            let fallback = match coverage {
                // The events report changes made before the first poll.
                EventCoverage::Full => PollFallback::with_baseline(base, skills),
                // Such changes may be missed, so the first poll reports everything.
                EventCoverage::Partial | EventCoverage::Absent => PollFallback::new(base, skills),
            };
            run_watch(&thread_queue, folders, fallback, wait, &report);
        })?;
    Ok(Watch {
        how,
        queue,
        thread: Some(thread),
    })
}

impl Watch {
    /// Returns how changes are detected.
    pub fn how(&self) -> &Watching {
        &self.how
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.queue.update(|pending| pending.is_stopping = true);
        // Not joined: the thread may be in `report`, which may wait for the thread that drops this value.
        drop(self.thread.take());
    }
}

/// Explains why the system cannot watch files, with a remedy.
fn why(error: &notify::Error) -> String {
    match &error.kind {
        // The limit of inotify instances is reported as too many open files as well.
        notify::ErrorKind::Io(io) if words::is_too_many(io) => {
            "too many files are open or watched: raise ulimit -n or fs.inotify.max_user_instances"
                .into()
        }
        notify::ErrorKind::MaxFilesWatch => {
            "too many files are watched: raise fs.inotify.max_user_watches".into()
        }
        notify::ErrorKind::Io(io) => words::why(io),
        notify::ErrorKind::Generic(_)
        | notify::ErrorKind::PathNotFound
        | notify::ErrorKind::WatchNotFound
        | notify::ErrorKind::InvalidConfig(_) => error.to_string(),
    }
}

/// Handles an event of the operating system.
fn handle_event(
    queue: &DirtyQueue,
    root: &Path,
    skills: Option<&Skills>,
    refs: Option<&Refs>,
    event: notify::Result<notify::Event>,
) {
    match event {
        // Reads by crewdeck itself cause access events. Reacting to them would cause an endless loop.
        Ok(event) if event.kind.is_access() && !event.need_rescan() => {}
        Ok(event) if !event.need_rescan() => {
            let is_skill = |path| skills.is_some_and(|s| s.concerns(path));
            let is_ref = |path| refs.is_some_and(|r| r.concerns(path));
            let classify = |path| {
                let branch = || is_ref(path).then_some(Dirty::Branches);
                let skill = || is_skill(path).then_some(Dirty::Skills);
                dirty_for_path(root, path).or_else(branch).or_else(skill)
            };
            let named = event.paths.iter().filter(|p| !atomic::is_unnamed(p));
            let mut dirty = named.filter_map(|p| classify(p)).peekable();
            if dirty.peek().is_some() {
                queue.update(|pending| dirty.for_each(|d| pending.add(d)));
            }
        }
        // The system has dropped events or reports an error, so anything may have changed.
        Ok(_) | Err(_) => queue.update(PendingChanges::add_all),
    }
}

/// Runs the watch thread: waits for events and polls, until the watch is stopped.
fn run_watch(
    queue: &DirtyQueue,
    mut folders: Option<WatchedFolders>,
    mut fallback: PollFallback,
    wait: PollDelay,
    report: &impl Fn(Dirty),
) {
    let mut trust = EventTrust::default();
    let mut last_poll = Instant::now();
    let mut last_event: Option<Instant> = None;
    loop {
        let coverage = folders
            .as_ref()
            .map_or(EventCoverage::Absent, WatchedFolders::coverage);
        let elapsed = Elapsed {
            since_poll: last_poll.elapsed(),
            since_event: last_event.map(|at| at.elapsed()),
        };
        let within = wait(&trust, coverage, elapsed);
        let is_empty = queue.wait(within, |pending| !pending.is_empty()).is_empty();
        if !is_empty {
            // Merges events that follow within `MERGE`, but waits no longer than that.
            let mut pending = queue.wait(MERGE, |pending| pending.is_stopping);
            if pending.is_stopping {
                return;
            }
            let reports = pending.take();
            drop(pending);
            last_event = Some(Instant::now());
            for dirty in reports {
                if let (Dirty::Skills | Dirty::Branches, Some(folders)) = (&dirty, &mut folders) {
                    // New folders are watched before `report` causes their files to be read.
                    folders.update();
                }
                fallback.record_event(&dirty);
                report(dirty);
            }
        }
        // Continuous changes must not delay a poll that is due.
        if is_empty || within.is_zero() {
            (last_poll, last_event) = (Instant::now(), None);
            if let Some(folders) = &mut folders {
                folders.update();
            }
            let scope = fallback.scope(coverage, &trust);
            let (dirty, found) = fallback.poll(SystemTime::now(), scope);
            trust.note(found);
            dirty.into_iter().for_each(report);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::mpsc::{Receiver, channel};

    use notify::EventKind;
    use notify::event::{AccessKind, Flag};

    use std::collections::BTreeSet;

    use super::super::board::Which;
    use super::dirty::KINDS;
    use super::*;
    use crate::domain::ids::TaskId;

    const WITHIN: Duration = Duration::from_secs(4);

    fn watched(root: &Path) -> (Watch, Receiver<Dirty>) {
        crate::store::prepare(root).unwrap();
        let (report, reports) = channel();
        (
            start(root, &Skills::open(root, None), move |d| {
                report.send(d).unwrap_or_default();
            })
            .unwrap(),
            reports,
        )
    }

    /// Creates the parts of a git repository that the watch checks.
    fn begin_git(root: &Path) {
        for folder in [".git/objects", ".git/refs/heads"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
    }

    fn these(ids: &[u64]) -> Dirty {
        Dirty::Board(Which::These(ids.iter().copied().map(TaskId).collect()))
    }

    #[test]
    fn every_kind_of_change_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        begin_git(dir.path());
        let (watch, reports) = watched(dir.path());
        assert_eq!(watch.how(), &Watching::Native);
        for (file, dirty) in [
            (".tasks/task_1.json", these(&[1])),
            (".tasks/task_7.json", these(&[7])),
            (".team/config.json", Dirty::Roster),
            (".team/requests/r1.json", Dirty::Requests),
            (".team/inbox/bob.jsonl", Dirty::Mail),
            (".team/inbox/.bob.cursor", Dirty::Mail),
            (".worktrees/index.json", Dirty::Branches),
            (".git/refs/heads/main", Dirty::Branches),
        ] {
            super::super::atomic::write(&dir.path().join(file), b"{}").unwrap();
            assert_eq!(reports.recv_timeout(WITHIN), Ok(dirty), "{file}");
        }
        // Written in place, as learn-claude-code does, and deleted.
        let file = dir.path().join(".tasks/task_7.json");
        fs::write(&file, b"{}\n").unwrap();
        assert_eq!(reports.recv_timeout(WITHIN), Ok(these(&[7])));
        fs::remove_file(&file).unwrap();
        assert_eq!(reports.recv_timeout(WITHIN), Ok(these(&[7])));
    }

    #[test]
    fn reads_locks_and_temporary_files_are_not_reported() {
        let dir = tempfile::tempdir().unwrap();
        begin_git(dir.path());
        let (_watch, reports) = watched(dir.path());
        let board = crate::store::Board::open(dir.path());
        for _ in 0..20 {
            board.read().unwrap();
        }
        let _lock = super::super::atomic::Lock::take(&dir.path().join(".tasks/.lock")).unwrap();
        let heads = dir.path().join(".git/refs/heads");
        fs::write(heads.join("main.lock"), b"0").unwrap();
        fs::write(dir.path().join(".worktrees/events.jsonl"), b"{}\n").unwrap();
        fs::write(dir.path().join(".tasks/.tmp-Ab12Cd"), b"{}").unwrap();
        fs::write(dir.path().join(".tasks/notes.txt"), b"x").unwrap();
        super::super::atomic::write(&dir.path().join(".team/config.json"), b"{}").unwrap();
        assert_eq!(
            reports.recv_timeout(WITHIN),
            Ok(Dirty::Roster),
            "the first report"
        );
    }

    #[test]
    fn recreated_folder_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let (report, reports) = channel();
        let often: PollDelay = |_, _, _| Duration::from_millis(100);
        let report = move |d| report.send(d).unwrap_or_default();
        let _watch = start_with(dir.path(), None, WatchedFolders::native, often, report).unwrap();
        let folder = dir.path().join(".tasks");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        // At the latest, the next poll finds the first file in it.
        fs::write(folder.join("task_1.json"), b"{}").unwrap();
        let until = Instant::now() + WITHIN;
        let mut number = 1;
        loop {
            assert!(
                Instant::now() < until,
                "no task in it was reported by number"
            );
            match reports.recv_timeout(WITHIN).unwrap() {
                Dirty::Board(Which::These(ids)) if ids.contains(&TaskId(number)) => break,
                Dirty::Board(_) => {
                    number += 1;
                    fs::write(folder.join(format!("task_{number}.json")), b"{}").unwrap();
                }
                Dirty::Roster | Dirty::Requests | Dirty::Mail | Dirty::Branches | Dirty::Skills => {
                }
            }
        }
    }

    #[test]
    fn continuous_changes_do_not_delay_polling() {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let queue = Arc::<DirtyQueue>::default();
        queue.update(|pending| pending.add(these(&[1])));
        let (report, reports) = channel();
        let (base, thread_queue, noise) =
            (dir.path().into(), Arc::clone(&queue), Arc::clone(&queue));
        let thread = std::thread::spawn(move || {
            let often: PollDelay = |_, _, elapsed| MERGE.saturating_sub(elapsed.since_poll);
            let report = |dirty| {
                // Adds the next change before this one is reported.
                if dirty == these(&[1]) {
                    noise.update(|pending| pending.add(these(&[1])));
                }
                report.send(dirty).unwrap_or_default();
            };
            run_watch(
                &thread_queue,
                None,
                PollFallback::new(base, None),
                often,
                &report,
            );
        });
        let until = Instant::now() + WITHIN;
        // The first poll reports all kinds.
        while reports.recv_timeout(WITHIN) != Ok(Dirty::Roster) {
            assert!(Instant::now() < until, "nothing was polled");
        }
        queue.update(|pending| pending.is_stopping = true);
        thread.join().unwrap();
    }

    fn no_events(
        _: PathBuf,
        _: Option<Skills>,
        _: Arc<DirtyQueue>,
    ) -> notify::Result<WatchedFolders> {
        Err(notify::Error::generic("no more watches"))
    }

    #[test]
    fn polling_finds_changes_and_gives_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let (report, reports) = channel();
        let often: PollDelay = |_, coverage, _| {
            assert_eq!(coverage, EventCoverage::Absent);
            Duration::from_millis(10)
        };
        let report = move |d| report.send(d).unwrap_or_default();
        let watch = start_with(dir.path(), None, no_events, often, report).unwrap();
        let why = "no more watches".to_string();
        assert_eq!(watch.how(), &Watching::Polling { why });
        // The first poll reports everything, because changes before it would be missed.
        let first = (0..KINDS).map(|_| reports.recv_timeout(WITHIN).map(|d| d.kind()));
        assert_eq!(
            first.collect::<Result<Vec<_>, _>>(),
            Ok((0..KINDS).collect())
        );
        for file in [".team/config.json", ".tasks/task_3.json"] {
            fs::write(dir.path().join(file), b"{}").unwrap();
        }
        // Unchanged files are not reported. A new file is reported until its timestamps are reliable.
        let mut all = BTreeSet::new();
        while all.len() < 2 {
            all.insert(reports.recv_timeout(WITHIN).unwrap().kind());
        }
        let expected = [Dirty::Board(Which::All), Dirty::Roster].map(|d| d.kind());
        assert_eq!(all, BTreeSet::from(expected));
    }

    #[test]
    fn new_skill_in_a_new_folder_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let (_watch, reports) = watched(dir.path());
        let skill = dir.path().join(".claude/skills/late/SKILL.md");
        let skills = Skills::open(dir.path(), None);
        fs::create_dir_all(skill.parent().unwrap()).unwrap();
        // Reported as soon as the folder exists.
        assert_eq!(reports.recv_timeout(WITHIN), Ok(Dirty::Skills));
        let before = skills.fingerprint();
        fs::write(&skill, "Come late.").unwrap();
        assert_eq!(reports.recv_timeout(WITHIN), Ok(Dirty::Skills));
        assert_ne!(skills.fingerprint(), before);
    }

    #[test]
    fn limit_errors_name_the_setting() {
        let too_many = std::io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error());
        assert!(why(&notify::Error::io(too_many)).contains("max_user_instances"));
        let watches = notify::Error::new(notify::ErrorKind::MaxFilesWatch);
        assert!(why(&watches).contains("max_user_watches"));
        assert_eq!(why(&notify::Error::generic("no_events")), "no_events");
    }

    #[test]
    fn dropped_events_report_everything_and_access_nothing() {
        let (queue, root) = (DirtyQueue::default(), Path::new("/p"));
        let at =
            |kind: EventKind| notify::Event::new(kind).add_path("/p/.tasks/task_3.json".into());
        handle_event(
            &queue,
            root,
            None,
            None,
            Ok(at(EventKind::Access(AccessKind::Any))),
        );
        assert_eq!(queue.pending().take(), []);
        handle_event(&queue, root, None, None, Ok(at(EventKind::Any)));
        assert_eq!(queue.pending().take(), [these(&[3])]);
        for lost in [
            Ok(notify::Event::new(EventKind::Other).set_flag(Flag::Rescan)),
            Err(notify::Error::generic("gone")),
        ] {
            handle_event(&queue, root, None, None, lost);
            let reports = queue.pending().take();
            assert_eq!(
                (reports.len(), &reports[0]),
                (KINDS, &Dirty::Board(Which::All))
            );
        }
    }
}
