//! The journal: every event but deltas, one JSON line each, written by a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;

use crate::protocol::Event;
use crate::store::{Journal as File, StoreError};

/// Lines that may wait for the disk.
const LINES_MAX: usize = 1024;

/// A journal that is being written.
pub struct Journal {
    lines: Option<SyncSender<String>>,
    writer: Option<JoinHandle<()>>,
    told: Receiver<String>,
    missed: u64,
}

impl Journal {
    /// Begins or goes on with the journal of `session`. Where it can not be written, [`Journal::note`] says so.
    pub fn open(root: &Path, session: &str) -> Journal {
        let (lines, queue) = sync_channel::<String>(LINES_MAX);
        let (tell, told) = channel();
        let mut writer = Writer {
            root: root.to_path_buf(),
            session: session.to_string(),
            file: None,
            missed: 0,
            tell,
        };
        let writer = std::thread::spawn(move || queue.iter().for_each(|line| writer.write(&line)));
        Journal {
            lines: Some(lines),
            writer: Some(writer),
            told,
            missed: 0,
        }
    }

    /// Writes an event down. Never waits: when the disk is too slow for [`LINES_MAX`] lines, it is
    /// counted as missed. What the person should know of the journal comes back, once.
    pub fn note(&mut self, event: &Event) -> Option<String> {
        if let (false, Some(lines), Ok(line)) = (
            event.kind.is_delta(),
            &self.lines,
            serde_json::to_string(event),
        ) {
            match lines.try_send(line) {
                Ok(()) => {}
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.missed += 1,
            }
        }
        self.told.try_recv().ok()
    }

    /// How many events could not be handed to the writer.
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

/// The thread's side: goes on as soon as the disk does.
struct Writer {
    root: PathBuf,
    session: String,
    file: Option<File>,
    /// Lines that could not be written since the last one that could.
    missed: u64,
    /// Two texts for each time that writing stops and goes on.
    tell: Sender<String>,
}

impl Writer {
    fn write(&mut self, line: &str) {
        match (self.try_write(line), self.missed) {
            (Ok(()), 0) => {}
            (Ok(()), missed) => {
                self.missed = 0;
                self.say(format!(
                    "The journal is written again; {missed} events are missing in it."
                ));
            }
            (Err(error), missed) => {
                self.missed += 1;
                if missed == 0 {
                    self.say(format!(
                        "The journal can not be written, so --resume will not show what happens now: {error}"
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

    fn say(&self, text: String) {
        // Who does not listen any more need not know.
        let _ = self.tell.send(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::stamp::Stamp;
    use crate::protocol::event::EventKind;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_can_not_be_written_is_told_once_and_the_rest_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let in_the_way = dir.path().join(".crewdeck");
        std::fs::write(&in_the_way, "").unwrap();
        let (tell, told) = channel();
        let mut writer = Writer {
            root: dir.path().to_path_buf(),
            session: "s1".into(),
            file: None,
            missed: 0,
            tell,
        };
        writer.write("1");
        writer.write("2");
        std::fs::remove_file(in_the_way).unwrap();
        writer.write("3");
        writer.write("4");
        assert_eq!(File::read(dir.path(), "s1").unwrap(), ["3", "4"]);
        let texts: Vec<String> = told.try_iter().collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(texts[0].contains("--resume will not show"), "{texts:?}");
        assert!(texts[1].contains("2 events are missing"), "{texts:?}");
    }

    #[test]
    fn an_event_is_on_disk_when_the_journal_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(dir.path(), "s1");
        let event = Event {
            seq: 1,
            at: Stamp(1.0),
            kind: EventKind::CrewAtRest,
        };
        assert_eq!((journal.note(&event), journal.missed()), (None, 0));
        drop(journal);
        assert_eq!(File::read(dir.path(), "s1").unwrap().len(), 1);
    }
}
