//! The messages of a team. The embedded store is `.team/inbox/NAME.jsonl`, one inbox per agent.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::StoreError;
use super::file_mail::FileMail;
use super::file_reader;
use super::host_store::HostSession;
use super::inbox_reader::InboxReader;
use super::mail_store::{
    MailStore, ReaderSession, ReadyFilter, RecentMessages, UnreadCount, UnreadMessages,
};
use crate::domain::ids::Name;
use crate::domain::mail::{MAIL_MESSAGE_MAX, MailMessage};

/// All inboxes of a crew. Cheap to clone; clones share the store.
#[derive(Debug, Clone)]
pub struct Mailbox {
    store: Arc<dyn MailStore>,
    /// The session of the host whose agents send messages; `None` without hosts.
    session: Option<Arc<dyn HostSession>>,
}

impl Mailbox {
    /// Opens the inboxes of the project in `root`. No file is created or read yet.
    pub fn open(root: &Path) -> Mailbox {
        Mailbox::with_store(Arc::new(FileMail::open(root)))
    }

    /// Returns the mailbox whose messages are in `store`.
    pub fn with_store(store: Arc<dyn MailStore>) -> Mailbox {
        Mailbox {
            store,
            session: None,
        }
    }

    /// Returns the mailbox for the agents of a host. After `session` has become invalid, their messages are rejected with
    /// [`StoreError::HostLost`]: another agent may do their work by then. Messages of the user are not.
    #[must_use]
    pub fn with_host(self, session: Arc<dyn HostSession>) -> Mailbox {
        Mailbox {
            session: Some(session),
            ..self
        }
    }

    /// Stores a message in the inbox of its recipient. It survives the end of this process.
    ///
    /// # Errors
    /// When the text is longer than [`MAIL_MESSAGE_MAX`], the recipient is not a valid name, the host of the sender has lost
    /// its session, or the inbox cannot be written.
    pub fn send(&self, message: &MailMessage) -> Result<(), StoreError> {
        self.check_sender(message)?;
        self.store.append(&checked_recipient(message)?, message)
    }

    /// Sends a message about a request, unless the inbox already has a message of this kind about the same request, read
    /// or unread. A process may have sent that earlier message and been killed before it recorded the sending. Always
    /// sends a message that names no request.
    ///
    /// # Errors
    /// As [`Mailbox::send`]; also when the inbox cannot be read.
    pub fn send_once(&self, message: &MailMessage) -> Result<(), StoreError> {
        self.check_sender(message)?;
        let to = checked_recipient(message)?;
        match message.request_id() {
            Some(_) => self.store.append_once(&to, message),
            None => self.store.append(&to, message),
        }
    }

    /// Returns the first messages of `name` that were not acknowledged yet, up to the limits of one read
    /// ([`UnreadMessages::messages`]). Changes nothing; use an [`InboxReader`] to take them.
    ///
    /// # Errors
    /// When the inbox cannot be read.
    pub fn peek(&self, name: &Name) -> Result<UnreadMessages, StoreError> {
        self.peek_ready(name, &|_| true)
    }

    /// As [`Mailbox::peek`], but returns only the messages before the first for which `is_ready` returns false.
    ///
    /// # Errors
    /// When the inbox cannot be read.
    pub fn peek_ready(
        &self,
        name: &Name,
        is_ready: &ReadyFilter<'_>,
    ) -> Result<UnreadMessages, StoreError> {
        self.store.peek(name, is_ready)
    }

    /// Returns whether an [`InboxReader`] of `name` exists now, in any process.
    pub fn is_being_read(&self, name: &Name) -> bool {
        self.store.is_being_read(name)
    }

    /// Returns the newest messages of all inboxes, at most `limit`. Each inbox contributes only its newest part. An
    /// unreadable inbox becomes a notice.
    ///
    /// # Errors
    /// When the inboxes cannot be listed.
    pub fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError> {
        self.store.recent(limit)
    }

    /// Returns the inboxes with unread messages, sorted by name. Changes nothing.
    ///
    /// # Errors
    /// When an inbox cannot be read.
    pub fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError> {
        self.store.count_unread()
    }

    /// Returns whether one of the inboxes `names` has an unread message. Changes nothing, and reads less than
    /// [`Mailbox::count_unread`].
    ///
    /// # Errors
    /// When an inbox cannot be read.
    pub fn has_unread(&self, names: &[Name]) -> Result<bool, StoreError> {
        self.store.has_unread(names)
    }

    /// Acquires the exclusive right to take the messages of `name`; waits at most `within`.
    ///
    /// # Errors
    /// [`StoreError::BeingRead`] if another reader still holds the right after `within`; another error if the inbox cannot
    /// be used.
    pub fn reader(&self, name: &Name, within: Duration) -> Result<InboxReader, StoreError> {
        let session = self.store.open_session(name, within)?;
        Ok(InboxReader::new(session))
    }

    /// Fails if the sender is an agent of a host that has lost its session.
    fn check_sender(&self, message: &MailMessage) -> Result<(), StoreError> {
        let is_valid = self.session.as_ref().is_none_or(|s| s.is_valid());
        if is_valid || message.from == Name::user().as_str() {
            return Ok(());
        }
        Err(StoreError::HostLost("send messages"))
    }
}

impl MailStore for FileMail {
    fn append(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        FileMail::append(self, to, message)
    }

    fn append_once(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        FileMail::append_once(self, to, message)
    }

    fn peek(&self, name: &Name, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError> {
        Ok(self.unread(name, is_ready)?.0)
    }

    fn is_being_read(&self, name: &Name) -> bool {
        file_reader::is_held(self, name)
    }

    fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError> {
        FileMail::recent(self, limit)
    }

    fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError> {
        FileMail::count_unread(self)
    }

    fn has_unread(&self, names: &[Name]) -> Result<bool, StoreError> {
        FileMail::has_unread(self, names)
    }

    fn open_session(
        &self,
        name: &Name,
        within: Duration,
    ) -> Result<Box<dyn ReaderSession>, StoreError> {
        Ok(Box::new(file_reader::acquire(self, name, within)?))
    }
}

/// Returns the recipient of a message that may be sent.
fn checked_recipient(message: &MailMessage) -> Result<Name, StoreError> {
    if message.content.len() > MAIL_MESSAGE_MAX {
        let kib = MAIL_MESSAGE_MAX / 1024;
        return Err(StoreError::TooLong(format!(
            "the message is longer than {kib} KiB: put the text into a file and send the file's name"
        )));
    }
    Name::party(&message.to).map_err(|e| StoreError::TooLong(e.to_string()))
}
