//! Takes messages from inboxes. An inbox has one reader at a time. If a reader is killed, no message is lost, and the
//! messages that it has announced ([`InboxReader::announce`]) and written to its log are not taken again.

use super::StoreError;
use super::cursor::Cursor;
use super::mail_store::{ReaderSession, ReadyFilter, UnreadMessages};
use super::transcript::TranscriptFile;

/// The exclusive right to take messages from one inbox. It ends when the reader is dropped or its process ends, even if it
/// is killed. Dropping it does not wait for a hub; use [`InboxReader::close`] where the process may end or the next reader
/// is expected at once. Keep the reader from [`InboxReader::read_pending`] to [`InboxReader::acknowledge`], so that no other reader
/// gets the same messages.
#[derive(Debug)]
pub struct InboxReader {
    session: Box<dyn ReaderSession>,
}

impl InboxReader {
    pub(super) fn new(session: Box<dyn ReaderSession>) -> InboxReader {
        InboxReader { session }
    }

    /// Returns whether this reader still has the exclusive right. On a hub, a reader loses it when the hub cannot be
    /// reached for too long.
    pub fn is_valid(&self) -> bool {
        self.session.is_valid()
    }

    /// Ends the exclusive right. On a hub, waits a bounded time until others can get it; without an answer, it expires later.
    pub fn close(self) {
        self.session.close();
    }

    /// Records that the messages up to `cursor` are about to be written to `log`. If this process is killed before
    /// [`InboxReader::acknowledge`], the next reader checks whether the log contains these messages. If so, the next reader
    /// does not take them again.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn announce(&self, log: &TranscriptFile, cursor: &Cursor) -> Result<(), StoreError> {
        self.session.announce(log, cursor)
    }

    /// Returns the first messages that were not acknowledged yet, up to the limits of one read
    /// ([`UnreadMessages::messages`]). They stay unread until [`InboxReader::acknowledge`]. Damaged
    /// lines of an inbox file are copied to `NAME.jsonl.damaged-1`.
    ///
    /// # Errors
    /// When the inbox cannot be read, or the damaged lines or the position cannot be saved.
    pub fn read_pending(&self) -> Result<UnreadMessages, StoreError> {
        self.read_ready(&|_| true)
    }

    /// Does the same as [`InboxReader::read_pending`], but returns only the messages before the first for which
    /// `is_ready` returns false.
    ///
    /// # Errors
    /// As [`InboxReader::read_pending`].
    pub fn read_ready(&self, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError> {
        self.session.read_ready(is_ready)
    }

    /// Marks all messages up to `cursor` as read. Call this once the messages are stored in the conversation. Does
    /// nothing if these messages are already marked, or if the inbox was truncated and no longer matches `cursor`.
    ///
    /// # Errors
    /// When the inbox cannot be read or the position cannot be saved. The same messages are then returned again.
    pub fn acknowledge(&self, cursor: &Cursor) -> Result<(), StoreError> {
        self.session.acknowledge(cursor)
    }
}
