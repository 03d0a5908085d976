//! Messages on a hub: one subject per inbox, and one key with the position up to which the owner has read it.

use std::collections::{HashMap, HashSet};
use std::future::IntoFuture;

use futures::StreamExt;
use serde::{Deserialize, Serialize};

use super::super::StoreError;
use super::super::cursor::Cursor;
use super::super::inbox::{BYTES_MAX, MESSAGES_MAX};
use super::super::mail_store::{ReadyFilter, RecentMessages, UnreadCount, UnreadMessages};
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Expected, Range, Stored, Write};
use super::streams::StreamKind;
use super::values::{self, Versioned};
use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::{DeliveryState, MailMessage};
use crate::domain::timestamp::Timestamp;

/// Maximum number of messages of one inbox that are counted or searched.
const SEARCH_MAX: usize = 100_000;
/// Maximum length of an id that the server compares, in bytes.
const ID_MAX: usize = 200;

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
}

/// The messages of a crew on a hub.
#[derive(Debug, Clone)]
pub(super) struct HubMail {
    pub hub: Hub,
}

pub(super) fn position_key(name: &Name) -> String {
    format!("position.{name}")
}

impl HubMail {
    pub fn append(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let id = message.id.0.as_str();
        let id = match id {
            "" => uuid::Uuid::now_v7().to_string(),
            id => format!("{to}/{id}"),
        };
        self.write(to, message, id)
    }

    /// Stores the message unless one of this kind about the same request is stored. Of several senders that find none at
    /// the same time, the server stores the message of one, because the messages have the same id.
    pub fn append_once(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let about = message.request_id();
        let stored = self.read_all(to, 0, SEARCH_MAX)?;
        let is_same = |(_, other): &(u64, MailMessage)| {
            other.kind == message.kind && other.request_id() == about
        };
        if stored.iter().any(is_same) {
            return Ok(());
        }
        let about = about.map(|id| id.0).unwrap_or_default();
        self.write(to, message, format!("{to}/{}/{about}", message.kind))
    }

    pub fn write(&self, to: &Name, message: &MailMessage, id: String) -> Result<(), StoreError> {
        let payload = serde_json::to_vec(message)?;
        let (kind, anything) = (StreamKind::Mail, Expected::Anything);
        let mut write = Write::new(kind, to.to_string(), payload, anything, "the message");
        if id.len() <= ID_MAX && id.bytes().all(|b| b.is_ascii_graphic()) {
            write.id = id;
        }
        self.hub.run(move |link| async move {
            match keys::write(&link, write.clone(), ANSWER_WITHIN).await {
                // Read messages are kept only while there is space for them.
                Err(HubError::Full { .. }) if remove_read(&link).await? > 0 => {
                    keys::write(&link, write, ANSWER_WITHIN).await
                }
                written => written,
            }
        })?;
        Ok(())
    }

    /// Returns the messages of an inbox after the position `after`, with their sequence numbers.
    fn read_all(
        &self,
        name: &Name,
        after: u64,
        most: usize,
    ) -> Result<Vec<(u64, MailMessage)>, StoreError> {
        let key = name.to_string();
        let stored = self.hub.run(move |link| async move {
            let range = Range::From(after + 1);
            keys::read_current(&link, StreamKind::Mail, &key, range, most).await
        })?;
        let signed = stored.iter().filter(|stored| !stored.is_unsigned);
        Ok(signed.map(|s| (s.sequence, parse(s))).collect())
    }

    pub fn position(&self, name: &Name) -> Result<Versioned<ReadPosition>, StoreError> {
        values::read(&self.hub, &position_key(name))
    }

    /// Returns the first messages after the position `after`, up to the limits of one read. Stops before the first message
    /// that is not ready.
    pub fn unread(
        &self,
        name: &Name,
        after: u64,
        is_ready: &ReadyFilter<'_>,
    ) -> Result<UnreadMessages, StoreError> {
        let key = name.to_string();
        let stored = self.hub.run(move |link| async move {
            let (mut all, mut bytes) = (Vec::<Stored>::new(), 0);
            let (mut last, mut ignored) = (after, 0);
            while all.len() < MESSAGES_MAX && bytes < BYTES_MAX && ignored < SEARCH_MAX {
                let next = keys::next(&link, StreamKind::Mail, &key, last + 1).await?;
                let Some(stored) = next else {
                    break;
                };
                last = stored.sequence;
                if stored.is_unsigned {
                    ignored += 1;
                    continue;
                }
                bytes += stored.payload.len();
                all.push(stored);
            }
            Ok(all)
        })?;
        let (mut upto, mut messages) = (after, Vec::<MailMessage>::new());
        let mut ids = HashSet::new();
        for stored in &stored {
            let message = parse(stored);
            if !is_ready(&message) {
                break;
            }
            upto = stored.sequence;
            // The server may store a message twice if an outage is longer than it remembers ids.
            if ids.insert(message.id.0.clone()) {
                messages.push(message);
            }
        }
        let cursor = Cursor {
            offset: upto,
            mark: None,
        };
        let inbox = format!("the inbox of {name} on the hub");
        Ok(UnreadMessages::new(messages, cursor, inbox))
    }

    pub fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError> {
        let stored = self.hub.run(move |link| async move {
            // This finds out whether the stream still exists.
            keys::next(&link, StreamKind::Mail, ">", 1).await?;
            let info = link.stream(StreamKind::Mail).await?.get_info().await;
            let info = info.map_err(|why| link.no_answer(ANSWER_WITHIN, why.to_string()))?;
            let first = (info.state.last_sequence + 1).saturating_sub(limit as u64);
            let range = Range::From(first);
            // A message that was stored meanwhile replaces the oldest one.
            keys::read_current(&link, StreamKind::Mail, "*", range, usize::MAX).await
        })?;
        let mut read_to = HashMap::new();
        let mut messages = Vec::new();
        let newest = stored.iter().skip(stored.len().saturating_sub(limit));
        for stored in newest.filter(|stored| !stored.is_unsigned) {
            let Ok(name) = Name::party(&stored.key) else {
                continue;
            };
            let position = match read_to.get(&name) {
                Some(position) => *position,
                None => {
                    let found = self.position(&name)?.value.unwrap_or_default().offset;
                    read_to.insert(name, found);
                    found
                }
            };
            let state = if stored.sequence <= position {
                DeliveryState::Delivered
            } else {
                DeliveryState::Sent
            };
            messages.push((parse(stored), state));
        }
        Ok(RecentMessages {
            messages,
            notices: self.hub.take_problems(),
        })
    }

    pub fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError> {
        let names = self.hub.run(|link| async move { inboxes(&link).await })?;
        let mut all = Vec::new();
        for name in names {
            let position = self.position(&name)?.value.unwrap_or_default();
            let unread = self.read_all(&name, position.offset, SEARCH_MAX)?;
            if let Some((_, oldest)) = unread.first() {
                all.push(UnreadCount {
                    name,
                    count: unread.len(),
                    oldest: oldest.timestamp,
                });
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }
}

/// Returns the owners of all inboxes that contain messages.
async fn inboxes(link: &HubConnection) -> Result<Vec<Name>, HubError> {
    // This finds out whether the stream still exists.
    keys::next(link, StreamKind::Mail, ">", 1).await?;
    let stream = link.stream(StreamKind::Mail).await?;
    let no_answer = |why: String| link.no_answer(ANSWER_WITHIN, why);
    let subjects = stream.info_with_subjects(link.subject(StreamKind::Mail, ">"));
    let mut subjects = subjects.await.map_err(|why| no_answer(why.to_string()))?;
    let mut names = Vec::new();
    while let Some(found) = subjects.next().await {
        let (subject, _) = found.map_err(|why| no_answer(why.to_string()))?;
        let name = subject.rsplit('.').next().unwrap_or_default();
        names.extend(Name::party(name).ok());
    }
    Ok(names)
}

/// Removes the messages that their recipients have read. Returns their number.
async fn remove_read(link: &HubConnection) -> Result<u64, HubError> {
    let mut removed = 0;
    for name in inboxes(link).await? {
        let stored = keys::read(link, StreamKind::State, &position_key(&name)).await?;
        let position = stored.and_then(|s| serde_json::from_slice::<ReadPosition>(&s.payload).ok());
        let offset = position.unwrap_or_default().offset;
        if offset == 0 {
            continue;
        }
        let stream = link.stream(StreamKind::Mail).await?;
        let purge = stream.purge().sequence(offset + 1);
        let purge = purge.filter(link.subject(StreamKind::Mail, name.as_str()));
        let purged = tokio::time::timeout(ANSWER_WITHIN, purge.into_future()).await;
        if let Ok(Ok(purged)) = purged {
            removed += purged.purged;
        }
    }
    Ok(removed)
}

/// Parses a stored message. Another program may have stored something else; the recipient then gets it as a text.
fn parse(stored: &Stored) -> MailMessage {
    let parsed = serde_json::from_slice::<MailMessage>(&stored.payload);
    let mut message = parsed.unwrap_or_else(|_| MailMessage {
        id: MessageId::default(),
        kind: crate::domain::mail::MailKind::default(),
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
