//! Errors of checkpoints, with what the user can do about them.

use rustix::io::Errno;

use super::files::shown;
use crate::domain::checkpoint::CheckpointId;
use crate::store::git::GitError;
use crate::store::{StoreError, os_errors};

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The number, and what to use instead.
    #[error("there is no checkpoint {0}: {1}")]
    NotFound(CheckpointId, String),
    #[error("checkpoint {0} is damaged and cannot be used: choose another one")]
    Damaged(CheckpointId),
    /// A file of a checkpoint that git no longer has, because the project's own repository had it.
    #[error(
        "checkpoint {id} cannot be restored: the content of {path} is gone from the repository, probably through git gc. Nothing was changed"
    )]
    Gone { id: CheckpointId, path: String },
    #[error(
        "the conversation of checkpoint {0} is not available: it was empty, is held by an external agent, or its log was deleted"
    )]
    NoPlace(CheckpointId),
    #[error("{0} no longer exists, so its files cannot be restored")]
    NoFolder(String),
    /// The operation, such as `a merge`, and the directory.
    #[error("{0} is in progress in {1}: finish or abort it first")]
    InProgress(String, String),
    #[error("the work directory has more than {0} files: let git ignore what need not be kept")]
    TooManyFiles(usize),
    #[error(
        "more than {0} MiB of files that git does not ignore are new or have changed: commit them, or add what need not be kept to .gitignore"
    )]
    TooMuch(u64),
    #[error("more than {0} files are too large or cannot be read: let git ignore them")]
    TooManySkipped(usize),
    /// The checkpoint of the files before the rewind, and why the rewind could not be finished.
    #[error(
        "a rewind that was interrupted could not be finished: {1}. Checkpoint {0} has the files before it"
    )]
    NotFinished(CheckpointId, String),
    #[error("{path} cannot be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("another crewdeck is using the checkpoints: try again in a moment")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl CheckpointError {
    pub(super) fn read(path: &[u8], error: Errno) -> CheckpointError {
        let path = if path.is_empty() {
            b".".as_slice()
        } else {
            path
        };
        CheckpointError::Unreadable {
            path: shown(path),
            why: os_errors::explain(&error.into()),
        }
    }
}
