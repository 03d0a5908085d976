//! The lock that marks a running command in a work directory, and the notes that are shown in the result of the next
//! command.

use std::fs::File;
use std::io;

use super::folder::Folder;
use super::{FILE_MAX, PrivateHistory, TransferPhase, TransferReport};

/// The name of the lock file in the private folder ([`PrivateHistory::dir`]). For each running command, crewdeck and
/// the command's supervisor hold a shared lock on the file.
const COMMANDS: &str = "commands";
/// The name of the file that stores notes for the model about changes that were refused and files that were restored
/// ([`TransferReport::note`]). The result of the next command shows them.
const NOTES: &str = "notes";

/// A shared lock that marks a running command. The kernel releases it when the process is killed.
#[derive(Debug)]
pub struct CommandLock(File);

impl CommandLock {
    /// Acquires the lock. Blocks while [`if_unused`] holds the lock exclusively.
    pub(super) fn take(dir: &Folder) -> io::Result<CommandLock> {
        let file = dir.lock_file(COMMANDS)?;
        file.lock_shared()?;
        Ok(CommandLock(file))
    }
}

impl Drop for CommandLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child between fork and exec may have a copy of the descriptor.
        let _ = self.0.unlock();
    }
}

/// Calls `then` and returns its result, if no command holds a [`CommandLock`]; otherwise returns `None`. No command can
/// take the lock until `then` returns. The caller must hold the lock of [`super::lock`].
pub(super) fn if_unused<T>(dir: &Folder, then: impl FnOnce() -> T) -> io::Result<Option<T>> {
    let file = dir.lock_file(COMMANDS)?;
    match file.try_lock() {
        Ok(()) => {
            let result = then();
            file.unlock().map(|()| Some(result))
        }
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(e)) => Err(e),
    }
}

/// Returns whether a command or a transfer has ever run in the work directory.
pub(super) fn was_used(dir: &Folder) -> io::Result<bool> {
    Ok(dir.kind(COMMANDS)?.is_some())
}

/// Adds the note of `transferred`, if there is one, to the stored notes, which the result of the next command shows. If
/// the notes would reach [`FILE_MAX`] bytes, deletes the older notes.
pub(super) fn leave_note(dir: &Folder, transferred: &TransferReport) -> io::Result<()> {
    let Some(note) = transferred.note() else {
        return Ok(());
    };
    let mut text = dir.read(NOTES, FILE_MAX).ok().flatten().unwrap_or_default();
    if (text.len() + note.len()) as u64 >= FILE_MAX {
        text.clear();
    }
    dir.write(NOTES, &format!("{text}{note}\n"))
}

/// Returns the stored notes of earlier transfers, and deletes them. Returns `None` if there are none.
pub(super) fn take_notes(dir: &Folder) -> io::Result<Option<String>> {
    let text = dir.read(NOTES, FILE_MAX)?;
    if text.is_some() {
        dir.remove_file(NOTES)?;
    }
    Ok(text.map(|text| text.trim_end().to_string()))
}

/// Copies the git changes of commands from the private history to the repository, before and after one command.
/// [`PrivateHistory::start`] does so before the command, [`CommandTransfer::finish`] after it.
#[derive(Debug)]
pub struct CommandTransfer {
    history: PrivateHistory,
    phase: TransferPhase,
    lock: Option<CommandLock>,
}

impl PrivateHistory {
    /// Copies the git changes of earlier commands from the private history to the repository, and marks the new command
    /// as running. `phase` is [`TransferPhase::BeforePrivate`] or [`TransferPhase::BeforeRepository`]. Blocks. An error
    /// is only logged, because the next transfer tries again.
    pub fn start(&self, phase: TransferPhase) -> CommandTransfer {
        let mut lock = None;
        if let Err(why) = self.transfer(phase, &mut lock) {
            // The command still gets the private history, and the transfer after it tries again.
            tracing::error!("the git changes of earlier commands were not transferred: {why}");
        }
        CommandTransfer {
            history: self.clone(),
            phase,
            lock,
        }
    }

    /// Marks a command as running until the returned lock is dropped. Called by the supervisor, which survives if
    /// crewdeck is killed.
    ///
    /// # Errors
    /// Fails if the private folder cannot be written.
    pub fn mark_running(&self) -> io::Result<CommandLock> {
        CommandLock::take(&self.folder()?)
    }
}

impl CommandTransfer {
    /// Copies the git changes of the command to the repository, if the command wrote to the private history. Returns
    /// what the model must know: the changes that were refused, the files that were restored, and the stored notes.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or git fails. No change is lost: the next transfer tries again.
    pub fn finish(mut self) -> io::Result<TransferReport> {
        if self.phase == TransferPhase::BeforePrivate {
            return self.history.transfer(TransferPhase::After, &mut self.lock);
        }
        Ok(TransferReport {
            earlier: take_notes(&self.history.folder()?)?,
            ..TransferReport::default()
        })
    }
}
