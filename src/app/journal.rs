//! Writes the journal on a separate thread: one JSON line for each event, except for the pieces of streamed answers
//! (deltas) and the lists of what MCP servers offer.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;

use crate::protocol::{CrewEvent, Event, EventKind};
use crate::store::{Journal as File, StoreError};

/// Maximum number of lines that are queued for the writer thread.
const LINES_MAX: usize = 1024;

/// A handle to the journal's writer thread. Dropping it waits until all queued lines are written.
pub struct JournalWriter {
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    warnings: Receiver<String>,
    missed: u64,
}

impl JournalWriter {
    /// Opens the journal of `session` for appending. Errors are reported by [`JournalWriter::note`].
    pub fn open(root: &Path, session: &str) -> JournalWriter {
        let (lines, queue) = sync_channel::<String>(LINES_MAX);
        let (warn, warnings) = channel();
        let mut writer = WriterState {
            root: root.to_path_buf(),
            session: session.to_string(),
            file: None,
            missed: 0,
            warn,
        };
        let writer = std::thread::spawn(move || queue.iter().for_each(|line| writer.write(&line)));
        JournalWriter {
            lines: Some(lines),
            writer: Some(writer),
            warnings,
            missed: 0,
        }
    }

    /// Queues an event for writing. Never blocks: if [`LINES_MAX`] lines are already queued, drops the event and counts
    /// it as missed. Returns a warning for the user when writing has begun to fail, and another one when it works
    /// again, else `None`.
    pub fn note(&mut self, event: &Event) -> Option<String> {
        // The lists of what MCP servers offer can be large and are needed only in the present session.
        let is_left_out = event.kind.is_delta()
            || matches!(event.kind, EventKind::Crew(CrewEvent::OffersListed(_)));
        if let (false, Some(lines), Ok(line)) =
            (is_left_out, &self.lines, serde_json::to_string(event))
        {
            match lines.try_send(line) {
                Ok(()) => {}
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.missed += 1,
            }
        }
        self.warnings.try_recv().ok()
    }

    /// Returns the number of events that were dropped because the queue was full.
    pub fn missed_count(&self) -> u64 {
        self.missed
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(writer) = self.writer.take() {
            // The thread ends because its queue is closed. If the thread has panicked, the panic hook has already
            // reported it.
            let _ = writer.join();
        }
    }
}

/// The state of the writer thread. After a write error, the thread still tries to write each further line.
struct WriterState {
    root: PathBuf,
    session: String,
    file: Option<File>,
    /// The number of lines lost since the last successful write.
    missed: u64,
    /// Sends warnings for the user: one when writing begins to fail, and one when it works again.
    warn: Sender<String>,
}

impl WriterState {
    fn write(&mut self, line: &str) {
        match (self.try_write(line), self.missed) {
            (Ok(()), 0) => {}
            (Ok(()), missed) => {
                self.missed = 0;
                self.send(format!(
                    "The journal is being written again; {missed} events are missing from it."
                ));
            }
            (Err(error), missed) => {
                self.missed += 1;
                if missed == 0 {
                    self.send(format!(
                        "The journal cannot be written, so --resume will not show current events: {error}"
                    ));
                }
            }
        }
    }

    fn try_write(&mut self, line: &str) -> Result<(), StoreError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.root, &self.session)?),
        };
        file.append(line)
    }

    fn send(&self, text: String) {
        // If the receiver was dropped, the journal is being closed and the warning is not needed.
        let _ = self.warn.send(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;
    use crate::protocol::event::{CrewEvent, EventKind};
    use pretty_assertions::assert_eq;

    #[test]
    fn write_failure_is_reported_once_and_writing_continues() {
        let dir = tempfile::tempdir().unwrap();
        let in_the_way = dir.path().join(".crewdeck");
        std::fs::write(&in_the_way, "").unwrap();
        let (warn, warnings) = channel();
        let mut writer = WriterState {
            root: dir.path().to_path_buf(),
            session: "s1".into(),
            file: None,
            missed: 0,
            warn,
        };
        writer.write("1");
        writer.write("2");
        std::fs::remove_file(in_the_way).unwrap();
        writer.write("3");
        writer.write("4");
        assert_eq!(File::read(dir.path(), "s1").unwrap(), ["3", "4"]);
        let texts: Vec<String> = warnings.try_iter().collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].contains("--resume will not show"), "{texts:?}");
        assert!(texts[1].contains("2 events are missing"), "{texts:?}");
    }

    #[test]
    fn dropping_the_journal_flushes_its_events() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = JournalWriter::open(dir.path(), "s1");
        let event = Event {
            seq: 1,
            at: Timestamp(1.0),
            kind: EventKind::Crew(CrewEvent::AllIdle),
        };
        assert_eq!((journal.note(&event), journal.missed_count()), (None, 0));
        drop(journal);
        assert_eq!(File::read(dir.path(), "s1").unwrap().len(), 1);
    }
}
