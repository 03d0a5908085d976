//! Keeps read positions valid if the stream of the messages was deleted and created again. The number in a position then belongs
//! to another message or to none.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::StoreError;
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys;
use super::mail_records::ReadPosition;
use super::reads::{self, Range};
use super::stored::Stored;
use super::stream_end::StreamEnd;
use super::streams::StreamKind;
use crate::domain::ids::Name;

/// Maximum number of messages of one inbox that are searched.
const SEARCH_MAX: usize = 100_000;

/// Time after which the end of the stream is read again: another client may have created the stream again.
const READ_AGAIN: Duration = Duration::from_secs(30);

/// Compares read positions with the stream of the messages. Asks the hub once per connection, again for a position after the
/// end that is known, and from time to time.
#[derive(Debug, Default)]
pub(super) struct PositionCheck(Mutex<KnownMail>);

#[derive(Debug, Default)]
struct KnownMail {
    end: Option<KnownEnd>,
    /// The last message that was read from each inbox: its sequence number, and when it was stored, in microseconds since
    /// 1970.
    read: HashMap<Name, (u64, i64)>,
}

/// The end of the stream, as it was last read.
#[derive(Debug, Clone, Copy)]
struct KnownEnd {
    end: StreamEnd,
    /// The epoch of the connection in which it was read.
    epoch: u64,
    read_at: Instant,
}

impl KnownEnd {
    /// Returns whether the end says that a position is valid.
    fn covers(&self, position: &ReadPosition, epoch: u64) -> bool {
        let is_current = self.epoch == epoch && self.read_at.elapsed() < READ_AGAIN;
        is_current && position.fits(self.end)
    }
}

impl KnownMail {
    fn set_end(&mut self, known: KnownEnd) {
        let is_other = |old: &KnownEnd| old.end.created != known.end.created;
        if self.end.as_ref().is_some_and(is_other) {
            // The same numbers belong to other messages now.
            self.read.clear();
        }
        self.end = Some(known);
    }
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
        let (valid, known) = hub.run(move |connection| async move {
            let known = match known {
                Some(known) if known.covers(&position, connection.epoch()) => known,
                Some(_) | None => current_end(&connection).await?,
            };
            let end = known.end;
            let created = end.created;
            let valid = if position.fits(end) {
                ReadPosition {
                    created,
                    ..position
                }
            } else {
                let offset = last_read(&connection, &key, &position, end).await?;
                ReadPosition {
                    offset,
                    created,
                    log: String::new(),
                    upto: 0,
                    ..position
                }
            };
            Ok((valid, known))
        })?;
        self.lock().set_end(known);
        Ok(valid)
    }

    /// Records the last message that was read from an inbox, and when it was stored.
    pub fn note_read(&self, name: &Name, sequence: u64, at: i64) {
        let mut known = self.lock();
        known.read.insert(name.clone(), (sequence, at));
        if let Some(known) = &mut known.end {
            known.end.last_sequence = known.end.last_sequence.max(sequence);
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
        let found = hub.run(move |connection| async move {
            keys::next(&connection, StreamKind::Mail, &key, sequence).await
        })?;
        let found = found.filter(|stored| stored.sequence == sequence);
        Ok(found.map_or(0, |stored| stored.microseconds()))
    }
}

/// Reads the end of the stream.
async fn current_end(connection: &HubConnection) -> Result<KnownEnd, HubError> {
    loop {
        let (epoch, read_at) = (connection.epoch(), Instant::now());
        let end = reads::stream_end(connection, StreamKind::Mail).await?;
        if epoch == connection.epoch() {
            return Ok(KnownEnd {
                end,
                epoch,
                read_at,
            });
        }
    }
}

/// Returns the sequence number of the last message of an inbox that was not stored later than the last one that was read; 0
/// if there is none.
async fn last_read(
    connection: &HubConnection,
    key: &str,
    position: &ReadPosition,
    end: StreamEnd,
) -> Result<u64, HubError> {
    if position.created == 0 && position.read_at == 0 {
        // An earlier version has stored it, and not recorded when the message was stored.
        return Ok(end.last_sequence);
    }
    let (kind, range) = (StreamKind::Mail, Range::From(1));
    let all = reads::read_current(connection, kind, key, range, SEARCH_MAX).await?;
    let is_read = |stored: &&Stored| stored.microseconds() <= position.read_at;
    let last = all.iter().take_while(is_read).last();
    Ok(last.map_or(0, |stored| stored.sequence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end_of(created: i64) -> KnownEnd {
        KnownEnd {
            end: StreamEnd {
                created,
                last_sequence: 7,
            },
            epoch: 1,
            read_at: Instant::now(),
        }
    }

    #[test]
    fn times_of_messages_are_forgotten_if_the_stream_was_created_again() {
        let mut known = KnownMail::default();
        known.set_end(end_of(1));
        known.read.insert(Name::lead(), (7, 1_800_000_000));
        known.set_end(end_of(1));
        assert_eq!(known.read.len(), 1);
        known.set_end(end_of(2));
        assert!(known.read.is_empty());
    }
}
