//! Messages and read positions as they are stored, and the copies that a client has of the newest ones. Does no I/O.

use std::collections::{HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::stored::Stored;
use super::stream_end::StreamEnd;
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{DeliveryState, MailKind, MailMessage};
use crate::domain::timestamp::Timestamp;

/// Number of message ids that are remembered for each inbox.
pub(super) const SEEN_MAX: usize = 256;
/// Maximum length of an id that is remembered, here and by the server, in bytes.
pub(super) const ID_MAX: usize = 200;

/// The read position of an inbox.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct ReadPosition {
    /// The sequence number of the last message that was read.
    pub offset: u64,
    /// Name of the log to which the reader is about to write messages; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// The position after these messages.
    #[serde(default)]
    pub upto: u64,
    /// The session of the reader that has written this.
    #[serde(default)]
    pub session: String,
    /// When the message at `offset` was stored, in microseconds since 1970; 0 if unknown.
    #[serde(default)]
    pub read_at: i64,
    /// When the stream with these sequence numbers was created, in microseconds since 1970; 0 if unknown.
    #[serde(default)]
    pub created: i64,
}

impl ReadPosition {
    /// Returns whether the position can belong to the stream with this end. A position after the end can: a server of a
    /// cluster that was cut off from the others answers with an earlier end.
    pub fn fits(&self, end: StreamEnd) -> bool {
        fits(self.created, end)
    }

    /// Returns whether this position, the valid one for `stored`, must replace it.
    pub fn differs_from(&self, stored: &ReadPosition) -> bool {
        self.offset != stored.offset || (stored.created != 0 && self.created != stored.created)
    }
}

fn fits(created: i64, end: StreamEnd) -> bool {
    created == 0 || created == end.created
}

/// Parses a stored message. Another program may have stored something else; the recipient then gets it as a text.
pub(super) fn parse(stored: &Stored) -> MailMessage {
    let parsed = serde_json::from_slice::<MailMessage>(&stored.payload);
    let mut message = parsed.unwrap_or_else(|_| MailMessage {
        id: MessageId::default(),
        kind: MailKind::default(),
        from: "unknown".into(),
        to: stored.key.clone(),
        content: String::from_utf8_lossy(&stored.payload).into_owned(),
        timestamp: Timestamp::default(),
        extra: serde_json::Map::new(),
    });
    if message.id.0.is_empty() {
        message.id = MessageId(format!("{}-{}", stored.key, stored.sequence));
    }
    if message.to.is_empty() {
        message.to.clone_from(&stored.key);
    }
    message
}

/// The newest messages of all inboxes.
#[derive(Debug, Default)]
pub(super) struct NewestMessages {
    messages: VecDeque<(u64, String, MailMessage)>,
    /// Maximum number of messages.
    pub limit: usize,
    /// The sequence number up to which all messages are known; 0 if they must be read.
    pub sequence: u64,
    /// The epoch of the connection in which they were read.
    pub epoch: u64,
}

impl NewestMessages {
    /// Forgets everything, and begins a copy of at most `limit` messages.
    pub fn begin(&mut self, limit: usize) {
        *self = NewestMessages {
            limit,
            ..NewestMessages::default()
        };
    }

    /// Adds a message that was stored after all others. The oldest makes room for it.
    pub fn add(&mut self, stored: &Stored) {
        self.sequence = self.sequence.max(stored.sequence);
        if stored.is_unsigned || Name::party(&stored.key).is_err() {
            return;
        }
        let (owner, message) = (stored.key.clone(), parse(stored));
        self.messages.push_back((stored.sequence, owner, message));
        if self.messages.len() > self.limit {
            self.messages.pop_front();
        }
    }

    /// Returns the newest messages with their delivery state, at most `limit`, oldest first.
    pub fn newest(&self, limit: usize, positions: &Positions) -> Vec<(MailMessage, DeliveryState)> {
        let surplus = self.messages.len().saturating_sub(limit);
        let newest = self.messages.iter().skip(surplus);
        newest
            .map(|(sequence, owner, message)| {
                let state = if *sequence <= positions.of(owner) {
                    DeliveryState::Delivered
                } else {
                    DeliveryState::Sent
                };
                (message.clone(), state)
            })
            .collect()
    }
}

/// The read positions of all inboxes, by name.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// By owner: the position, and when the stream that it belongs to was created, as in [`ReadPosition::created`].
    by_owner: HashMap<String, (u64, i64)>,
    /// The sequence number up to which all changes are in this copy.
    pub sequence: u64,
    /// The epoch of the connection in which the positions were read; 0 if they must be read again.
    pub epoch: u64,
}

impl Positions {
    /// Adds a position. One that cannot be read counts as none.
    pub fn add(&mut self, stored: &Stored) {
        self.sequence = self.sequence.max(stored.sequence);
        match serde_json::from_slice::<ReadPosition>(&stored.payload) {
            Ok(position) => {
                let position = (position.offset, position.created);
                self.by_owner.insert(stored.key.clone(), position)
            }
            Err(_) => self.by_owner.remove(&stored.key),
        };
    }

    /// Returns the position up to which the owner has read; 0 at the start.
    pub fn of(&self, owner: &str) -> u64 {
        self.by_owner.get(owner).map_or(0, |(offset, _)| *offset)
    }

    /// Like [`Positions::of`], but 0 if the position cannot belong to the stream with this end: its owner has not corrected
    /// it yet.
    pub fn fitting(&self, owner: &str, end: StreamEnd) -> u64 {
        let (offset, created) = self.by_owner.get(owner).copied().unwrap_or_default();
        if fits(created, end) { offset } else { 0 }
    }
}

/// The ids of the newest messages of an inbox that this process has seen, with their sequence numbers.
#[derive(Debug, Default)]
pub(super) struct SeenIds(VecDeque<(u64, String)>);

impl SeenIds {
    /// Adds a message of an inbox that was read up to `position`. Returns whether it repeats a message up to `position`: the
    /// server may store a message twice if it is sent again later than the server remembers ids.
    pub fn is_repeated(&mut self, position: u64, sequence: u64, id: &str) -> bool {
        if id.len() > ID_MAX {
            return false;
        }
        if let Some((known, _)) = self.0.iter_mut().find(|(_, known)| known == id) {
            if *known < sequence {
                return *known <= position;
            }
            // If the stream has gone back, the numbers have begun again.
            *known = sequence;
            return false;
        }
        if self.0.len() >= SEEN_MAX {
            self.0.pop_front();
        }
        self.0.push_back((sequence, id.into()));
        false
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn stored(key: &str, sequence: u64, payload: &str) -> Stored {
        Stored {
            key: key.into(),
            sequence,
            nanoseconds: 0,
            payload: payload.into(),
            id: String::new(),
            is_unsigned: false,
        }
    }

    #[test]
    fn newest_messages_are_bounded_and_show_what_was_read() {
        let (mut newest, mut positions) = (NewestMessages::default(), Positions::default());
        newest.begin(3);
        for (sequence, owner) in [(1, "bob"), (2, "carol"), (3, "bob"), (4, "bob")] {
            newest.add(&stored(owner, sequence, &sequence.to_string()));
        }
        newest.add(&Stored {
            is_unsigned: true,
            ..stored("bob", 5, "5")
        });
        positions.add(&stored("bob", 9, r#"{"offset":3}"#));
        let shown = |limit, positions: &Positions| {
            let newest = newest.newest(limit, positions).into_iter();
            let shown = newest.map(|(m, state)| (m.content, state == DeliveryState::Delivered));
            shown.collect::<Vec<_>>()
        };
        let expected = [("2", false), ("3", true), ("4", false)];
        assert_eq!(
            shown(9, &positions),
            expected.map(|(t, s)| (t.to_string(), s))
        );
        assert_eq!(shown(1, &positions), [("4".to_string(), false)]);
        assert_eq!((newest.sequence, positions.sequence), (5, 9));
        positions.add(&stored("bob", 10, "not signed"));
        assert_eq!(positions.of("bob"), 0);
    }

    #[test]
    fn position_that_does_not_fit_the_stream_counts_as_none() {
        let mut positions = Positions::default();
        positions.add(&stored("bob", 1, r#"{"offset":3,"created":7}"#));
        let of = |last_sequence, created| {
            let end = StreamEnd {
                last_sequence,
                created,
            };
            positions.fitting("bob", end)
        };
        assert_eq!((of(3, 7), of(2, 7), of(9, 8)), (3, 3, 0));
    }

    #[test]
    fn only_a_position_of_another_stream_does_not_fit() {
        let position = |offset, created| ReadPosition {
            offset,
            created,
            ..ReadPosition::default()
        };
        let end = StreamEnd {
            last_sequence: 5,
            created: 7,
        };
        assert!(position(5, 7).fits(end) && position(5, 0).fits(end));
        // The end is the one that a server knows which was cut off from the others of its cluster.
        assert!(position(6, 7).fits(end) && position(6, 0).fits(end));
        assert!(!position(5, 8).fits(end));
    }

    #[test]
    fn repeated_message_is_recognized_after_it_was_read() {
        let mut seen = SeenIds::default();
        assert!(!seen.is_repeated(0, 5, "a"));
        // It is read again, because it was not acknowledged.
        assert!(!seen.is_repeated(0, 5, "a"));
        assert!(seen.is_repeated(5, 9, "a"));
        assert!(!seen.is_repeated(9, 10, "b"));
        // The stream has begun again.
        assert!(!seen.is_repeated(0, 2, "a"));
        for number in 0..2 * SEEN_MAX as u64 {
            assert!(!seen.is_repeated(10, 20 + number, &number.to_string()));
        }
        assert_eq!(seen.0.len(), SEEN_MAX);
        assert!(!seen.is_repeated(10_000, 10_001, "a"));
    }
}
