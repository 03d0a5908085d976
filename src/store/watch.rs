//! Watches the state folders. What it says is only "look again": events are hints, files are the truth.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};

use super::StoreError;

/// Events within this time are one.
const MERGE: Duration = Duration::from_millis(10);
/// How often everything is looked at although nothing was heard.
const NET: Duration = Duration::from_secs(5);
/// The same where nothing can be heard.
const POLL: Duration = Duration::from_secs(1);

/// What to look at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dirty {
    /// The board.
    Board,
    /// The roster.
    Roster,
    /// The requests.
    Requests,
    /// The inboxes.
    Mail,
}

impl Dirty {
    const ALL: [Dirty; 4] = [Dirty::Board, Dirty::Roster, Dirty::Requests, Dirty::Mail];
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// The system tells at once.
    Native,
    /// The system can not; everything is looked at once a second.
    Polling {
        /// Why.
        why: String,
    },
}

/// A watch; ends when dropped.
pub struct Watch {
    how: Watching,
    stop: Option<Sender<Note>>,
    thread: Option<JoinHandle<()>>,
    _watcher: Option<RecommendedWatcher>,
}

enum Note {
    Look(Dirty),
    Stop,
}

/// Watches the state folders below `root`, which exist, and calls `tell` from a thread of its own.
///
/// # Errors
/// When the thread can not be started.
pub fn start(root: &Path, tell: impl Fn(Dirty) + Send + 'static) -> Result<Watch, StoreError> {
    // Bounded by merging: the thread drains it every few milliseconds.
    let (notes, heard) = channel();
    let base = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
    let (watcher, how) = match native(&base, notes.clone()) {
        Ok(watcher) => (Some(watcher), Watching::Native),
        Err(error) => (
            None,
            Watching::Polling {
                why: error.to_string(),
            },
        ),
    };
    let net = if how == Watching::Native { NET } else { POLL };
    let thread = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || listen(&heard, net, &tell))?;
    Ok(Watch {
        how,
        stop: Some(notes),
        thread: Some(thread),
        _watcher: watcher,
    })
}

impl Watch {
    /// How changes are noticed.
    pub fn how(&self) -> &Watching {
        &self.how
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself; then nobody has to be told.
            let _ = stop.send(Note::Stop);
        }
        // Not joined: it may be inside `tell`, which may wait for the thread that drops this.
        drop(self.thread.take());
    }
}

fn native(base: &Path, notes: Sender<Note>) -> notify::Result<RecommendedWatcher> {
    let root = base.to_path_buf();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let Ok(event) = event else { return };
        // Our own reading raises access events: to look again because of them would never end.
        if event.kind.is_access() {
            return;
        }
        for dirty in event.paths.iter().filter_map(|p| dirty(&root, p)) {
            let _ = notes.send(Note::Look(dirty));
        }
    })?;
    for folder in [".tasks", ".team", ".team/inbox", ".team/requests"] {
        watcher.watch(&base.join(folder), RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

/// What a changed path makes dirty. Temporary files and locks make nothing dirty; a cursor tells that
/// letters were taken.
fn dirty(root: &Path, path: &Path) -> Option<Dirty> {
    let name = path.file_name()?.to_string_lossy();
    let folder: PathBuf = path.parent()?.strip_prefix(root).ok()?.to_path_buf();
    let is_hidden = name.starts_with('.');
    match folder.to_str()? {
        ".tasks" if !is_hidden => Some(Dirty::Board),
        ".team" if name == "config.json" => Some(Dirty::Roster),
        ".team/requests" if !is_hidden => Some(Dirty::Requests),
        ".team/inbox" if !is_hidden || name.ends_with(".cursor") => Some(Dirty::Mail),
        _ => None,
    }
}

fn listen(heard: &Receiver<Note>, net: Duration, tell: &impl Fn(Dirty)) {
    let mut last_net = Instant::now();
    loop {
        let mut look = Vec::new();
        match heard.recv_timeout(net.saturating_sub(last_net.elapsed())) {
            Ok(Note::Look(dirty)) => look.push(dirty),
            Ok(Note::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                last_net = Instant::now();
                look.extend(Dirty::ALL);
            }
        }
        let until = Instant::now() + MERGE;
        loop {
            match heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Note::Look(dirty)) if !look.contains(&dirty) => look.push(dirty),
                Ok(Note::Look(_)) => {}
                Ok(Note::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => break,
            }
        }
        look.into_iter().for_each(tell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    const WITHIN: Duration = Duration::from_secs(4);

    fn watched(root: &Path) -> (Watch, Receiver<Dirty>) {
        crate::store::prepare(root).unwrap();
        let (tell, told) = channel();
        (
            start(root, move |d| tell.send(d).unwrap_or_default()).unwrap(),
            told,
        )
    }

    #[test]
    fn every_kind_of_change_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (watch, told) = watched(dir.path());
        assert_eq!(watch.how(), &Watching::Native);
        for (file, dirty) in [
            (".tasks/task_1.json", Dirty::Board),
            (".team/config.json", Dirty::Roster),
            (".team/requests/r1.json", Dirty::Requests),
            (".team/inbox/bob.jsonl", Dirty::Mail),
            (".team/inbox/.bob.cursor", Dirty::Mail),
        ] {
            super::super::atomic::write(&dir.path().join(file), b"{}").unwrap();
            assert_eq!(told.recv_timeout(WITHIN), Ok(dirty), "{file}");
        }
    }

    #[test]
    fn reading_and_locking_tell_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (_watch, told) = watched(dir.path());
        let board = crate::store::Board::open(dir.path());
        for _ in 0..20 {
            board.read().unwrap();
        }
        let _lock = super::super::atomic::Lock::take(&dir.path().join(".tasks/.lock")).unwrap();
        super::super::atomic::write(&dir.path().join(".team/config.json"), b"{}").unwrap();
        assert_eq!(
            told.recv_timeout(WITHIN),
            Ok(Dirty::Roster),
            "the first that is told"
        );
    }
}
