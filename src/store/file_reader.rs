//! Takes messages from inbox files. The exclusive right is a file lock.

use std::io::{Read, Seek, SeekFrom, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::atomic::Lock;
use super::cursor::Cursor;
use super::file_mail::FileMail;
use super::mail_store::{ReaderSession, ReadyFilter, UnreadMessages};
use super::transcript::{self, TranscriptFile};
use super::{StoreError, regular_file};
use crate::domain::ids::Name;

/// Maximum size of a [`ReaderNote`] in the lock file, in bytes.
const NOTE_MAX: u64 = 4096;

/// The exclusive right to take messages from one inbox, as a lock. The kernel releases the lock when the holder ends,
/// even if it is killed. Writers of the inbox do not wait for the lock.
#[derive(Debug)]
pub(super) struct FileReaderSession {
    mailbox: FileMail,
    name: Name,
    lock: Lock,
}

/// State that a reader stores in its lock file for the next reader.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ReaderNote {
    /// Process id of the reader.
    process: u32,
    /// Name of the log in `.transcripts` to which the reader is about to write the messages; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    log: String,
    /// Byte offset in the inbox up to which the reader is about to write the messages to the log.
    #[serde(default)]
    upto: u64,
    /// Hash of the bytes before the offset `upto`, as in [`Cursor::mark`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mark: Option<u64>,
}

/// Implements [`MailStore::open_session`](super::mail_store::MailStore::open_session).
pub(super) fn acquire(
    mailbox: &FileMail,
    name: &Name,
    within: Duration,
) -> Result<FileReaderSession, StoreError> {
    let path = mailbox.reader_path(name);
    let Some(lock) = Lock::take_within(&path, within)? else {
        let process = regular_file::open(&path).map_or(0, |file| read_note(&file).process);
        let by = match process {
            0 => String::new(),
            process => format!(" (process {process})"),
        };
        let name = name.clone();
        let until = "when it has ended";
        return Err(StoreError::BeingRead { name, by, until });
    };
    let reader = FileReaderSession {
        mailbox: mailbox.clone(),
        name: name.clone(),
        lock,
    };
    reader.acknowledge_logged()?;
    // If the write fails, for example on a full disk, the lock alone excludes other readers.
    let _ = reader.write_note(String::new(), &Cursor::default());
    Ok(reader)
}

/// Returns whether a session of `name` exists now, in any process.
pub(super) fn is_held(mailbox: &FileMail, name: &Name) -> bool {
    Lock::is_held(&mailbox.reader_path(name))
}

impl FileReaderSession {
    /// Acknowledges the messages that the previous reader has written to its log but not acknowledged, because it was
    /// killed in between. Does nothing if there are none.
    fn acknowledge_logged(&self) -> Result<(), StoreError> {
        let ReaderNote {
            log, upto, mark, ..
        } = read_note(self.lock.file());
        let is_read =
            !log.is_empty() && transcript::logged_offset(&self.mailbox.root, &log) == Some(upto);
        if is_read {
            self.acknowledge(&Cursor { offset: upto, mark })?;
        }
        Ok(())
    }

    /// Replaces the [`ReaderNote`] in the lock file. The file is not synced, because the note must survive a killed
    /// process, but not a power failure.
    fn write_note(&self, log: String, cursor: &Cursor) -> Result<(), StoreError> {
        let text = serde_json::to_vec(&ReaderNote {
            process: std::process::id(),
            log,
            upto: cursor.offset,
            mark: cursor.mark,
        })?;
        let mut file = self.lock.file();
        let written = file
            .set_len(0)
            .and_then(|()| file.seek(SeekFrom::Start(0)))
            .and_then(|_| file.write_all(&text));
        written.map_err(StoreError::at(self.mailbox.reader_path(&self.name)))
    }
}

impl ReaderSession for FileReaderSession {
    /// Returns true: the lock of a file ends only with this process.
    fn is_valid(&self) -> bool {
        true
    }

    fn announce(&self, log: &TranscriptFile, cursor: &Cursor) -> Result<(), StoreError> {
        self.write_note(log.file_name(), cursor)
    }

    /// Copies damaged lines to `NAME.jsonl.damaged-1`.
    fn read_ready(&self, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError> {
        let (mailbox, name) = (&self.mailbox, &self.name);
        let known = mailbox.cursor(name)?;
        if !known.matches_file(&mailbox.path(name))? {
            // Another program has truncated the inbox.
            mailbox.set_cursor(name, Cursor::default())?;
        }
        let (mut pending, bad) = mailbox.unread(name, is_ready)?;
        if !bad.is_empty() {
            mailbox.set_aside(name, &bad)?;
            pending.is_bad_set_aside = true;
            if pending.messages.is_empty() {
                self.acknowledge(&pending.upto)?;
            }
        }
        Ok(pending)
    }

    fn acknowledge(&self, cursor: &Cursor) -> Result<(), StoreError> {
        let (mailbox, name) = (&self.mailbox, &self.name);
        let path = mailbox.path(name);
        let known = mailbox.cursor(name)?;
        // A cursor without a mark may come from the time before the inbox was truncated. Only a comparison with the
        // saved offset can show that.
        let known_to = match cursor.mark {
            None => known.offset,
            Some(_) => mailbox.valid_cursor(name)?.offset,
        };
        if cursor.offset <= known_to || !cursor.matches_file(&path)? {
            return Ok(());
        }
        let marked = match cursor.mark {
            Some(_) => *cursor,
            None => {
                let at = || StoreError::at(&path);
                let mut file = regular_file::open(&path).map_err(at())?;
                Cursor::at(&mut file, cursor.offset).map_err(at())?
            }
        };
        mailbox.set_cursor(name, marked)?;
        // Clears the note, so that the next reader need not search the log. A remaining note does no harm.
        let _ = self.write_note(String::new(), &Cursor::default());
        Ok(())
    }
}

/// Returns the note of the previous reader, or an empty note if `file`, the lock file, contains no valid note.
fn read_note(mut file: &std::fs::File) -> ReaderNote {
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(NOTE_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(_) => ReaderNote::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::{Block, Message};
    use crate::domain::conversation::LogRecord;
    use crate::domain::ids::MessageId;
    use crate::domain::mail::{DeliveryState, MailKind, MailMessage};
    use crate::domain::timestamp::Timestamp;
    use crate::store::Mailbox;
    use pretty_assertions::assert_eq;

    const NO_WAIT: Duration = Duration::ZERO;

    fn mailbox_with(messages: &[&str]) -> (tempfile::TempDir, Mailbox, Name) {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let (mailbox, bob) = (Mailbox::open(dir.path()), Name::member("bob").unwrap());
        for text in messages {
            send(&mailbox, text);
        }
        (dir, mailbox, bob)
    }

    fn send(mailbox: &Mailbox, text: &str) {
        let bob = Name::member("bob").unwrap();
        let id = MessageId(text.into());
        let message = MailMessage::new(
            id,
            MailKind::Message,
            &Name::lead(),
            &bob,
            text,
            Timestamp(1.0),
        );
        mailbox.send(&message).unwrap();
    }

    fn texts_of(pending: &UnreadMessages) -> Vec<&str> {
        pending
            .messages
            .iter()
            .map(|l| l.content.as_str())
            .collect()
    }

    #[test]
    fn second_reader_gets_the_process_of_the_first() {
        let (_dir, mailbox, bob) = mailbox_with(&["one"]);
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        assert!(mailbox.is_being_read(&bob));
        let error = mailbox.reader(&bob, NO_WAIT).unwrap_err().to_string();
        let process = std::process::id();
        assert_eq!(
            error,
            format!(
                "another program (process {process}) is reading the messages of bob: try again when it has ended"
            )
        );
        let pending = reader.read_pending().unwrap();
        assert_eq!(texts_of(&pending), ["one"]);
        reader.acknowledge(&pending.upto).unwrap();
        drop(reader);
        assert!(!mailbox.is_being_read(&bob));
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        assert_eq!(
            texts_of(&reader.read_pending().unwrap()),
            Vec::<&str>::new()
        );
        // Acknowledging an earlier position changes nothing.
        let (offset, mark) = (1, None);
        reader.acknowledge(&Cursor { offset, mark }).unwrap();
        assert_eq!(
            texts_of(&reader.read_pending().unwrap()),
            Vec::<&str>::new()
        );
    }

    #[test]
    fn messages_in_the_log_of_a_killed_reader_are_not_read_again() {
        for is_logged in [false, true] {
            let (dir, mailbox, bob) = mailbox_with(&["one"]);
            let log = TranscriptFile::open(dir.path(), "session", &bob);
            let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
            let upto = reader.read_pending().unwrap().upto;
            reader.announce(&log, &upto).unwrap();
            if is_logged {
                let record = LogRecord::Delivery {
                    message: Message::user(vec![Block::text("one")]),
                    inbox: Some(upto.offset),
                    ended: Vec::new(),
                    prompts: Vec::new(),
                };
                log.append(&record).unwrap();
            }
            // The reader is killed here.
            drop(reader);
            send(&mailbox, "two");
            let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
            let pending = reader.read_pending().unwrap();
            let expected: &[&str] = if is_logged { &["two"] } else { &["one", "two"] };
            assert_eq!(texts_of(&pending), expected);
        }
    }

    #[test]
    fn messages_behind_one_that_is_not_ready_wait_for_it() {
        let (_dir, mailbox, bob) = mailbox_with(&["one", "two", "three"]);
        let is_ready = |m: &MailMessage| m.content != "two";
        assert_eq!(
            texts_of(&mailbox.peek_ready(&bob, &is_ready).unwrap()),
            ["one"]
        );
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        let pending = reader.read_ready(&is_ready).unwrap();
        assert_eq!(texts_of(&pending), ["one"]);
        reader.acknowledge(&pending.upto).unwrap();
        let pending = reader.read_ready(&is_ready).unwrap();
        assert!(pending.messages.is_empty() && !pending.needs_reader());
        assert_eq!(texts_of(&reader.read_pending().unwrap()), ["two", "three"]);
    }

    #[test]
    fn acknowledge_clears_the_note() {
        let (dir, mailbox, bob) = mailbox_with(&["one"]);
        let log = TranscriptFile::open(dir.path(), "session", &bob);
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        let upto = reader.read_pending().unwrap().upto;
        reader.announce(&log, &upto).unwrap();
        let left = || {
            read_note(&std::fs::File::open(FileMail::open(dir.path()).reader_path(&bob)).unwrap())
        };
        let expected = |log: &str, upto: Cursor| ReaderNote {
            process: std::process::id(),
            log: log.into(),
            upto: upto.offset,
            mark: upto.mark,
        };
        assert_eq!(left(), expected(log.file_name().as_str(), upto));
        reader.acknowledge(&upto).unwrap();
        assert_eq!(left(), expected("", Cursor::default()));
    }

    #[test]
    fn inbox_truncated_and_refilled_loses_no_message() {
        let (dir, mailbox, bob) = mailbox_with(&["one", "two", "three"]);
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        let upto = reader.read_pending().unwrap().upto;
        reader.acknowledge(&upto).unwrap();
        assert!(!mailbox.peek(&bob).unwrap().needs_reader());
        // Empties the inbox, as the readers of learn-claude-code do.
        std::fs::write(dir.path().join(".team/inbox/bob.jsonl"), "").unwrap();
        // A reader is needed to reset the cursor, although no message waits.
        assert!(mailbox.peek(&bob).unwrap().needs_reader());
        assert_eq!(
            texts_of(&reader.read_pending().unwrap()),
            Vec::<&str>::new()
        );
        assert!(!mailbox.peek(&bob).unwrap().needs_reader());
        for text in ["four", "five", "six", "seven"] {
            send(&mailbox, text);
        }
        let pending = reader.read_pending().unwrap();
        assert_eq!(texts_of(&pending), ["four", "five", "six", "seven"]);
    }

    #[test]
    fn inbox_truncated_and_refilled_unnoticed_loses_no_message() {
        // The refilled inbox is longer than the old one, so the old offset lies within it.
        for last in ["ten", "ten and more"] {
            let (dir, mailbox, bob) = mailbox_with(&["one", "two", "six"]);
            let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
            let upto = reader.read_pending().unwrap().upto;
            reader.acknowledge(&upto).unwrap();
            drop(reader);
            std::fs::write(dir.path().join(".team/inbox/bob.jsonl"), "").unwrap();
            let new = ["a", "seven", "eight", last];
            for text in new {
                send(&mailbox, text);
            }
            let all = mailbox.recent(9).unwrap().messages;
            assert!(all.iter().all(|(_, step)| *step == DeliveryState::Sent));
            assert_eq!(mailbox.count_unread().unwrap()[0].count, 4);
            assert_eq!(texts_of(&mailbox.peek(&bob).unwrap()), new);
            let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
            // A position without a mark comes from the log and belongs to the old inbox. It is ignored.
            let offset = upto.offset;
            reader.acknowledge(&Cursor { offset, mark: None }).unwrap();
            let pending = reader.read_pending().unwrap();
            assert_eq!(texts_of(&pending), new);
            reader.acknowledge(&pending.upto).unwrap();
            assert_eq!(
                texts_of(&reader.read_pending().unwrap()),
                Vec::<&str>::new()
            );
        }
    }

    #[test]
    fn inbox_truncated_before_acknowledge_loses_no_new_message() {
        let (dir, mailbox, bob) = mailbox_with(&["one"]);
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        let upto = reader.read_pending().unwrap().upto;
        reader.acknowledge(&upto).unwrap();
        for text in ["two", "three"] {
            send(&mailbox, text);
        }
        let upto = reader.read_pending().unwrap().upto;
        std::fs::write(dir.path().join(".team/inbox/bob.jsonl"), "").unwrap();
        for text in ["four", "five"] {
            send(&mailbox, text);
        }
        reader.acknowledge(&upto).unwrap();
        assert_eq!(texts_of(&reader.read_pending().unwrap()), ["four", "five"]);
    }
}
