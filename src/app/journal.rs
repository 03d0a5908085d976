//! The journal: every event but deltas, one JSON line each, written by a thread of its own.

use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use crate::protocol::Event;
use crate::store::{Journal as File, StoreError};

/// Lines that may wait for the disk.
const LINES_MAX: usize = 1024;

/// A journal that is being written.
pub struct Journal {
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    missed: u64,
}

impl Journal {
    /// Opens the journal of `session`.
    ///
    /// # Errors
    /// When its folder can not be made.
    pub fn open(root: &Path, session: &str) -> Result<Journal, StoreError> {
        let mut file = File::open(root, session)?;
        let (lines, queue) = sync_channel::<String>(LINES_MAX);
        let writer = std::thread::spawn(move || {
            for line in queue {
                if let Err(error) = file.append(&line) {
                    tracing::error!("the journal can not be written: {error}");
                    return;
                }
            }
        });
        Ok(Journal {
            lines: Some(lines),
            writer: Some(writer),
            missed: 0,
        })
    }

    /// Writes an event down. Never waits: when the disk is too slow for [`LINES_MAX`] lines, it is
    /// counted as missed.
    pub fn note(&mut self, event: &Event) {
        if event.kind.is_delta() {
            return;
        }
        let (Some(lines), Ok(line)) = (&self.lines, serde_json::to_string(event)) else {
            return;
        };
        match lines.try_send(line) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.missed += 1,
        }
    }

    /// How many events could not be written.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            // The thread ends with its queue; a panic in it was already told by the panic hook.
            let _ = writer.join();
        }
    }
}
