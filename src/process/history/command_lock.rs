//! A command that runs in a work directory: a lock says so, and the command's result gets the notes of transfers before it.

use std::fs::File;
use std::io;

use super::folder::Folder;
use super::{FILE_MAX, Phase, PrivateHistory, TransferReport};

/// The file in the private folder that is locked while commands run, by each of them and its guard.
const COMMANDS: &str = "commands";
/// What transfers have left to say to the next command.
const NOTES: &str = "notes";

/// Says that a command runs as long as it exists. The kernel takes the lock back when the process is killed.
#[derive(Debug)]
pub struct CommandLock(File);

impl CommandLock {
    /// Takes the lock. Waits for a transfer that needs the work directory without commands.
    pub(super) fn take(dir: &Folder) -> io::Result<CommandLock> {
        let file = dir.lock_file(COMMANDS)?;
        file.lock_shared()?;
        Ok(CommandLock(file))
    }
}

impl Drop for CommandLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a program that is just being started may have a copy of it.
        let _ = self.0.unlock();
    }
}

/// Whether no command holds a [`CommandLock`]. Only for who holds the lock of transfers: no command starts then.
pub(super) fn is_unused(dir: &Folder) -> io::Result<bool> {
    let file = dir.lock_file(COMMANDS)?;
    match file.try_lock() {
        Ok(()) => file.unlock().map(|()| true),
        Err(std::fs::TryLockError::WouldBlock) => Ok(false),
        Err(std::fs::TryLockError::Error(e)) => Err(e),
    }
}

/// Keeps what a transfer has to say for the result of the next command.
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

/// Takes what earlier transfers have left.
pub(super) fn take_notes(dir: &Folder) -> io::Result<Option<String>> {
    let text = dir.read(NOTES, FILE_MAX)?;
    if text.is_some() {
        dir.remove_file(NOTES)?;
    }
    Ok(text.map(|text| text.trim_end().to_string()))
}

/// A command of which the history knows. It ends with [`CommandTransfer::finish`], or when crewdeck does.
#[derive(Debug)]
pub struct CommandTransfer {
    history: PrivateHistory,
    phase: Phase,
    lock: Option<CommandLock>,
}

impl PrivateHistory {
    /// Transfers what earlier commands have left, and says that a command runs.
    pub fn start(&self, phase: Phase) -> CommandTransfer {
        let mut lock = None;
        if let Err(why) = self.transfer(phase, &mut lock) {
            // The command still gets the private part, and what earlier ones made is transferred after it.
            tracing::error!("the git changes of earlier commands were not transferred: {why}");
        }
        CommandTransfer {
            history: self.clone(),
            phase,
            lock,
        }
    }

    /// Says that a command runs, for its guard: it outlives a crewdeck that is killed.
    ///
    /// # Errors
    /// When the private folder cannot be written.
    pub fn hold(&self) -> io::Result<CommandLock> {
        CommandLock::take(&self.folder()?)
    }
}

impl CommandTransfer {
    /// Transfers what the command has left.
    ///
    /// # Errors
    /// When a file cannot be read or written, or git fails. Nothing is lost then: the next transfer tries again.
    pub fn finish(mut self) -> io::Result<TransferReport> {
        if self.phase == Phase::BeforePrivate {
            return self.history.transfer(Phase::After, &mut self.lock);
        }
        Ok(TransferReport {
            earlier: take_notes(&self.history.folder()?)?,
            ..TransferReport::default()
        })
    }
}
