//! Takes messages from inboxes on a hub. The exclusive right is a lease. The read position names the session that may
//! change it, so a reader that has lost its lease cannot acknowledge messages in place of the next one.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::StoreError;
use super::super::cursor::Cursor;
use super::super::mail_store::{
    MailStore, ReaderSession, ReadyFilter, RecentMessages, UnreadCount, UnreadMessages,
};
use super::super::transcript::{self, TranscriptFile};
use super::connection::Hub;
use super::error::HubError;
use super::lease::{Attempt, Lease};
use super::mail::{HubMail, position_key};
use super::mail_records::ReadPosition;
use super::values;
use crate::domain::ids::Name;
use crate::domain::mail::MailMessage;

/// First and longest pause between two attempts to become the reader of an inbox.
const POLL: Duration = Duration::from_millis(20);
const POLL_MAX: Duration = Duration::from_millis(640);

/// The messages on a hub, and the project whose logs tell what a killed reader has received.
#[derive(Debug)]
pub(super) struct HubMailbox {
    mail: HubMail,
    root: PathBuf,
}

impl HubMailbox {
    pub(super) fn new(hub: Hub, root: &Path) -> HubMailbox {
        HubMailbox {
            mail: HubMail::new(hub),
            root: root.to_path_buf(),
        }
    }
}

fn lease_key(name: &Name) -> String {
    format!("reader.{name}")
}

impl MailStore for HubMailbox {
    fn append(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        self.mail.append(to, message)
    }

    fn append_once(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        self.mail.append_once(to, message)
    }

    fn peek(&self, name: &Name, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError> {
        let stored = self.mail.position(name)?.value.unwrap_or_default();
        let valid = self.mail.valid_position(name, stored.clone())?;
        let mut unread = self.mail.unread(name, valid.offset, is_ready)?;
        // A reader stores the position before the stream grows past it.
        unread.moves_position |= valid.differs_from(&stored);
        Ok(unread)
    }

    /// Returns false if the hub does not answer.
    fn is_being_read(&self, name: &Name) -> bool {
        let holder = Lease::holder_of(&self.mail.hub, &lease_key(name));
        holder.is_ok_and(|holder| holder.is_some())
    }

    fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError> {
        self.mail.recent(limit)
    }

    fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError> {
        self.mail.count_unread()
    }

    fn has_unread(&self, names: &[Name]) -> Result<bool, StoreError> {
        self.mail.has_unread(names)
    }

    fn open_session(
        &self,
        name: &Name,
        within: Duration,
    ) -> Result<Box<dyn ReaderSession>, StoreError> {
        let began = Instant::now();
        let hub = &self.mail.hub;
        let mut pause = POLL;
        let lease = loop {
            match Lease::try_acquire(hub, &lease_key(name), hub.lease_life())? {
                Attempt::Acquired(lease) => break lease,
                Attempt::Held(other) if began.elapsed() >= within => {
                    let by = match (other.process, other.host.as_str()) {
                        (0, _) => String::new(),
                        (process, "") => format!(" (process {process})"),
                        (process, host) => format!(" (process {process} on {host})"),
                    };
                    let name = name.clone();
                    let until = "later; it keeps them for at most 15 s after it was killed";
                    return Err(StoreError::BeingRead { name, by, until });
                }
                Attempt::Held(_) => {
                    std::thread::sleep(pause.min(within.saturating_sub(began.elapsed())));
                    pause = (pause * 2).min(POLL_MAX);
                }
            }
        };
        let session = uuid::Uuid::now_v7().to_string();
        let key = position_key(name);
        let what = "read position";
        let position = values::change(hub, &key, what, |found: Option<ReadPosition>| {
            // The next reader may have stored its position already.
            if !lease.is_valid() {
                return Err(lost(name));
            }
            let mut position = self.mail.valid_position(name, found.unwrap_or_default())?;
            // The previous reader was killed after it had written the messages to its log.
            let logged = transcript::logged_offset(&self.root, &position.log);
            let mut is_time_known = position.offset == 0 || position.read_at > 0;
            if !position.log.is_empty() && logged == Some(position.upto) {
                is_time_known &= position.upto <= position.offset;
                position.offset = position.offset.max(position.upto);
            }
            if !is_time_known {
                // Otherwise the messages up to this time would be delivered again if the stream goes back.
                let read_at = self.mail.stored_at(name, position.offset)?;
                position.read_at = position.read_at.max(read_at);
            }
            position.log.clear();
            position.upto = 0;
            position.session.clone_from(&session);
            Ok((Some(position.clone()), position))
        });
        // The program may end after an error, and another reader must not wait for the lease then.
        let position = position.inspect_err(|_| lease.release())?;
        Ok(Box::new(HubReaderSession {
            mail: self.mail.clone(),
            name: name.clone(),
            lease,
            position: Mutex::new(position),
        }))
    }
}

fn lost(name: &Name) -> StoreError {
    let what = format!("read the messages of {name}");
    HubError::LostLease { what }.into()
}

#[derive(Debug)]
struct HubReaderSession {
    mail: HubMail,
    name: Name,
    lease: Lease,
    /// The read position as this session has stored it.
    position: Mutex<ReadPosition>,
}

impl HubReaderSession {
    /// Stores a new read position, unless another session has become the reader.
    fn store(&self, edit: impl Fn(&mut ReadPosition)) -> Result<(), StoreError> {
        let mut position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.lease.is_valid() {
            return Err(lost(&self.name));
        }
        let mut new = position.clone();
        edit(&mut new);
        let key = position_key(&self.name);
        let what = "read position";
        values::change(&self.mail.hub, &key, what, |found: Option<ReadPosition>| {
            if found.is_none_or(|found| found.session != new.session) {
                return Err(lost(&self.name));
            }
            Ok((Some(new.clone()), ()))
        })?;
        *position = new;
        Ok(())
    }
}

impl HubReaderSession {
    /// Returns the sequence number of the last message that was read. If the stream has gone back, first stores the position
    /// that is valid now.
    fn valid_offset(&self) -> Result<u64, StoreError> {
        let known = {
            let position = self.position.lock();
            position.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let valid = self.mail.valid_position(&self.name, known.clone())?;
        if valid.differs_from(&known) {
            self.store(|position| position.clone_from(&valid))?;
        }
        Ok(valid.offset)
    }
}

impl ReaderSession for HubReaderSession {
    fn is_valid(&self) -> bool {
        self.lease.is_valid()
    }

    fn close(&self) {
        self.lease.release();
    }

    fn announce(&self, log: &TranscriptFile, cursor: &Cursor) -> Result<(), StoreError> {
        self.store(|position| {
            position.log = log.file_name();
            position.upto = cursor.offset;
        })
    }

    fn read_ready(&self, is_ready: &ReadyFilter<'_>) -> Result<UnreadMessages, StoreError> {
        let offset = self.valid_offset()?;
        let unread = self.mail.unread(&self.name, offset, is_ready)?;
        if !self.lease.is_valid() {
            return Err(lost(&self.name));
        }
        if unread.moves_position {
            // Otherwise the next read would begin at the skipped messages again.
            self.acknowledge(&unread.upto)?;
        }
        Ok(unread)
    }

    fn acknowledge(&self, cursor: &Cursor) -> Result<(), StoreError> {
        let known = {
            let position = self.position.lock();
            position.unwrap_or_else(PoisonError::into_inner).offset
        };
        if cursor.offset <= known {
            return Ok(());
        }
        let read_at = self.mail.stored_at(&self.name, cursor.offset)?;
        self.store(|position| {
            position.offset = position.offset.max(cursor.offset);
            position.read_at = position.read_at.max(read_at);
            position.log.clear();
            position.upto = 0;
        })
    }
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`.
#[cfg(test)]
mod tests {
    use super::super::sent_once::SentOnce;
    use super::super::test_server::TestServer;
    use super::*;
    use crate::domain::ids::MessageId;
    use crate::domain::mail::MailKind;
    use crate::domain::timestamp::Timestamp;

    /// A server, its messages, and a message from the lead to bob that was not sent yet.
    struct MailFixture {
        mailbox: HubMailbox,
        server: TestServer,
        root: tempfile::TempDir,
        bob: Name,
        message: MailMessage,
    }

    impl MailFixture {
        fn new() -> MailFixture {
            let (server, root) = (TestServer::start(), tempfile::tempdir().unwrap());
            let bob = Name::member("bob").unwrap();
            let (id, kind) = (MessageId("m1".into()), MailKind::Message);
            let (from, at) = (Name::lead(), Timestamp(1.0));
            MailFixture {
                mailbox: HubMailbox::new(server.hub(), root.path()),
                message: MailMessage::new(id, kind, &from, &bob, "hello", at),
                server,
                root,
                bob,
            }
        }

        fn send(&self) {
            self.mailbox.append(&self.bob, &self.message).unwrap();
        }

        /// Stores a message once more, as a server does that has forgotten its id.
        fn store_again(&self, message: &MailMessage) {
            let mail = &self.mailbox.mail;
            mail.write(&self.bob, message, "other".into()).unwrap();
        }

        fn open_session(&self) -> Box<dyn ReaderSession> {
            let session = self.mailbox.open_session(&self.bob, Duration::ZERO);
            session.unwrap()
        }
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn message_that_is_stored_twice_is_read_once() {
        let mail = MailFixture::new();
        mail.send();
        mail.store_again(&mail.message);
        let session = mail.open_session();
        let unread = session.read_ready(&|_| true).unwrap();
        assert_eq!(unread.messages.len(), 1);
        session.acknowledge(&unread.upto).unwrap();
        assert_eq!(session.read_ready(&|_| true).unwrap().messages.len(), 0);
        let refused = mail.mailbox.open_session(&mail.bob, Duration::ZERO);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("for at most 15 s"), "{error}");
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn replaced_reader_cannot_acknowledge_or_announce() {
        let mail = MailFixture::new();
        mail.send();
        let session = mail.open_session();
        let upto = session.read_ready(&|_| true).unwrap().upto;
        // Another reader takes over, because this one could not renew its lease.
        let (hub, key) = (mail.server.hub(), position_key(&mail.bob));
        let what = "read position";
        values::change(&hub, &key, what, |found: Option<ReadPosition>| {
            let mut position = found.unwrap_or_default();
            position.session = "other".into();
            Ok((Some(position), ()))
        })
        .unwrap();
        let log = TranscriptFile::open(mail.root.path(), "session", &mail.bob);
        for refused in [session.acknowledge(&upto), session.announce(&log, &upto)] {
            let error = refused.unwrap_err();
            let is_lost = matches!(error, StoreError::Hub(HubError::LostLease { .. }));
            assert!(is_lost, "{error}");
        }
        let peeked = mail.mailbox.peek(&mail.bob, &|_| true).unwrap();
        assert_eq!(peeked.messages.len(), 1);
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn new_session_records_when_the_last_read_message_was_stored() {
        let mail = MailFixture::new();
        mail.send();
        // An earlier version has stored it without a time.
        let (hub, key) = (mail.server.hub(), position_key(&mail.bob));
        let old = ReadPosition {
            offset: 1,
            ..ReadPosition::default()
        };
        let stored = values::change(&hub, &key, "read position", |_| Ok((Some(old.clone()), ())));
        stored.unwrap();
        mail.open_session().close();
        let position = mail.mailbox.mail.position(&mail.bob).unwrap();
        let position = position.value.unwrap();
        let read_at = mail.mailbox.mail.stored_at(&mail.bob, 1).unwrap();
        assert_eq!((position.offset, position.read_at), (1, read_at));
        assert!(read_at > 0);
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn message_that_is_sent_again_much_later_is_read_once() {
        let mail = MailFixture::new();
        mail.send();
        let session = mail.open_session();
        let unread = session.read_ready(&|_| true).unwrap();
        session.acknowledge(&unread.upto).unwrap();
        drop(session);
        mail.store_again(&mail.message);
        let peeked = mail.mailbox.peek(&mail.bob, &|_| true).unwrap();
        assert!(peeked.messages.is_empty() && peeked.needs_reader());
        let session = mail.open_session();
        assert_eq!(session.read_ready(&|_| true).unwrap().messages.len(), 0);
        let peeked = mail.mailbox.peek(&mail.bob, &|_| true).unwrap();
        assert!(!peeked.needs_reader());
    }

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn message_about_a_request_is_sent_once_after_its_sender_was_killed() {
        let mail = MailFixture::new();
        let (hub, bob) = (mail.server.hub(), &mail.bob);
        for (request, is_stored) in [("r1", true), ("r2", false)] {
            let mut message = MailMessage {
                kind: MailKind::PlanResponse,
                content: request.into(),
                ..mail.message.clone()
            };
            message.extra.insert("request_id".into(), request.into());
            let about = message.request_id().unwrap();
            SentOnce::begin(&hub, bob, &message, &about).unwrap();
            if is_stored {
                mail.store_again(&message);
            }
            // The sender is killed here.
            for _ in 0..2 {
                mail.mailbox.append_once(bob, &message).unwrap();
            }
        }
        let other = HubMailbox::new(hub, mail.root.path());
        assert_eq!(other.count_unread().unwrap()[0].count, 2);
    }
}
