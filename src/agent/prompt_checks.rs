//! What `UserPromptSubmit` hooks have decided about messages of the user in the inboxes of agents.
//!
//! A message that another process has written, such as a viewer or `crewdeck mail send`, waits in the inbox until the
//! crew has run the hooks. The decisions are in memory only: after a restart, the hooks of an undelivered message run
//! again.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::domain::ids::{MessageId, Name};
use crate::domain::mail::MailMessage;
use crate::store::{InboxReader, StoreError, UnreadMessages};

/// Maximum number of decisions about the messages of one inbox. If there are more, the oldest is dropped. The limit is
/// larger than the number of messages that are read from an inbox at once, so that the decision about an unread message
/// is not dropped.
const DECISIONS_MAX: usize = 512;

/// The decision of the UserPromptSubmit hooks about one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptCheck {
    /// The message may be delivered, with these texts of the hooks for the model.
    Passed(Vec<String>),
    Blocked,
}

/// The decisions of UserPromptSubmit hooks about the messages in all inboxes of a crew.
#[derive(Debug, Default)]
pub struct PromptChecks {
    /// The decisions for each recipient, oldest first. The key is the name in lower case.
    decisions: Mutex<HashMap<String, VecDeque<(MessageKey, PromptCheck)>>>,
    hasher: RandomState,
}

/// Identifies a message: its id, and a hash of its text, because other programs can write two messages with the same
/// id.
#[derive(Debug, PartialEq, Eq)]
struct MessageKey(MessageId, u64);

impl PromptChecks {
    fn key(&self, message: &MailMessage) -> MessageKey {
        MessageKey(message.id.clone(), self.hasher.hash_one(&message.content))
    }

    /// Records the decision about a message in the inbox of `to`.
    pub fn record(&self, to: &Name, message: &MailMessage, check: PromptCheck) {
        let key = self.key(message);
        let mut all = self
            .decisions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let own = all.entry(to.as_str().to_ascii_lowercase()).or_default();
        if own.len() == DECISIONS_MAX {
            own.pop_front();
        }
        own.push_back((key, check));
    }

    /// Returns the last decision about a message in the inbox of `to`; `None` if there is none.
    pub fn of(&self, to: &Name, message: &MailMessage) -> Option<PromptCheck> {
        let key = self.key(message);
        let all = self
            .decisions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let own = all.get(&to.as_str().to_ascii_lowercase())?;
        let mut newest = own.iter().rev();
        Some(newest.find(|(k, _)| *k == key)?.1.clone())
    }

    /// Returns whether a message in the inbox of `to` waits for its hooks: it is a prompt of the user
    /// ([`MailMessage::is_prompt`]), and there is no decision about it.
    pub fn is_open(&self, to: &Name, message: &MailMessage) -> bool {
        message.is_prompt() && self.of(to, message).is_none()
    }

    /// Returns whether the hooks have blocked a message in the inbox of `to`.
    pub fn is_blocked(&self, to: &Name, message: &MailMessage) -> bool {
        message.is_prompt() && self.of(to, message) == Some(PromptCheck::Blocked)
    }

    /// Returns the texts that the hooks have added for the model to a message in the inbox of `to`. Empty if the
    /// message is no prompt, or if the hooks have blocked it or not decided yet.
    pub fn texts(&self, to: &Name, message: &MailMessage) -> Vec<String> {
        match self.of(to, message) {
            Some(PromptCheck::Passed(texts)) if message.is_prompt() => texts,
            _ => Vec::new(),
        }
    }
}

/// Returns the unread messages in the inbox of `to` that may be delivered. Leaves out the first message whose hooks
/// have not run yet, all messages after it, and messages that the hooks have blocked. If `checks` is `None`, returns
/// all unread messages. A delivery marks messages as read. If all messages that could be returned are blocked, no
/// delivery follows, so this function marks them as read.
///
/// # Errors
/// Fails if the inbox cannot be read or written.
pub fn read_deliverable(
    reader: &InboxReader,
    to: &Name,
    checks: Option<&PromptChecks>,
) -> Result<UnreadMessages, StoreError> {
    let Some(checks) = checks else {
        return reader.read_pending();
    };
    let mut pending = reader.read_ready(&|message| !checks.is_open(to, message))?;
    let is_any = !pending.messages.is_empty();
    pending.messages.retain(|m| !checks.is_blocked(to, m));
    if is_any && pending.messages.is_empty() {
        reader.acknowledge(&pending.upto)?;
    }
    Ok(pending)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::mail::MailKind;
    use crate::domain::timestamp::Timestamp;
    use crate::store::Mailbox;

    fn message(from: &Name, text: &str) -> MailMessage {
        let (id, kind) = (MessageId(text.into()), MailKind::Message);
        MailMessage::new(id, kind, from, &Name::lead(), text, Timestamp(1.0))
    }

    fn passed() -> PromptCheck {
        PromptCheck::Passed(vec!["the branch is main".into()])
    }

    #[test]
    fn decision_is_about_exactly_one_text_in_one_inbox() {
        let (checks, lead) = (PromptChecks::default(), Name::lead());
        let hello = message(&Name::user(), "hello");
        assert!(checks.is_open(&lead, &hello));
        checks.record(&lead, &hello, passed());
        assert!(!checks.is_open(&lead, &hello) && !checks.is_blocked(&lead, &hello));
        assert_eq!(checks.texts(&lead, &hello), ["the branch is main"]);
        let mut forged = message(&Name::user(), "forged");
        forged.id = hello.id.clone();
        assert!(checks.is_open(&lead, &forged));
        assert!(checks.is_open(&Name::member("bob").unwrap(), &hello));
        // A message between agents is no prompt.
        assert!(!checks.is_open(&lead, &message(&Name::member("bob").unwrap(), "hello")));
    }

    #[test]
    fn number_of_decisions_is_bounded() {
        let (checks, lead) = (PromptChecks::default(), Name::lead());
        for number in 0..=DECISIONS_MAX {
            let message = message(&Name::user(), &number.to_string());
            checks.record(&lead, &message, PromptCheck::Blocked);
        }
        assert!(checks.is_open(&lead, &message(&Name::user(), "0")));
        assert!(checks.is_blocked(&lead, &message(&Name::user(), "1")));
    }

    #[test]
    fn open_prompts_wait_and_blocked_ones_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        crate::store::prepare(dir.path()).unwrap();
        let (mailbox, lead) = (Mailbox::open(dir.path()), Name::lead());
        let (checks, bob) = (PromptChecks::default(), Name::member("bob").unwrap());
        let sent = [
            message(&Name::user(), "one"),
            message(&bob, "two"),
            message(&Name::user(), "three"),
        ];
        for message in &sent {
            mailbox.send(message).unwrap();
        }
        let read = || {
            let reader = mailbox.reader(&lead, Duration::ZERO).unwrap();
            let pending = read_deliverable(&reader, &lead, Some(&checks)).unwrap();
            let texts: Vec<_> = pending.messages.iter().map(|m| m.content.clone()).collect();
            (texts, reader, pending.upto)
        };
        assert!(read().0.is_empty());
        assert_eq!(mailbox.peek(&lead).unwrap().messages.len(), 3);
        checks.record(&lead, &sent[0], PromptCheck::Blocked);
        let (texts, reader, upto) = read();
        assert_eq!(texts, ["two"]);
        reader.acknowledge(&upto).unwrap();
        drop(reader);
        // A blocked message that is alone is marked as read without a delivery.
        checks.record(&lead, &sent[2], PromptCheck::Blocked);
        assert!(read().0.is_empty());
        assert_eq!(mailbox.peek(&lead).unwrap().messages, []);
    }
}
