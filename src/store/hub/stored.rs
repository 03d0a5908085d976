//! Messages as they are stored. The only place where signatures are made and verified.

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::{HeaderMap, HeaderValue, jetstream};

use super::connection::HubConnection;
use super::streams::StreamKind;

/// Header of the mark that the server leaves in place of an expired message.
const MARKER: &str = "Nats-Marker-Reason";
/// Header with the signature, if the crew has a secret.
const SIGNATURE: &str = "Crewdeck-Mac";
/// The payload of a message without a valid signature. It is not valid JSON, so a reader that does not look at
/// [`Stored::is_unsigned`] finds an unreadable value. A lease then counts as held.
pub(super) const UNSIGNED: &[u8] = b"not signed";

/// A message, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// The last part of the subject.
    pub key: String,
    pub sequence: u64,
    /// When the server has stored the message, in seconds since 1970.
    pub stored_at: i64,
    /// Empty for the mark of an expired message; [`UNSIGNED`] if the message lacks a valid signature.
    pub payload: Vec<u8>,
    /// The id of the write; empty if there is none.
    pub id: String,
    /// Whether the crew has a secret and the message is not signed with it.
    pub is_unsigned: bool,
}

/// Adds the signature to a message with this id, if the crew has a secret.
pub(super) fn sign(
    link: &HubConnection,
    message: PublishMessage,
    subject: &str,
    id: &str,
    payload: &[u8],
) -> PublishMessage {
    match &link.key {
        Some(key) => message.header(SIGNATURE, key.sign(subject, id, payload)),
        None => message,
    }
}

/// Returns a message that was read from a stream.
pub(super) fn from_stream(
    link: &HubConnection,
    kind: StreamKind,
    message: &StreamMessage,
) -> Stored {
    let at = (message.sequence, message.time.unix_timestamp());
    let (subject, headers) = (message.subject.as_str(), Some(&message.headers));
    stored(link, kind, subject, at, headers, &message.payload)
}

/// Returns a message that a consumer has delivered.
pub(super) fn from_consumer(
    link: &HubConnection,
    kind: StreamKind,
    message: &jetstream::Message,
    sequence: u64,
) -> Stored {
    let (subject, headers) = (message.subject.as_str(), message.headers.as_ref());
    let info = message.info();
    let stored_at = info.map_or(0, |info| info.published.unix_timestamp());
    let at = (sequence, stored_at);
    stored(link, kind, subject, at, headers, &message.payload)
}

fn stored(
    link: &HubConnection,
    kind: StreamKind,
    subject: &str,
    (sequence, stored_at): (u64, i64),
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
        link.key
            .as_ref()
            .is_none_or(|key| key.is_signed(subject, &id, payload, signature.unwrap_or_default()))
    };
    let is_unsigned = !is_marker && !is_signed();
    if is_unsigned {
        link.report_unsigned(kind, subject);
    }
    Stored {
        key: last_part(subject),
        sequence,
        stored_at,
        payload: match (is_marker, is_unsigned) {
            (true, _) => Vec::new(),
            (false, true) => UNSIGNED.to_vec(),
            (false, false) => payload.to_vec(),
        },
        id,
        is_unsigned,
    }
}

/// Returns the last part of a subject.
pub(super) fn last_part(subject: &str) -> String {
    let last = subject.rsplit('.').next();
    last.unwrap_or_default().to_string()
}
