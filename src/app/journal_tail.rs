//! Follows a crew that another process runs, on a separate thread: watches which process holds the crew lock, and
//! reads new events from the journal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::Result;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::lock::{self, Holder};
use super::resume;
use crate::protocol::{CrewEvent, Event, EventKind};
use crate::store::watch::{FolderId, identity, is_shared_file_system};
use crate::store::{Journal, JournalStart, JournalTail, TailRead};

/// Maximum number of updates that are queued for [`Follower::next`].
const NEWS_MAX: usize = 4;
/// Time that the thread waits after a change of the lock file or the journal, so that changes in quick succession are
/// read together.
const MERGE: Duration = Duration::from_millis(20);
/// The poll interval on a local file system that reports changes. The same as for the state files.
const POLL_LOCAL: Duration = Duration::from_secs(30);
/// The poll interval on a shared file system, which does not report changes made by other machines.
const POLL_SHARED: Duration = Duration::from_secs(5);
/// The poll interval if the system reports no changes at all, or while a watched folder is missing.
const POLL: Duration = Duration::from_secs(1);

/// What a viewer is notified of: a change of the process that runs the crew, as named in the lock file, or new events
/// in the crew's journal.
#[derive(Debug)]
pub enum JournalUpdate {
    /// The process that holds the crew lock became known or changed.
    Holder(Holder),
    /// All events of a journal, or those in its newest part; the [`JournalStart`] says which. They replace all events
    /// that were sent before.
    Restarted(Vec<Event>, JournalStart),
    Appended(Vec<Event>),
}

/// A handle to the thread that reads the lock file and the journal of a crew. The thread ends when the handle is
/// dropped.
pub struct Follower {
    heard: mpsc::Receiver<JournalUpdate>,
    hint: SyncSender<()>,
    is_over: Arc<AtomicBool>,
}

impl Follower {
    /// Starts the thread for the crew in `root`. The folder `.crewdeck` must exist there.
    ///
    /// # Errors
    /// Fails if the thread cannot be started.
    pub fn start(root: &Path) -> Result<Follower> {
        let (tell, heard) = mpsc::channel(NEWS_MAX);
        // Capacity 1: one pending hint is enough to make the thread read again.
        let (hint, hints) = sync_channel(1);
        let is_over = Arc::new(AtomicBool::new(false));
        let mut thread = FollowThread {
            root: root.to_path_buf(),
            tell,
            holder: None,
            tail: None,
        };
        let (over, wake) = (Arc::clone(&is_over), hint.clone());
        std::thread::Builder::new()
            .name("follow".into())
            .spawn(move || thread.run(&hints, wake, &over))?;
        Ok(Follower {
            heard,
            hint,
            is_over,
        })
    }

    /// Waits for the next update. After [`Follower::finish`], returns `None` once the whole journal has been read.
    pub async fn next(&mut self) -> Option<JournalUpdate> {
        self.heard.recv().await
    }

    /// Makes the thread read the rest of the journal and then end. Call this after the crew's process has ended.
    pub fn finish(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        // If the channel is full, a pending hint already wakes the thread.
        let _ = self.hint.try_send(());
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.finish();
    }
}

/// The error that ends the thread: the [`Follower`] that receives its updates was dropped.
struct ReceiverDropped;

struct FollowThread {
    root: PathBuf,
    tell: mpsc::Sender<JournalUpdate>,
    holder: Option<Holder>,
    tail: Option<(String, JournalTail)>,
}

impl FollowThread {
    fn run(&mut self, hints: &Receiver<()>, wake: SyncSender<()>, over: &AtomicBool) {
        let mut watch = FolderWatch::open(wake);
        loop {
            let folder = self.tail.as_ref().map(|(_, tail)| tail.folder());
            let net = watch.watch_folders(&self.root.join(".crewdeck"), folder);
            // Load the flag before reading the files, so that the last reading includes everything written before
            // `finish`.
            let is_last = over.load(Ordering::SeqCst);
            let before = self.session();
            if self.look().is_err() || is_last {
                return;
            }
            if before != self.session() {
                continue;
            }
            match hints.recv_timeout(net) {
                Ok(()) => {
                    std::thread::sleep(MERGE);
                    // Drop a hint that has arrived in the meantime: the next reading covers its change too.
                    let _ = hints.try_recv();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn session(&self) -> Option<String> {
        self.tail.as_ref().map(|(session, _)| session.clone())
    }

    fn look(&mut self) -> Result<(), ReceiverDropped> {
        let holder = lock::holder(&self.root);
        if self.holder.as_ref() != Some(&holder) {
            self.holder = Some(holder.clone());
            let session = match &holder.session {
                Some(session) => Some(session.clone()),
                // Older versions do not write the session to the lock file. Use the newest session.
                None if holder.process.is_some() => resume::choose(&self.root, "").ok(),
                None => None,
            };
            if let Some(session) = session
                && self.session().as_ref() != Some(&session)
            {
                let tail = JournalTail::of(&self.root, &session);
                self.tail = Some((session.clone(), tail));
            }
            let session = self.session();
            self.say(JournalUpdate::Holder(Holder { session, ..holder }))?;
        }
        self.read()
    }

    /// Reads the journal to its end and sends the new events to the [`Follower`]. If the journal cannot be read, logs
    /// the error; the next call tries again.
    fn read(&mut self) -> Result<(), ReceiverDropped> {
        loop {
            let Some((_, tail)) = &mut self.tail else {
                return Ok(());
            };
            let heard = match tail.read() {
                Ok(TailRead::Nothing) => return Ok(()),
                Ok(TailRead::Lines(lines)) => JournalUpdate::Appended(events(&lines)),
                Ok(TailRead::Replaced(lines, beginning)) => {
                    let mut all = self.setup(beginning);
                    all.extend(events(&lines));
                    JournalUpdate::Restarted(all, beginning)
                }
                Err(error) => {
                    // The next reading tries again.
                    tracing::warn!("the journal cannot be read: {error}");
                    return Ok(());
                }
            };
            self.say(heard)?;
        }
    }

    /// Returns the event `CrewEvent::Ready` from the start of the journal, which describes the crew, if only the newest
    /// part of the journal was read. Returns an empty list if the whole journal was read, or if there is no such event.
    fn setup(&self, beginning: JournalStart) -> Vec<Event> {
        let (JournalStart::Cut, Some((session, _))) = (beginning, &self.tail) else {
            return Vec::new();
        };
        let head = Journal::head(&self.root, session).unwrap_or_default();
        let mut events = events(&head);
        events.retain(|e| matches!(e.kind, EventKind::Crew(CrewEvent::Ready(_))));
        events.truncate(1);
        events
    }

    fn say(&self, heard: JournalUpdate) -> Result<(), ReceiverDropped> {
        self.tell.blocking_send(heard).map_err(|_| ReceiverDropped)
    }
}

fn events(lines: &[String]) -> Vec<Event> {
    lines.iter().filter_map(|l| resume::event(l)).collect()
}

/// Watches the folders of the lock file and of the journal for changes.
struct FolderWatch {
    watcher: Option<RecommendedWatcher>,
    /// The watched folders with their identities. A folder whose identity has changed was replaced by another one at
    /// the same path and needs a new watch.
    watched: BTreeMap<PathBuf, FolderId>,
}

impl FolderWatch {
    fn open(wake: SyncSender<()>) -> FolderWatch {
        let heard = move |event: notify::Result<notify::Event>| {
            // Ignore access events: reading the files causes them too.
            if !event.is_ok_and(|e| e.kind.is_access() && !e.need_rescan()) {
                let _ = wake.try_send(());
            }
        };
        FolderWatch {
            watcher: notify::recommended_watcher(heard).ok(),
            watched: BTreeMap::new(),
        }
    }

    /// Watches the folders `lock` and `journal` and no others. Returns the interval at which the caller must also poll
    /// the files.
    fn watch_folders(&mut self, lock: &Path, journal: Option<&Path>) -> Duration {
        let Some(watcher) = &mut self.watcher else {
            return POLL;
        };
        let wanted: Vec<&Path> = std::iter::once(lock).chain(journal).collect();
        let now: Vec<Option<FolderId>> = wanted.iter().map(|folder| identity(folder)).collect();
        self.watched.retain(|folder, before| {
            let same =
                |(path, now): (&&Path, &Option<FolderId>)| path == folder && *now == Some(*before);
            let stays = wanted.iter().zip(&now).any(same);
            if !stays {
                // Ignore errors: the system itself ends the watch of a removed folder.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        for (folder, now) in wanted.iter().zip(&now) {
            // If the folder is missing, the next call tries again.
            if let (Some(now), false) = (now, self.watched.contains_key(*folder))
                && watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
            {
                self.watched.insert(folder.to_path_buf(), *now);
            }
        }
        if self.watched.len() < wanted.len() {
            POLL
        } else if wanted.iter().any(|folder| is_shared_file_system(folder)) {
            POLL_SHARED
        } else {
            POLL_LOCAL
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;

    const WITHIN: Duration = Duration::from_secs(10);

    #[test]
    fn recreated_folder_is_watched_again() {
        let dir = tempfile::tempdir().unwrap();
        let [lock, journal] = ["lock", "journal"].map(|name| dir.path().join(name));
        fs::create_dir(&lock).unwrap();
        let (wake, hints) = sync_channel(1);
        let mut watch = FolderWatch::open(wake);
        assert_eq!(watch.watch_folders(&lock, None), POLL_LOCAL);
        assert_eq!(watch.watch_folders(&lock, Some(&journal)), POLL);
        fs::create_dir(&journal).unwrap();
        assert_eq!(watch.watch_folders(&lock, Some(&journal)), POLL_LOCAL);
        fs::write(journal.join("a"), "a").unwrap();
        assert_eq!(hints.recv_timeout(WITHIN), Ok(()));
        fs::remove_dir_all(&journal).unwrap();
        // Takes the freed inode, so that the new folder gets another one.
        fs::create_dir(dir.path().join("other")).unwrap();
        fs::create_dir(&journal).unwrap();
        assert_eq!(watch.watch_folders(&lock, Some(&journal)), POLL_LOCAL);
        // Drain the hints from removing the first folder.
        while hints.recv_timeout(Duration::from_millis(200)).is_ok() {}
        fs::write(journal.join("b"), "b").unwrap();
        assert_eq!(hints.recv_timeout(WITHIN), Ok(()));
    }
}
