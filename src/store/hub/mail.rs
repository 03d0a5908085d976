//! Messages on a hub: one subject per inbox, and one key with the position up to which the owner has read it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;

use super::super::StoreError;
use super::super::cursor::Cursor;
use super::super::inbox::{BYTES_MAX, MESSAGES_MAX};
use super::super::mail_store::{ReadyFilter, RecentMessages, UnreadCount, UnreadMessages};
use super::catch_up::{self, CopiedKeys, Rereads};
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Write};
use super::mail_records::{ID_MAX, NewestMessages, Positions, ReadPosition, SeenIds, parse};
use super::position_check::PositionCheck;
use super::reads::{self, Range, SINGLE_READS_MAX};
use super::sent_once::{SentOnce, SentState};
use super::stored::Stored;
use super::stream_end::StreamEnd;
use super::streams::StreamKind;
use super::values::{self, Versioned};
use crate::domain::ids::Name;
use crate::domain::mail::MailMessage;
use crate::domain::timestamp::Timestamp;

/// Maximum number of messages of one inbox that are searched, and maximum number of inboxes.
const SEARCH_MAX: usize = 100_000;
/// Maximum number of messages, with those that are not signed, that one read of an inbox fetches.
const FETCHED_MAX: usize = 2000;
/// Number of messages of one inbox that are fetched at once.
const FETCHED_AT_ONCE: usize = 64;
/// Number of messages of all inboxes that are counted at once.
const COUNTED_AT_ONCE: usize = 500;
/// Maximum number of messages that are stored while the newest ones are read.
const MEANWHILE_MAX: usize = 1000;
/// Number of inboxes that are asked at the same time.
const ASKED_AT_ONCE: usize = 32;

/// The keys of the read positions.
const POSITIONS: CopiedKeys = CopiedKeys {
    kind: StreamKind::State,
    keys: "position.*",
    most: SEARCH_MAX,
    hides_others: |_| false,
};

/// The messages of a crew on a hub.
#[derive(Debug, Clone)]
pub(super) struct HubMail {
    pub hub: Hub,
    newest: Arc<Mutex<NewestMessages>>,
    positions: Arc<Mutex<Positions>>,
    /// The ids of messages that this process has read, by inbox.
    seen: Arc<Mutex<HashMap<Name, SeenIds>>>,
    check: Arc<PositionCheck>,
}

pub(super) fn position_key(name: &Name) -> String {
    format!("position.{name}")
}

impl HubMail {
    pub fn new(hub: Hub) -> HubMail {
        HubMail {
            hub,
            newest: Arc::default(),
            positions: Arc::default(),
            seen: Arc::default(),
            check: Arc::default(),
        }
    }

    pub fn append(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let id = message.id.0.as_str();
        let id = match id {
            "" => uuid::Uuid::now_v7().to_string(),
            id => format!("{to}/{id}"),
        };
        self.write(to, message, id)
    }

    /// Stores the message unless one of this kind about the same request was stored in this way. Of several senders at the
    /// same time, the server stores the message of one, because the messages have the same id.
    pub fn append_once(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let about = message.request_id().unwrap_or_default();
        let sending = match SentOnce::begin(&self.hub, to, message, &about)? {
            SentState::Sent => return Ok(()),
            SentState::Unknown(sending) => sending,
        };
        // An earlier sender may have been killed, or is sending it now.
        let is_same = |other: &MailMessage| {
            other.kind == message.kind && other.request_id().unwrap_or_default() == about
        };
        let stored = self.read_all(to, sending.after())?;
        if !stored.iter().any(is_same) {
            self.write(to, message, format!("{to}/{}/{about}", message.kind))?;
        }
        sending.finish(&self.hub);
        Ok(())
    }

    pub fn write(&self, to: &Name, message: &MailMessage, id: String) -> Result<(), StoreError> {
        let payload = serde_json::to_vec(message)?;
        let (kind, anything) = (StreamKind::Mail, Expected::Anything);
        let mut write = Write::new(kind, to.to_string(), payload, anything, "the message");
        if id.len() <= ID_MAX && id.bytes().all(|b| b.is_ascii_graphic()) {
            write.id = id;
        }
        self.hub.run(move |connection| async move {
            match keys::write(&connection, write.clone(), ANSWER_WITHIN).await {
                // Read messages are kept only while there is space for them.
                Err(HubError::Full { .. }) if remove_read(&connection).await? > 0 => {
                    keys::write(&connection, write, ANSWER_WITHIN).await
                }
                written => written,
            }
        })?;
        Ok(())
    }

    /// Returns the messages of an inbox after the position `after`.
    fn read_all(&self, name: &Name, after: u64) -> Result<Vec<MailMessage>, StoreError> {
        let key = name.to_string();
        let stored = self.hub.run(move |connection| async move {
            let range = Range::From(after + 1);
            reads::read_current(&connection, StreamKind::Mail, &key, range, SEARCH_MAX).await
        })?;
        let signed = stored.iter().filter(|stored| !stored.is_unsigned);
        Ok(signed.map(parse).collect())
    }

    pub fn position(&self, name: &Name) -> Result<Versioned<ReadPosition>, StoreError> {
        values::read(&self.hub, &position_key(name))
    }

    /// Returns a stored read position as it is valid for the stream, which may have gone back since.
    pub fn valid_position(
        &self,
        name: &Name,
        position: ReadPosition,
    ) -> Result<ReadPosition, StoreError> {
        self.check.valid(&self.hub, name, position)
    }

    /// Returns when the message `sequence` of an inbox was stored, in microseconds since 1970; 0 if it is gone.
    pub fn stored_at(&self, name: &Name, sequence: u64) -> Result<i64, StoreError> {
        self.check.stored_at(&self.hub, name, sequence)
    }

    /// Returns the first messages after the position `after`, up to the limits of one read. Stops before the first message
    /// that is not ready. Skips messages without a valid signature, and those that were read before under the same id.
    pub fn unread(
        &self,
        name: &Name,
        after: u64,
        is_ready: &ReadyFilter<'_>,
    ) -> Result<UnreadMessages, StoreError> {
        let key = name.to_string();
        let stored = self
            .hub
            .run(move |connection| async move { fetch(&connection, &key, after).await })?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = seen.entry(name.clone()).or_default();
        let (mut upto, mut messages) = (after, Vec::<MailMessage>::new());
        let mut ids = HashSet::new();
        for stored in &stored {
            if !stored.is_unsigned {
                let message = parse(stored);
                if !is_ready(&message) {
                    break;
                }
                // The server may store a message twice if it is sent again later than the server remembers ids.
                let is_repeated = seen.is_repeated(after, stored.sequence, &message.id.0);
                if ids.insert(message.id.0.clone()) && !is_repeated {
                    messages.push(message);
                }
            }
            upto = stored.sequence;
            self.check.note_read(name, upto, stored.microseconds());
        }
        let cursor = Cursor {
            offset: upto,
            mark: None,
        };
        let inbox = format!("the inbox of {name} on the hub");
        let mut unread = UnreadMessages::new(messages, cursor, inbox);
        unread.moves_position = unread.messages.is_empty() && upto > after;
        Ok(unread)
    }

    /// Returns the newest messages. Reads only those that were stored since the last call.
    pub fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (from, known) = if newest.limit < limit {
            (0, 0)
        } else {
            (newest.sequence, newest.epoch)
        };
        let most = newest.limit.max(limit);
        let read = self.hub.run(move |connection| async move {
            read_newest(&connection, from, known, most).await
        })?;
        if read.is_complete {
            newest.begin(most);
        }
        newest.epoch = read.epoch;
        read.messages.iter().for_each(|stored| newest.add(stored));
        newest.sequence = newest.sequence.max(read.upto);
        let positions = self.current_positions()?;
        Ok(RecentMessages {
            messages: newest.newest(limit, &positions),
            notices: self.hub.take_unsigned_reports(),
        })
    }

    /// Returns the copy of the read positions with every change that was stored before this call.
    fn current_positions(&self) -> Result<MutexGuard<'_, Positions>, StoreError> {
        let positions = self.positions.lock();
        let mut positions = positions.unwrap_or_else(PoisonError::into_inner);
        let (from, epoch) = (positions.sequence, positions.epoch);
        let missed = self.hub.run(move |connection| async move {
            catch_up::missed(&connection, POSITIONS, from, epoch, Rereads::default()).await
        })?;
        if missed.is_complete {
            *positions = Positions::default();
        }
        positions.epoch = missed.epoch;
        missed
            .records
            .iter()
            .for_each(|stored| positions.add(stored));
        Ok(positions)
    }

    /// Reads the end of the messages. A position that was read before fits it, unless the stream has gone back.
    fn end(&self) -> Result<StreamEnd, StoreError> {
        let end = self.hub.run(|connection| async move {
            reads::stream_end(&connection, StreamKind::Mail).await
        })?;
        Ok(end)
    }

    /// Returns whether one of these inboxes has an unread message. May return true for an inbox of which the owner has not
    /// skipped all messages without a valid signature yet, or has not corrected its position in a stream that was created
    /// again.
    pub fn has_unread(&self, names: &[Name]) -> Result<bool, StoreError> {
        let inboxes: Vec<(String, u64)> = {
            let positions = self.current_positions()?;
            let end = self.end()?;
            let inboxes = names.iter().map(Name::as_str);
            inboxes
                .map(|name| (name.to_string(), positions.fitting(name, end)))
                .collect()
        };
        let has_unread = self.hub.run(move |connection| async move {
            let asked = inboxes
                .into_iter()
                .map(move |(name, position)| has_next(Arc::clone(&connection), name, position));
            let mut answers = futures::stream::iter(asked).buffer_unordered(ASKED_AT_ONCE);
            while let Some(has_next) = answers.next().await {
                if has_next? {
                    return Ok(true);
                }
            }
            Ok(false)
        })?;
        Ok(has_unread)
    }

    /// Counts the unread messages in one pass over all inboxes, which begins at the first unread one.
    pub fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError> {
        let last_of_each = self.hub.run(|connection| async move {
            // Notices a stream that does not exist any more.
            reads::last_sequence(&connection, StreamKind::Mail).await?;
            reads::last_of_each(&connection, StreamKind::Mail, "*", SEARCH_MAX).await
        })?;
        let mut positions = HashMap::new();
        let (mut first, mut last) = (u64::MAX, 0);
        {
            let copy = self.current_positions()?;
            let end = self.end()?;
            for (owner, newest) in last_of_each {
                let position = copy.fitting(&owner, end);
                if newest > position {
                    first = first.min(position + 1);
                    last = last.max(newest);
                    positions.insert(owner, position);
                }
            }
        }
        let counts = self.hub.run(move |connection| async move {
            let mut counts = HashMap::<String, (usize, Timestamp)>::new();
            while first <= last {
                let range = Range::From(first);
                let kind = StreamKind::Mail;
                let stored =
                    reads::read_many(&connection, kind, "*", range, COUNTED_AT_ONCE).await?;
                let Some(end) = stored.last() else {
                    break;
                };
                first = end.sequence + 1;
                for stored in &stored {
                    let position = positions.get(&stored.key);
                    let is_unread = position.is_some_and(|position| stored.sequence > *position);
                    if is_unread && !stored.is_unsigned {
                        let oldest = || (0, parse(stored).timestamp);
                        let count = counts.entry(stored.key.clone()).or_insert_with(oldest);
                        count.0 += 1;
                    }
                }
            }
            Ok(counts)
        })?;
        let counts = counts.into_iter().filter_map(|(owner, (count, oldest))| {
            let name = Name::party(&owner).ok()?;
            Some(UnreadCount {
                name,
                count,
                oldest,
            })
        });
        let mut all: Vec<UnreadCount> = counts.collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }
}

/// Returns the first messages of an inbox after the position `after`, up to the limits of one read. Messages without a valid
/// signature do not count for these limits.
async fn fetch(connection: &HubConnection, key: &str, after: u64) -> Result<Vec<Stored>, HubError> {
    let (mut all, mut last) = (Vec::<Stored>::new(), after);
    let (mut count, mut bytes) = (0, 0);
    while all.len() < FETCHED_MAX {
        let Some(next) = keys::next(connection, StreamKind::Mail, key, last + 1).await? else {
            break;
        };
        let mut fetched = vec![next];
        if all.len() >= SINGLE_READS_MAX {
            let range = Range::From(last + 1);
            let (kind, most) = (StreamKind::Mail, FETCHED_AT_ONCE);
            let more = reads::read_many(connection, kind, key, range, most).await?;
            // Another server may be behind, and not have the first one yet.
            if !more.is_empty() {
                fetched = more;
            }
        }
        for stored in fetched {
            last = stored.sequence;
            if !stored.is_unsigned {
                count += 1;
                bytes += stored.payload.len();
            }
            all.push(stored);
            if count >= MESSAGES_MAX || bytes >= BYTES_MAX {
                return Ok(all);
            }
        }
    }
    Ok(all)
}

/// What [`HubMail::recent`] has read.
struct NewestRead {
    messages: Vec<Stored>,
    /// Whether the copy must be replaced.
    is_complete: bool,
    /// The sequence number up to which all messages were read.
    upto: u64,
    epoch: u64,
}

/// Returns the messages after the sequence number `from`, or the newest `most` messages if there are more, or if the stream
/// may have gone back since the epoch `known`.
async fn read_newest(
    connection: &HubConnection,
    from: u64,
    known: u64,
    most: usize,
) -> Result<NewestRead, HubError> {
    let epoch = connection.epoch();
    let mut read = NewestRead {
        messages: Vec::new(),
        is_complete: from == 0 || known != epoch,
        upto: from,
        epoch,
    };
    while !read.is_complete && read.messages.len() < SINGLE_READS_MAX {
        match keys::next(connection, StreamKind::Mail, "*", read.upto + 1).await? {
            Some(message) => {
                read.upto = message.sequence;
                read.messages.push(message);
            }
            None if epoch == connection.epoch() => return Ok(read),
            // The stream is another one.
            None => read.is_complete = true,
        }
    }
    let last = reads::last_sequence(connection, StreamKind::Mail).await?;
    let first = (last + 1).saturating_sub(most as u64).max(1);
    if read.is_complete || first > read.upto + 1 {
        read.is_complete = true;
        read.upto = first - 1;
        read.messages.clear();
    }
    let (range, bound) = (
        Range::From(read.upto + 1),
        most.saturating_add(MEANWHILE_MAX),
    );
    let more = reads::read_current(connection, StreamKind::Mail, "*", range, bound).await?;
    read.upto = more
        .last()
        .map_or(last.max(read.upto), |last| last.sequence);
    read.messages.extend(more);
    Ok(read)
}

/// Returns whether an inbox has a message after the position `after`. Many messages without a valid signature count as one.
async fn has_next(
    connection: Arc<HubConnection>,
    key: String,
    after: u64,
) -> Result<bool, HubError> {
    let mut last = after;
    for _ in 0..SINGLE_READS_MAX {
        match keys::next(&connection, StreamKind::Mail, &key, last + 1).await? {
            None => return Ok(false),
            Some(stored) if stored.is_unsigned => last = stored.sequence,
            Some(_) => return Ok(true),
        }
    }
    Ok(true)
}

/// Removes the messages that their recipients have read. Returns their number.
async fn remove_read(connection: &HubConnection) -> Result<u64, HubError> {
    let mut removed = 0;
    let end = reads::stream_end(connection, StreamKind::Mail).await?;
    for (owner, _) in reads::last_of_each(connection, StreamKind::Mail, "*", SEARCH_MAX).await? {
        let key = format!("position.{owner}");
        let stored = keys::read(connection, StreamKind::State, &key).await?;
        let position = stored.and_then(|s| serde_json::from_slice::<ReadPosition>(&s.payload).ok());
        // One that does not fit says nothing about the messages of this stream.
        let position = position.filter(|position| position.fits(end));
        let offset = position.unwrap_or_default().offset;
        if offset > 0 {
            // If an inbox cannot be emptied, another one may be.
            let purged = keys::purge(connection, StreamKind::Mail, &owner, offset + 1).await;
            removed += purged.unwrap_or_default();
        }
    }
    Ok(removed)
}
