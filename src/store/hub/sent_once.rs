//! What was sent about requests, so that a message about a request is sent once, however long its inbox is.
//!
//! The record is stored before the message, and says where the inbox must be searched if its writer was killed.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::super::StoreError;
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::reads::{self, Range};
use super::streams::StreamKind;
use super::values;
use crate::domain::ids::{Name, RequestId};
use crate::domain::mail::MailMessage;
use crate::domain::timestamp::Timestamp;

/// The keys of all records: request, kind of the message and recipient.
const KEYS: &str = "request.*.*.*";
/// Maximum number of records that are read.
const RECORDS_MAX: usize = 100_000;
const WHAT: &str = "the record of a message";

/// The record of one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SentRecord {
    /// The request, as in the key.
    request: String,
    /// The sequence number of the last message of all inboxes before the first attempt.
    after: u64,
    /// Whether the message is certainly stored.
    #[serde(default)]
    is_sent: bool,
}

/// A message whose sending has begun.
#[derive(Debug)]
pub(super) struct SentOnce {
    key: String,
    record: SentRecord,
    revision: u64,
}

/// The state of a message about a request.
#[derive(Debug)]
pub(super) enum SentState {
    Sent,
    /// It must be sent, unless the inbox has it after the sequence number [`SentOnce::after`].
    Unknown(SentOnce),
}

/// A record, for the removal of those whose request is gone.
#[derive(Debug)]
pub(super) struct OldSent {
    pub request: String,
    pub sequence: u64,
    pub stored_at: Timestamp,
}

/// Returns a text as one part of a key.
fn part(text: &str) -> String {
    if RequestId(text.into()).is_safe() {
        return text.into();
    }
    // Another program may have written the text.
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let mut part = String::from("other-");
    for byte in digest.as_ref().iter().take(24) {
        // Writing to a text cannot fail.
        let _ = write!(part, "{byte:02x}");
    }
    part
}

impl SentOnce {
    /// Records that a message about the request `about` is going to be sent to `to`, unless another process has done so.
    ///
    /// # Errors
    /// When the hub does not answer, or the record cannot be read or written.
    pub fn begin(
        hub: &Hub,
        to: &Name,
        message: &MailMessage,
        about: &RequestId,
    ) -> Result<SentState, StoreError> {
        let request = part(&about.0);
        let kind = part(&message.kind.to_string());
        let key = format!("request.{request}.{kind}.{to}");
        let found = values::read::<SentRecord>(hub, &key)?;
        let Some(record) = found.value else {
            let after = hub.run(|connection| async move {
                reads::last_sequence(&connection, StreamKind::Mail).await
            })?;
            let record = SentRecord {
                request,
                after,
                is_sent: false,
            };
            if let Some(revision) = values::write(hub, &key, &record, found.revision, WHAT)? {
                return Ok(SentState::Unknown(SentOnce {
                    key,
                    record,
                    revision,
                }));
            }
            // Another process was faster. Of both messages the server stores one, because they have the same id.
            let found = values::read::<SentRecord>(hub, &key)?;
            let record = found.value.unwrap_or(record);
            return Ok(SentOnce::found(key, record, found.revision));
        };
        Ok(SentOnce::found(key, record, found.revision))
    }

    fn found(key: String, record: SentRecord, revision: u64) -> SentState {
        if record.is_sent {
            return SentState::Sent;
        }
        SentState::Unknown(SentOnce {
            key,
            record,
            revision,
        })
    }

    pub fn after(&self) -> u64 {
        self.record.after
    }

    /// Records that the message is stored. If this fails, the next sender finds the message in the inbox.
    pub fn finish(self, hub: &Hub) {
        let record = SentRecord {
            is_sent: true,
            ..self.record
        };
        let _ = values::write(hub, &self.key, &record, self.revision, WHAT);
    }
}

/// Returns all records.
pub(super) async fn all(connection: &HubConnection) -> Result<Vec<OldSent>, HubError> {
    let (kind, range) = (StreamKind::State, Range::LastOfEach);
    let stored = reads::read_many(connection, kind, KEYS, range, RECORDS_MAX).await?;
    let records = stored.into_iter().filter_map(|stored| {
        let record: SentRecord = serde_json::from_slice(&stored.payload).ok()?;
        Some(OldSent {
            request: part(&record.request),
            sequence: stored.sequence,
            stored_at: stored.stored_at(),
        })
    });
    Ok(records.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_becomes_one_part_of_a_key() {
        assert_eq!(part("r1-a_B"), "r1-a_B");
        for text in ["", "a.b", "a b", "*", ">", &"x".repeat(100)] {
            let part = part(text);
            assert!(RequestId(part.clone()).is_safe(), "{text}: {part}");
            assert_ne!(part, super::part("another"));
        }
        assert_ne!(part("a.b"), part("a.c"));
    }
}
