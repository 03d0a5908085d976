//! The stores: they read and write the state of the crew on disk. Files that several processes change (tasks, inboxes,
//! roster, requests, registry of worktrees) are changed only here and only under a lock. The other files, such as
//! conversations and journals, have one writer at a time.
//!
//! The shared state of a crew (tasks, messages, requests, roster) is behind one trait each ([`BoardStore`], [`MailStore`],
//! [`RequestStore`], [`RosterStore`]). The handles ([`Board`], [`Mailbox`], [`Requests`], [`Roster`]) contain the rules
//! and work with every store. The files are the embedded store; a [`Hub`] is another one, which several machines reach.
//!
//! The file formats are the same as in learn-claude-code, so that its programs and crewdeck can share a board. Its
//! programs take no lock that another process can see. crewdeck therefore replaces files atomically and, right before a
//! change, checks the files that the change depends on. If crewdeck and such a program change one task at the same
//! instant, the later write wins. See [`Board`] for the guarantees.

pub mod atomic;
mod attachments;
mod board;
mod checkpoints;
mod checks;
mod cursor;
mod environment;
#[cfg(test)]
pub(crate) mod fake_program;
mod file_fingerprint;
mod file_mail;
mod file_reader;
mod file_requests;
mod file_roster;
mod git;
mod host_file;
mod host_store;
mod hub;
pub mod image_metadata;
mod in_use;
pub(crate) mod inbox;
mod inbox_reader;
mod journal;
mod leftovers;
mod line_end;
mod machine;
mod mail_store;
mod mailbox;
mod markdown_files;
mod memory;
mod notices;
pub mod os_errors;
mod prompt_queue;
pub(crate) mod read_stable;
mod refs;
pub mod regular_file;
mod request_store;
mod requests;
mod rewind_log;
mod roles;
mod root;
mod roster;
mod roster_store;
mod skills;
pub mod socket_folder;
mod spending;
mod stores;
mod take_task;
mod team_presets;
mod time_zone;
mod transcript;
pub mod walk;
pub mod watch;
mod worktrees;

use std::path::PathBuf;

use crate::domain::graph::GraphError;
use crate::domain::ids::{Name, RequestId, TaskId};
use crate::domain::request::RequestError;
use crate::domain::team::TeamError;
use crate::domain::worktree::WorktreeError;

pub use attachments::AttachmentStore;
pub(crate) use board::rewrite_change_log;
pub use board::{
    Board, BoardSnapshot, BoardStore, BoardTransaction, BoardUpdate, FirstWrite, TaskSet,
    TransactionBody,
};
pub use checkpoints::{CheckpointError, Checkpoints, Cleanup};
pub use checks::{CHECK_LOG_MAX, CheckStore, StoredCheck};
pub use cursor::Cursor;
pub use environment::environment;
pub use file_fingerprint::FileFingerprint;
pub use git::{
    COMMIT as FIRST_COMMIT, GitError, GitFacts, INIT_AND_COMMIT, PushHooks, RemoteFailure,
    RemoteLogin, RemoteTransport, RepositoryFacts, create_first_commit as begin_repository,
    facts as git_facts, transport_of,
};
pub use host_file::DirectoryHost;
#[cfg(test)]
pub use host_store::FakeHostSession;
pub use host_store::{
    ConnectionReport, EventReport, EventStart, HostEvents, HostReport, HostSession, HostStore,
};
pub use hub::{
    Hub, HubAddress, HubError, HubLogin, HubSecret, HubSettings, HubStorage, UnsignedReports,
};
pub use in_use::task_in_worktree;
pub use inbox_reader::InboxReader;
pub use journal::{Journal, JournalStart, JournalTail, TailRead};
pub use leftovers::{DamagedFile, Leftovers, has_state, leftovers, may_have_run, size_below};
pub use machine::{core_count, load_average, machine_name};
pub use mail_store::{
    MailStore, ReaderSession, ReadyFilter, RecentMessages, UnreadCount, UnreadMessages,
};
pub use mailbox::Mailbox;
pub use memory::project_memory;
#[cfg(test)]
pub use prompt_queue::DROPPED_MARK;
pub use prompt_queue::{PROMPTS_MAX, PromptQueue, QueuedPrompt};
pub use refs::checked_out;
pub use request_store::{RequestEdit, RequestStore, RequestsSnapshot};
pub use requests::Requests;
pub use rewind_log::{FoundPlace, RewoundLog, rewind_log};
pub use roles::Roles;
pub use root::{find_root, git_dirs, prepare};
pub use roster::Roster;
pub use roster_store::{RosterStore, TeamEdit};
pub use skills::{LoadedSkill, Skills, SkillsFingerprint};
pub use spending::{SpendingFile, SpendingUpdate, local_day};
pub use stores::{StateWatch, Stores};
pub use take_task::take_task;
pub use team_presets::team_preset;
pub use time_zone::local_time_zone;
pub use transcript::{AppendResult, LoadedTranscript, TranscriptFile, last_subagent, sessions};
pub use worktrees::{
    BranchExchange, BranchSnapshot, CACHE_VARIABLE, CheckCache, CombineOutcome, CombinedBranch,
    CombinedBranches, CommandTurn, Debris, FetchedBranch, FetchedBranches, LandedCommit,
    LandedCommits, Landing, NeededWork, NewWorktree, OrphanKind, OrphanWorktree, OutgoingQuery,
    PORT_VARIABLE, Published, ScanMode, Teardown, TrainBranch, TrainLock, TrainPlan, TrainPlans,
    WorkFolder, WorktreeCommands, WorktreeList, Worktrees,
};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    // The cause is part of the message and therefore not a `source`: otherwise it would be printed twice.
    #[error("{path}: {}", os_errors::explain(why))]
    File { path: PathBuf, why: std::io::Error },
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Team(#[from] TeamError),
    #[error(transparent)]
    Request(#[from] RequestError),
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Hub(#[from] HubError),
    /// Another process is present as the host.
    #[error("{0}")]
    HostInUse(String),
    /// Another process leads the crew.
    #[error("{text}")]
    LeadInUse {
        /// The name of its host; empty if it is unknown.
        host: String,
        text: String,
    },
    /// An agent of this host cannot act as the owner of the task. The string says why.
    #[error("task {0} is not claimed for this host: {1}")]
    ClaimLost(TaskId, String),
    /// This host has lost its session. The string names what its agents can no longer do.
    #[error(
        "agents of this host can no longer {0}, because the connection to the hub was lost for too long: start crewdeck again"
    )]
    HostLost(&'static str),
    #[error("there is no request {0}: it may have been decided and deleted")]
    NoRequest(RequestId),
    /// Another process holds the reader lock of the inbox.
    #[error("another program{by} is reading the messages of {name}: try again {until}")]
    BeingRead {
        /// The owner of the inbox.
        name: Name,
        /// The process that holds the lock, as ` (process 4711)`; empty if the process is unknown.
        by: String,
        /// When the lock ends, as the end of a sentence.
        until: &'static str,
    },
    /// A task file cannot be used; the string says why.
    #[error("task {0} cannot be used: {1}")]
    Unreadable(TaskId, String),
    /// A value cannot be stored, mostly because it is too long or too large. The string says why.
    #[error("{0}")]
    TooLong(String),
    /// An I/O error for which no path is known, unlike [`StoreError::File`].
    // The cause is not a `source`, because the message already contains it.
    #[error("{}", os_errors::explain(.0))]
    Io(std::io::Error),
    /// A value could not be serialized to JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl StoreError {
    /// Returns whether this process has lost an exclusive right, so that it must not act on it.
    pub fn is_lost_lease(&self) -> bool {
        matches!(
            self,
            StoreError::Hub(HubError::LostLease { .. })
                | StoreError::ClaimLost(..)
                | StoreError::HostLost(_)
        )
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> StoreError {
        StoreError::Io(error)
    }
}

impl StoreError {
    /// Returns a function that converts an I/O error at `path` into a [`StoreError::File`].
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = path.into();
        move |why| StoreError::File { path, why }
    }
}
