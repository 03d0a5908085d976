//! Messages as they are stored. The only place where signatures are made and verified.

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::{HeaderMap, HeaderValue, jetstream};

use super::connection::HubConnection;
use super::stream_end::microseconds;
use super::streams::StreamKind;
use crate::domain::timestamp::Timestamp;

/// Header of the mark that the server leaves in place of an expired message. The server does not know the secret of the
/// crew, so a mark has no signature: a program that can write leases can end one with a mark of its own. Its holder notices
/// this with its next renewal.
const MARKER: &str = "Nats-Marker-Reason";
/// Header with the signature, if the crew has a secret.
const SIGNATURE: &str = "Crewdeck-Mac";
/// The payload of a message without a valid signature. It is not valid JSON, so a reader that does not look at
/// [`Stored::is_unsigned`] finds an unreadable value. A lease then counts as held.
pub(super) const UNSIGNED: &[u8] = b"not signed";

/// A message, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// The part of the subject after the stream. In the streams of the state and the leases, only the last part of it.
    pub key: String,
    pub sequence: u64,
    /// When the server has stored the message, in nanoseconds since 1970.
    pub nanoseconds: i128,
    /// Empty for the mark of an expired message; [`UNSIGNED`] if the message lacks a valid signature.
    pub payload: Vec<u8>,
    /// The id of the write; empty if there is none.
    pub id: String,
    /// Whether the crew has a secret and the message is not signed with it.
    pub is_unsigned: bool,
}

impl Stored {
    /// Returns when the server has stored the message, by the clock of the server.
    pub fn stored_at(&self) -> Timestamp {
        timestamp(self.nanoseconds)
    }

    /// Returns when the server has stored the message, in microseconds since 1970.
    pub fn microseconds(&self) -> i64 {
        microseconds(self.nanoseconds)
    }
}

/// Returns a time of the server in seconds since 1970.
#[allow(clippy::cast_precision_loss)] // far below 2^52 microseconds
pub(super) fn timestamp(nanoseconds: i128) -> Timestamp {
    Timestamp((nanoseconds / 1000) as f64 / 1e6)
}

/// Adds the signature to a message with this id, if the crew has a secret.
pub(super) fn sign(
    connection: &HubConnection,
    message: PublishMessage,
    subject: &str,
    id: &str,
    payload: &[u8],
) -> PublishMessage {
    match &connection.key {
        Some(key) => message.header(SIGNATURE, key.sign(subject, id, payload)),
        None => message,
    }
}

/// Returns a message that was read from a stream.
pub(super) fn from_stream(
    connection: &HubConnection,
    kind: StreamKind,
    message: &StreamMessage,
) -> Stored {
    let at = (message.sequence, message.time.unix_timestamp_nanos());
    let (subject, headers) = (message.subject.as_str(), Some(&message.headers));
    stored(connection, kind, subject, at, headers, &message.payload)
}

/// Returns a message that a consumer has delivered.
pub(super) fn from_consumer(
    connection: &HubConnection,
    kind: StreamKind,
    message: &jetstream::Message,
    sequence: u64,
) -> Stored {
    let (subject, headers) = (message.subject.as_str(), message.headers.as_ref());
    let info = message.info();
    let nanoseconds = info.map_or(0, |info| info.published.unix_timestamp_nanos());
    let at = (sequence, nanoseconds);
    stored(connection, kind, subject, at, headers, &message.payload)
}

fn stored(
    connection: &HubConnection,
    kind: StreamKind,
    subject: &str,
    (sequence, nanoseconds): (u64, i128),
    headers: Option<&HeaderMap>,
    payload: &[u8],
) -> Stored {
    let header = |name: &str| headers.and_then(|headers| headers.get(name));
    let id = headers.and_then(|headers| headers.get(NATS_MESSAGE_ID));
    let id = id.map(|id| id.as_str().to_string()).unwrap_or_default();
    // The server writes the marks, and does not know the secret. Only leases expire.
    let is_marker = kind == StreamKind::Leases && header(MARKER).is_some();
    let is_signed = || {
        let signature = header(SIGNATURE).map(HeaderValue::as_str);
        connection
            .key
            .as_ref()
            .is_none_or(|key| key.is_signed(subject, &id, payload, signature.unwrap_or_default()))
    };
    let is_unsigned = !is_marker && !is_signed();
    if is_unsigned {
        connection.settings.unsigned.add(subject);
    }
    Stored {
        key: key_of(kind, subject),
        sequence,
        nanoseconds,
        payload: match (is_marker, is_unsigned) {
            (true, _) => Vec::new(),
            (false, true) => UNSIGNED.to_vec(),
            (false, false) => payload.to_vec(),
        },
        id,
        is_unsigned,
    }
}

/// Returns the key in a subject such as `crewdeck.CREW.tasks.5`. A subject with further parts is no key of another part.
pub(super) fn key_of(kind: StreamKind, subject: &str) -> String {
    let key = subject.splitn(4, '.').nth(3).unwrap_or_default();
    let key = match kind {
        // Their keys have groups, such as `host.NAME`, and a reader asks for one group.
        StreamKind::State | StreamKind::Leases => key.rsplit('.').next().unwrap_or_default(),
        StreamKind::Tasks | StreamKind::Mail | StreamKind::Events => key,
    };
    key.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_with_further_parts_is_no_other_key() {
        for (kind, subject, key) in [
            (StreamKind::Tasks, "crewdeck.main.tasks.5", "5"),
            (StreamKind::Tasks, "crewdeck.main.tasks.a.b.5", "a.b.5"),
            (StreamKind::Mail, "crewdeck.main.mail.bob", "bob"),
            (StreamKind::Events, "crewdeck.main.events.x.gpu", "x.gpu"),
            (StreamKind::State, "crewdeck.main.state.host.gpu", "gpu"),
            (StreamKind::Leases, "crewdeck.main.leases.lead", "lead"),
            (StreamKind::Tasks, "crewdeck.main", ""),
        ] {
            assert_eq!(key_of(kind, subject), key, "{subject}");
        }
    }

    #[test]
    fn time_of_the_server_has_microseconds() {
        assert_eq!(timestamp(1_500_000_999), Timestamp(1.5));
    }
}
