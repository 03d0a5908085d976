//! Watches the state folders, the branches of the repository and the skills. A report says only what to read again, because
//! events are hints and can be wrong; the files are authoritative.
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
mod events;
mod folders;
#[cfg(test)]
mod git_tests;
mod identity;
mod poll_fallback;
mod reports;
mod tasks;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use super::{Skills, StoreError, os_errors};
pub use dirty::Dirty;
use dirty_queue::DirtyQueue;
use folders::WatchedFolders;
pub use identity::{FolderId, identity};
pub use poll_fallback::is_shared_file_system;
use poll_fallback::{Elapsed, EventCoverage, EventTrust, PollFallback};
pub use reports::{ReportThread, Reports};

/// Maximum delay of a report. Changes within this time are part of the same report.
const MERGE: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchMode {
    /// The operating system reports changes by events.
    Native,
    /// The files are polled once a second, because the system cannot report changes.
    Polling {
        /// Why the system cannot report changes.
        why: String,
    },
}

/// A running watch. Dropping it stops the watch, but does not wait for a report that is being made.
pub struct Watch {
    how: WatchMode,
    queue: Arc<DirtyQueue>,
    thread: Option<JoinHandle<()>>,
}

/// The type of [`EventTrust::wait`], which returns the time until the next poll. Tests pass another function.
type PollDelay = fn(&EventTrust, EventCoverage, Elapsed) -> Duration;

/// Watches the state folders below `root`, the folders of the repository's branches and the folders of `skills`. Calls
/// `report` from a separate thread, once for each part of the state that may have changed. If a state folder is missing,
/// the files are only polled ([`WatchMode::Polling`]).
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

/// Does the same as [`start`], but does not watch skills.
///
/// # Errors
/// When the thread cannot be started.
pub(super) fn start_without_skills(
    root: &Path,
    report: impl Fn(Dirty) + Send + 'static,
) -> Result<Watch, StoreError> {
    start_with(root, None, WatchedFolders::native, EventTrust::wait, report)
}

/// Implements [`start`]. Tests replace the source of the events (`connect`) and the time until the next poll (`wait`).
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
        Ok(folders) => (Some(folders), WatchMode::Native),
        Err(error) => (None, WatchMode::Polling { why: why(&error) }),
    };
    let thread_queue = Arc::clone(&queue);
    let thread = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || {
            let coverage = folders
                .as_ref()
                .map_or(EventCoverage::Absent, WatchedFolders::coverage);
            let fallback = match coverage {
                // The events report all changes from now on, so the first poll need not report everything.
                EventCoverage::Full => PollFallback::with_baseline(base, skills),
                // Events may miss changes made before the first poll, so the first poll reports everything.
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
    pub fn mode(&self) -> &WatchMode {
        &self.how
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.queue.update(|pending| pending.is_stopping = true);
        // The thread is not joined, because it may be in `report`, which may wait for the thread that drops this value.
        drop(self.thread.take());
    }
}

/// Explains why the system cannot watch files, with a remedy.
fn why(error: &notify::Error) -> String {
    match &error.kind {
        // If the limit of inotify instances is reached, the system reports too many open files as well.
        notify::ErrorKind::Io(io) if os_errors::is_too_many(io) => {
            "too many files are open or watched: raise ulimit -n or fs.inotify.max_user_instances"
                .into()
        }
        notify::ErrorKind::MaxFilesWatch => {
            "too many files are watched: raise fs.inotify.max_user_watches".into()
        }
        notify::ErrorKind::Io(io) => os_errors::explain(io),
        _ => error.to_string(),
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
