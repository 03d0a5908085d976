//! Floor 2: the doors to the state files. Nothing else touches them; every change is made under a lock.
//!
//! The formats are those of the reference, so that its programs and crewdeck can share a board. Its programs
//! take no lock that another process sees: against them, renames keep files whole and every change starts
//! from a fresh look at the files that it depends on, but of two changes to one task at the same instant the later
//! one wins. [`Board`] says it in detail.

pub mod atomic;
mod board;
mod cursor;
mod environment;
mod git;
mod in_use;
pub(crate) mod inbox;
mod journal;
mod leftovers;
mod line_end;
pub mod plain;
mod post;
mod print;
mod prompt_queue;
mod reader;
mod refs;
mod requests;
mod root;
mod roster;
pub(crate) mod settle;
mod skills;
mod taking;
mod transcript;
pub mod watch;
pub mod words;
mod worktrees;

use std::path::PathBuf;

use crate::domain::graph::GraphError;
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::request::RequestError;
use crate::domain::team::TeamError;
use crate::domain::worktree::WorktreeError;

pub(crate) use board::rewritten;
pub use board::{Board, News, Reading, Which};
pub use cursor::Cursor;
pub use environment::environment;
pub use git::{
    COMMIT as FIRST_COMMIT, GitError, GitFacts, INIT_AND_COMMIT, RepositoryFacts,
    begin as begin_repository, facts as git_facts, is_tracked,
};
pub use in_use::worked_in;
pub use journal::{Beginning, Journal, Tail, Tailed};
pub use leftovers::{Aside, Leftovers, is_used, leftovers, size_below};
pub use post::{Pending, Post, Recent, Waiting};
pub use prompt_queue::{PROMPTS_MAX, PromptQueue, QueuedPrompt};
pub use reader::Reader;
pub use refs::checked_out;
pub use requests::{Requests, RequestsReading};
pub use root::{git_dirs, prepare, root_of};
pub use roster::Roster;
pub use skills::{Fingerprint, LoadedSkill, Skills};
pub use taking::take_from;
pub use transcript::{Added, Recalled, Transcript, last_subagent, sessions};
pub use worktrees::{Debris, Listing, Look, NewWorktree, Seen, Stray, StrayKind, Worktrees};

/// Why a door did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder can not be read or written.
    // The cause stands in the words, so it is no `source`: it would be told twice.
    #[error("{path}: {}", words::why(why))]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: std::io::Error,
    },
    /// The board refuses.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The roster refuses.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The request refuses.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The worktrees refuse.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// Git could not do it.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is no such request.
    #[error("there is no request {0}: it may have been decided and cleaned up")]
    NoRequest(RequestId),
    /// The letters of somebody are being taken by another one.
    #[error(
        "the messages of {name} are being read by another program{by}: they wait until it has ended"
    )]
    BeingRead {
        /// Whose letters.
        name: Name,
        /// ` (process 4711)`, or nothing.
        by: String,
    },
    /// A task's file can not be used.
    #[error("task {0} can not be used: {1}")]
    Unreadable(TaskId, String),
    /// Something is too long to be kept.
    #[error("{0}")]
    TooLong(String),
    /// Anything else of the operating system.
    // No `source`, as above.
    #[error("{}", words::why(.0))]
    Io(std::io::Error),
    /// Something could not be put into JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> StoreError {
        StoreError::Io(error)
    }
}

impl StoreError {
    /// An error at a path.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.into();
        move |why| StoreError::File { path, why }
    }
}
