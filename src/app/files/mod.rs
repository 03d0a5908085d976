//! Finds files for the mention that the user is typing. A thread reads the list of files and then matches queries
//! against it; the thread starts with the first query. Until the list is complete, the thread publishes matches among
//! the files read so far, beginning with those of the top directory, which are read in about a millisecond.

mod index;
mod search;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::index::{FileIndex, FileReader};
use self::search::FileSearch;
use crate::ui::FoundFiles;

/// Maximum age of the list of files when a new mention begins. An older list is read again; until that is done, the old
/// list is used.
const STALE: Duration = Duration::from_secs(5);
/// Maximum time from the first query until the first matches are published, while the list of files is still being read.
/// The next matches follow after the same time, and each further interval is twice as long as the previous one.
const FIRST_MATCHES: Duration = Duration::from_millis(10);

/// Finds files of the project, on a thread that starts with the first query.
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
    /// Whether this is the first query of a mention. If so, a list of files older than `STALE` is read again.
    is_first: bool,
}

impl FileFinder {
    pub fn new(root: &Path) -> FileFinder {
        FileFinder {
            root: root.to_path_buf(),
            last: None,
            thread: None,
        }
    }

    /// Searches for `query` if it differs from the previous one. `None` means that no mention is being typed.
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

/// Starts the thread that reads and searches the files. Returns `None` if the thread cannot be started; the composer
/// then offers no files.
fn start(root: PathBuf) -> Option<FinderThread> {
    let (queries, asked) = mpsc::channel();
    let (out, found) = watch::channel(None);
    let thread = std::thread::Builder::new().name("files".into());
    let started = thread.spawn(move || answer(&root, &asked, &out));
    started.ok().map(|_| FinderThread { queries, found })
}

/// Answers queries until the finder is dropped. If several queries wait, answers only the newest one.
fn answer(root: &Path, asked: &Receiver<Query>, out: &watch::Sender<Option<FoundFiles>>) {
    let mut search: Option<(FileSearch, Instant)> = None;
    let mut next = asked.recv().ok();
    while let Some(query) = next.take() {
        let mut newer = None;
        let mut is_stale = true;
        if let Some((search, read)) = &mut search {
            newer = publish(search, &query.text, asked, out);
            is_stale = query.is_first && read.elapsed() > STALE;
        }
        if is_stale {
            let query = newer.take().unwrap_or(query);
            let old = search.as_mut().map(|(search, _)| search);
            let (index, query) = read_files(root, old, query, asked, out);
            let mut fresh = FileSearch::new(index);
            newer = publish(&mut fresh, &query.text, asked, out);
            search = Some((fresh, Instant::now()));
        }
        next = newer.or_else(|| asked.recv().ok());
    }
}

/// Reads the list of files. Meanwhile answers queries from the `old` list. Without an old list, publishes the matches
/// of the query among the files read so far. Returns the list and the newest query.
fn read_files(
    root: &Path,
    mut old: Option<&mut FileSearch>,
    mut query: Query,
    asked: &Receiver<Query>,
    out: &watch::Sender<Option<FoundFiles>>,
) -> (FileIndex, Query) {
    let mut reader = FileReader::new(root, None);
    let mut wait = FIRST_MATCHES;
    let mut part = old.is_none().then(|| {
        let until = Instant::now() + wait;
        FileSearch::new(FileIndex::read_top(root, &mut || Instant::now() >= until))
    });
    let mut is_due = part.is_some();
    loop {
        if is_due
            && let Some(search) = part.as_mut().or(old.as_deref_mut())
            && let Some(newer) = publish(search, &query.text, asked, out)
        {
            query = newer;
            continue;
        }
        let until = part.is_some().then(|| Instant::now() + wait);
        wait = wait.saturating_mul(2);
        let mut newer = None;
        let is_complete = reader.read(&mut || {
            newer = asked.try_iter().last().or_else(|| newer.take());
            newer.is_some() || until.is_some_and(|until| Instant::now() >= until)
        });
        is_due = newer.is_some() || part.is_some();
        query = newer.unwrap_or(query);
        if is_complete {
            return (reader.list(), query);
        }
        if part.is_some() {
            part = Some(FileSearch::new(reader.list()));
        }
    }
}

/// Publishes the matches of a query and returns `None`. If a newer query arrives during the search, publishes nothing
/// and returns the newer query.
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
    use crate::ui::FileListState;
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
