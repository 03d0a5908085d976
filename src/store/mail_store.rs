//! What a mailbox needs from the store that holds its messages.

use std::fmt::Debug;
use std::time::Duration;

use super::StoreError;
use super::cursor::Cursor;
use super::transcript::TranscriptFile;
use crate::domain::ids::Name;
use crate::domain::mail::{DeliveryState, MailMessage};
use crate::domain::timestamp::Timestamp;

/// Returns whether a message can be delivered now. A read stops before the first message that cannot.
pub type ReadyFilter<'a> = dyn Fn(&MailMessage) -> bool + 'a;

/// Holds the inboxes of a crew. [`Mailbox`](super::Mailbox) has checked the messages that it passes to it.
///
/// All methods block, and may be called from several threads and processes at the same time.
pub trait MailStore: Debug + Send + Sync {
    /// Stores a message in the inbox of `to`. It survives the end of this process.
    ///
    /// # Errors
    /// When the inbox cannot be written.
    fn append(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError>;

    /// Stores a message about a request, unless the inbox already has a message of this kind about the same request.
    ///
    /// # Errors
    /// When the inbox cannot be read or written.
    fn append_once(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError>;

    /// Returns the first messages of `name` that were not acknowledged yet. Changes nothing.
    ///
    /// # Errors
    /// When the inbox cannot be read.
    fn peek(&self, name: &Name, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError>;

    /// Returns whether a session of `name` exists now, in any process.
    fn is_being_read(&self, name: &Name) -> bool;

    /// Returns the newest messages of all inboxes, at most `limit`.
    ///
    /// # Errors
    /// When the inboxes cannot be listed.
    fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError>;

    /// Returns the inboxes with unread messages, sorted by name.
    ///
    /// # Errors
    /// When an inbox cannot be read.
    fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError>;

    /// Returns whether one of the inboxes `names` has an unread message.
    ///
    /// # Errors
    /// When an inbox cannot be read.
    fn has_unread(&self, names: &[Name]) -> Result<bool, StoreError>;

    /// Acquires the exclusive right to take the messages of `name`; waits at most `within`.
    ///
    /// # Errors
    /// [`StoreError::BeingRead`] if another session still exists after `within`; another error if the inbox cannot be used.
    fn open_session(
        &self,
        name: &Name,
        within: Duration,
    ) -> Result<Box<dyn ReaderSession>, StoreError>;
}

/// The exclusive right to take messages from one inbox, until it is dropped or this process ends. See
/// [`InboxReader`](super::InboxReader), which calls it.
pub trait ReaderSession: Debug + Send + Sync {
    /// Implements [`InboxReader::is_valid`](super::InboxReader::is_valid).
    fn is_valid(&self) -> bool;

    /// Implements [`InboxReader::close`](super::InboxReader::close).
    fn close(&self) {}

    /// Implements [`InboxReader::announce`](super::InboxReader::announce).
    ///
    /// # Errors
    /// When the record cannot be written.
    fn announce(&self, log: &TranscriptFile, cursor: &Cursor) -> Result<(), StoreError>;

    /// Implements [`InboxReader::read_ready`](super::InboxReader::read_ready).
    ///
    /// # Errors
    /// When the inbox cannot be read.
    fn read_ready(&self, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError>;

    /// Implements [`InboxReader::acknowledge`](super::InboxReader::acknowledge).
    ///
    /// # Errors
    /// When the position cannot be saved.
    fn acknowledge(&self, cursor: &Cursor) -> Result<(), StoreError>;
}

/// Unread messages, and the position to acknowledge once the messages are stored in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadMessages {
    /// The messages, oldest first: the first unread ones, at most `inbox::MESSAGES_MAX` and about `BYTES_MAX` bytes.
    pub messages: Vec<MailMessage>,
    /// The position after the last line that was read, to pass to
    /// [`InboxReader::acknowledge`](super::InboxReader::acknowledge).
    pub upto: Cursor,
    /// Number of unread lines before `upto` that are not messages.
    pub bad: usize,
    /// Whether the lines counted in `bad` were copied to `NAME.jsonl.damaged-1`. Always false from [`Mailbox::peek`](super::Mailbox::peek),
    /// which changes nothing.
    pub(super) is_bad_set_aside: bool,
    /// Whether the saved read position must be changed although there may be nothing to take: another program has truncated
    /// the inbox, or only messages that are skipped follow.
    pub(super) moves_position: bool,
    /// Names the inbox in notices.
    pub(super) inbox: String,
}

/// Summary of the unread messages of an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct UnreadCount {
    /// The owner of the inbox.
    pub name: Name,
    /// Number of messages that were not acknowledged.
    pub count: usize,
    /// When the oldest unread message was sent; zero if unknown.
    pub oldest: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecentMessages {
    /// The messages with their delivery state, oldest first.
    pub messages: Vec<(MailMessage, DeliveryState)>,
    /// Notices about inboxes that could not be read, one line each.
    pub notices: Vec<String>,
}

impl UnreadMessages {
    /// Returns messages from an inbox without damaged lines. `inbox` names it in notices.
    pub(super) fn new(messages: Vec<MailMessage>, upto: Cursor, inbox: String) -> UnreadMessages {
        UnreadMessages {
            messages,
            upto,
            bad: 0,
            is_bad_set_aside: false,
            moves_position: false,
            inbox,
        }
    }

    /// Returns whether an [`InboxReader`](super::InboxReader) is needed: there are messages to take or damaged lines to
    /// copy, or the read position must be changed: that of a truncated inbox before the inbox grows past it.
    pub fn needs_reader(&self) -> bool {
        !self.messages.is_empty() || self.bad > 0 || self.moves_position
    }

    /// Returns a notice for the user if there are lines that are not messages. The notice gives their number and the
    /// file to which they are copied.
    pub fn notices(&self) -> Vec<String> {
        let (bad, inbox) = (self.bad, &self.inbox);
        match (bad, self.is_bad_set_aside) {
            (0, _) => Vec::new(),
            (_, true) => vec![format!(
                "{bad} damaged line(s) of {inbox} were copied to {inbox}.damaged-1; all other messages were read"
            )],
            (_, false) => vec![format!(
                "{bad} damaged line(s) of {inbox} were skipped; crewdeck mail read copies them to {inbox}.damaged-1"
            )],
        }
    }
}
