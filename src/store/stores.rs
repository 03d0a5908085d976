//! The shared state of one crew: its board, messages, requests and roster, all in the same place.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::watch::{self, Dirty};
use super::{Board, HostSession, HostStore, Mailbox, Requests, Roster, StoreError};

/// Called with each part of the state that may have changed. It may block.
pub type ChangeReport = Box<dyn Fn(Dirty) + Send>;

/// Reports changes of the shared state, by this and all other processes.
pub trait StateWatch: fmt::Debug + Send + Sync {
    /// Calls `report` from a separate thread after each change, until the returned value is dropped. Reports are hints: a
    /// part may be reported without a change, and several changes as one.
    ///
    /// # Errors
    /// When the watch cannot be started.
    fn watch(&self, report: ChangeReport) -> Result<Box<dyn Send>, StoreError>;
}

/// The handles of the shared state. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stores {
    pub board: Board,
    pub mailbox: Mailbox,
    pub requests: Requests,
    pub roster: Roster,
    /// Reports changes of the state behind these handles.
    pub changes: Arc<dyn StateWatch>,
    /// The hosts of the crew; `None` if the crew is on this machine only.
    pub hosts: Option<Arc<dyn HostStore>>,
}

impl Stores {
    /// Returns the state in the files of the project in `root`. Reads nothing yet.
    pub fn open(root: &Path) -> Stores {
        Stores {
            board: Board::open(root),
            mailbox: Mailbox::open(root),
            requests: Requests::open(root),
            roster: Roster::open(root),
            changes: Arc::new(FileWatch(root.to_path_buf())),
            hosts: None,
        }
    }

    /// Returns the state for the agents of a host: see [`Board::with_host`], [`Mailbox::with_host`], [`Requests::with_host`]
    /// and [`Roster::with_host`].
    #[must_use]
    pub fn with_host(self, session: Arc<dyn HostSession>) -> Stores {
        Stores {
            board: self.board.with_host(Arc::clone(&session)),
            mailbox: self.mailbox.with_host(Arc::clone(&session)),
            requests: self.requests.with_host(Arc::clone(&session)),
            roster: self.roster.with_host(session),
            ..self
        }
    }
}

/// Watches the state folders of the project in this root.
#[derive(Debug)]
struct FileWatch(PathBuf);

impl StateWatch for FileWatch {
    fn watch(&self, report: ChangeReport) -> Result<Box<dyn Send>, StoreError> {
        Ok(Box::new(watch::start_without_skills(&self.0, report)?))
    }
}
