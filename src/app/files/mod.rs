//! Finds files for the mention that is being typed. A thread reads the list of files at the first query and then matches
//! queries against it. Until the list is complete, it publishes the matches among the files that it has read: first those
//! of the top directory, which take about a millisecond. There is no thread before the first query.

mod index;
mod search;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::index::{FileIndex, FileReader};
use self::search::FileSearch;
use crate::ui::{FileListState, FoundFiles};

/// Age from which the list is read again when a new mention begins. The old list is used meanwhile.
const STALE: Duration = Duration::from_secs(5);
/// Time after which matches are published while the list is read for the first time. Doubled each time.
const FIRST_MATCHES: Duration = Duration::from_millis(10);

/// Finds files of the project.
pub struct FileFinder {
    root: PathBuf,
    last: Option<String>,
    thread: Option<FinderThread>,
}

struct FinderThread {
    queries: Sender<Query>,
    found: watch::Receiver<Option<FoundFiles>>,
}

struct Query {
    text: String,
    /// Whether a new mention begins, so that an old list is read again.
    is_first: bool,
}

impl FileFinder {
    /// Creates a finder of the files below `root`.
    pub fn new(root: &Path) -> FileFinder {
        FileFinder {
            root: root.to_path_buf(),
            last: None,
            thread: None,
        }
    }

    /// Searches for `query`, if it differs from the last one. `None` means that no mention is being typed.
    pub fn find(&mut self, query: Option<String>) {
        if query == self.last {
            return;
        }
        let is_first = self.last.is_none();
        self.last.clone_from(&query);
        let Some(text) = query else { return };
        if self.thread.is_none() {
            self.thread = start(self.root.clone());
        }
        if let Some(thread) = &self.thread {
            // The thread ends only with the finder.
            let _ = thread.queries.send(Query { text, is_first });
        }
    }

    /// Waits for the next result. Never returns before the first query.
    pub async fn next(&mut self) -> FoundFiles {
        if let Some(thread) = &mut self.thread {
            while thread.found.changed().await.is_ok() {
                if let Some(found) = thread.found.borrow_and_update().clone() {
                    return found;
                }
            }
        }
        std::future::pending().await
    }
}

/// Starts the thread. Without one, no files are offered.
fn start(root: PathBuf) -> Option<FinderThread> {
    let (queries, asked) = mpsc::channel();
    let (out, found) = watch::channel(None);
    let thread = std::thread::Builder::new().name("files".into());
    let started = thread.spawn(move || answer(&root, &asked, &out));
    started.ok().map(|_| FinderThread { queries, found })
}

/// Answers queries until the finder is dropped. Only the newest query counts.
fn answer(root: &Path, asked: &Receiver<Query>, out: &watch::Sender<Option<FoundFiles>>) {
    let mut search: Option<(FileSearch, Instant)> = None;
    let mut next = asked.recv().ok();
    while let Some(query) = next.take() {
        let mut newer;
        let fresh = match &mut search {
            Some((search, read)) => {
                newer = publish(search, &query.text, asked, out);
                let is_stale = query.is_first && read.elapsed() > STALE;
                is_stale.then(|| FileReader::new(root, None).read(&mut || false))
            }
            None => {
                let (index, last) = read_and_publish(root, &query, asked, out);
                newer = last;
                Some(index)
            }
        };
        if let Some(index) = fresh {
            let mut fresh = FileSearch::new(index);
            let query = asked.try_iter().last().or(newer).unwrap_or(query);
            newer = publish(&mut fresh, &query.text, asked, out);
            search = Some((fresh, Instant::now()));
        }
        next = newer.or_else(|| asked.recv().ok());
    }
}

/// Reads the list of files. Meanwhile publishes the matches among the files read so far, for the newest query. Returns
/// also the newest query, if one came after `query`.
fn read_and_publish(
    root: &Path,
    query: &Query,
    asked: &Receiver<Query>,
    out: &watch::Sender<Option<FoundFiles>>,
) -> (FileIndex, Option<Query>) {
    let mut newest = None;
    let mut wait = FIRST_MATCHES;
    let mut until = Instant::now() + wait;
    let mut index = FileIndex::read_top(root, &mut || Instant::now() >= until);
    let mut reader = FileReader::new(root, None);
    loop {
        let text = newest.as_ref().map_or(&query.text, |q: &Query| &q.text);
        if index.state != FileListState::Reading {
            return (index, newest);
        }
        let newer = publish(&mut FileSearch::new(index), text, asked, out);
        let is_answered = newer.is_none();
        newest = newer.or(newest);
        until = Instant::now() + if is_answered { wait } else { Duration::ZERO };
        wait = wait.saturating_mul(2);
        index = reader.read(&mut || {
            let newer = asked.try_iter().last();
            let pauses = newer.is_some() || Instant::now() >= until;
            newest = newer.or_else(|| newest.take());
            pauses
        });
    }
}

/// Publishes the matches of a query. Returns the newer query that interrupted it.
fn publish(
    search: &mut FileSearch,
    query: &str,
    asked: &Receiver<Query>,
    out: &watch::Sender<Option<FoundFiles>>,
) -> Option<Query> {
    let mut newer = None;
    let mut is_outdated = || {
        newer = asked.try_iter().last().or(newer.take());
        newer.is_some()
    };
    if let Some(found) = search.find(query, &mut is_outdated) {
        out.send_replace(Some(found));
    }
    newer
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[tokio::test]
    async fn files_are_read_at_the_first_query() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("README.md"), "x").unwrap();
        let mut finder = FileFinder::new(dir.path());
        finder.find(None);
        assert!(finder.thread.is_none());
        finder.find(Some("read".into()));
        let found = loop {
            let found = finder.next().await;
            if found.state != FileListState::Reading {
                break found;
            }
        };
        assert_eq!(found.query, "read");
        let paths: Vec<&str> = found.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["README.md"]);
    }
}
