//! Keeps read positions valid if the stream of the messages goes back: because it was deleted and created again, or a backup
//! was restored. The number in a position then belongs to another message or to none.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::StoreError;
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys;
use super::mail_records::ReadPosition;
use super::reads::{self, Range, StreamEnd};
use super::stored::Stored;
use super::streams::StreamKind;
use crate::domain::ids::Name;

/// Maximum number of messages of one inbox that are searched.
const SEARCH_MAX: usize = 100_000;

/// Compares read positions with the stream of the messages. Asks the hub once per connection, and again for a position
/// after the end that is known.
#[derive(Debug, Default)]
pub(super) struct PositionCheck(Mutex<KnownMail>);

#[derive(Debug, Default)]
struct KnownMail {
    /// The epoch of the connection in which the end of the stream was last read, and that end.
    end: Option<(u64, StreamEnd)>,
    /// The last message that was read from each inbox: its sequence number, and when it was stored, in microseconds since
    /// 1970.
    read: HashMap<Name, (u64, i64)>,
}

impl PositionCheck {
    fn lock(&self) -> MutexGuard<'_, KnownMail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the position if it belongs to the stream. Otherwise returns the one before the first message of the inbox that
    /// was stored after the last one that was read.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub fn valid(
        &self,
        hub: &Hub,
        name: &Name,
        position: ReadPosition,
    ) -> Result<ReadPosition, StoreError> {
        let (key, known) = (name.to_string(), self.lock().end);
        let (valid, end) = hub.run(move |link| async move {
            let (epoch, end) = match known {
                Some((epoch, end)) if epoch == link.epoch() && position.fits(end) => (epoch, end),
                Some(_) | None => current_end(&link).await?,
            };
            let created = end.created;
            let valid = if position.fits(end) {
                ReadPosition {
                    created,
                    ..position
                }
            } else {
                let offset = last_read(&link, &key, &position, end).await?;
                ReadPosition {
                    offset,
                    created,
                    log: String::new(),
                    upto: 0,
                    ..position
                }
            };
            Ok((valid, (epoch, end)))
        })?;
        self.lock().end = Some(end);
        Ok(valid)
    }

    /// Records the last message that was read from an inbox, and when it was stored.
    pub fn note_read(&self, name: &Name, sequence: u64, at: i64) {
        let mut known = self.lock();
        known.read.insert(name.clone(), (sequence, at));
        if let Some((_, end)) = &mut known.end {
            end.last_sequence = end.last_sequence.max(sequence);
        }
    }

    /// Returns when the message `sequence` of an inbox was stored, in microseconds since 1970; 0 if there is no such message.
    ///
    /// # Errors
    /// When the hub does not answer.
    pub fn stored_at(&self, hub: &Hub, name: &Name, sequence: u64) -> Result<i64, StoreError> {
        let known = self.lock().read.get(name).copied();
        if let Some((_, at)) = known.filter(|(known, _)| *known == sequence) {
            return Ok(at);
        }
        let key = name.to_string();
        let found = hub.run(move |link| async move {
            keys::next(&link, StreamKind::Mail, &key, sequence).await
        })?;
        let found = found.filter(|stored| stored.sequence == sequence);
        Ok(found.map_or(0, |stored| stored.microseconds()))
    }
}

/// Returns the end of the stream, and the epoch of the connection in which it was read.
async fn current_end(link: &HubConnection) -> Result<(u64, StreamEnd), HubError> {
    loop {
        let epoch = link.epoch();
        let end = reads::stream_end(link, StreamKind::Mail).await?;
        if epoch == link.epoch() {
            return Ok((epoch, end));
        }
    }
}

/// Returns the sequence number of the last message of an inbox that was not stored later than the last one that was read; 0
/// if there is none.
async fn last_read(
    link: &HubConnection,
    key: &str,
    position: &ReadPosition,
    end: StreamEnd,
) -> Result<u64, HubError> {
    if position.created == 0 && position.read_at == 0 {
        // An earlier version has stored it, and not recorded when the message was stored.
        return Ok(end.last_sequence);
    }
    let (kind, range) = (StreamKind::Mail, Range::From(1));
    let all = reads::read_current(link, kind, key, range, SEARCH_MAX).await?;
    let is_read = |stored: &&Stored| stored.microseconds() <= position.read_at;
    let last = all.iter().take_while(is_read).last();
    Ok(last.map_or(0, |stored| stored.sequence))
}
