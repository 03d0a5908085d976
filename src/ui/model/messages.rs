//! The view model of messages between agents and the user: the latest ones with their delivery status.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::team::{MemberStatus, Team};
use crate::domain::text::head_and_tail;
use crate::protocol::event::DeliveryState;
use crate::ui::model::board::memo::Memo;
use crate::ui::model::sentence;
use crate::ui::text::terms::FilterTerms;

/// Maximum number of messages in memory. If there are more, the oldest is dropped.
pub const MESSAGES_MAX: usize = 500;

/// Maximum length of a message's text in memory, in bytes. A longer text is cut in the middle.
pub const MESSAGE_TEXT_MAX: usize = 16 * 1024;

/// A message and its delivery status.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackedMessage {
    /// A number by which the selection identifies the message. Later messages have higher numbers.
    pub number: u64,
    /// The message. A text longer than [`MESSAGE_TEXT_MAX`] is cut in the middle.
    pub message: MailMessage,
    /// The furthest delivery step that was reported for the message.
    pub step: DeliveryState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageStatus {
    /// The message has reached this step and no further one.
    At(DeliveryState),
    /// The recipient has left without reading the message.
    Unread,
}

impl TrackedMessage {
    /// Returns the delivery status. There are two exceptions to the furthest reported step, both if the recipient has
    /// left: a message that was sent and not delivered is unread, and a shutdown request that was delivered is acted
    /// on.
    pub fn status(&self, team: &Team) -> MessageStatus {
        let has_left = team.members.iter().any(|member| {
            let is_it = member.name.as_str().eq_ignore_ascii_case(&self.message.to);
            is_it && member.status == MemberStatus::Shutdown
        });
        match self.step {
            DeliveryState::Sent if has_left => MessageStatus::Unread,
            DeliveryState::Delivered
                if has_left && self.message.kind == MailKind::ShutdownRequest =>
            {
                MessageStatus::At(DeliveryState::ActedOn)
            }
            step => MessageStatus::At(step),
        }
    }
}

impl MessageStatus {
    /// Returns the status as text for the screen.
    pub fn word(self) -> &'static str {
        match self {
            MessageStatus::Unread => "not read",
            MessageStatus::At(DeliveryState::Sent) => "sent",
            MessageStatus::At(DeliveryState::Delivered) => "delivered",
            MessageStatus::At(DeliveryState::ActedOn) => "acted on",
            MessageStatus::At(DeliveryState::Blocked) => "blocked",
        }
    }
}

/// The latest messages, oldest first: at most [`MESSAGES_MAX`].
#[derive(Debug, Default)]
pub struct MessageLog {
    messages: VecDeque<TrackedMessage>,
    next: u64,
    /// The last result of [`MessageLog::matching_numbers`], cached. Its key is the number of the next message and the
    /// filter text.
    fitting: Memo<(u64, String), Arc<Vec<u64>>>,
}

impl MessageLog {
    /// Adds a message, or updates its delivery step if the log contains it. The step of a message in the log never
    /// changes to an earlier one. A message without an id is always added.
    pub fn update(&mut self, message: &MailMessage, step: DeliveryState) {
        let mut all = self.messages.iter_mut().rev();
        if let Some(there) = all.find(|t| same(&t.message, message)) {
            if step > there.step {
                there.step = step;
            }
            return;
        }
        let mut message = message.clone();
        message.content = head_and_tail(&message.content, MESSAGE_TEXT_MAX);
        self.messages.push_back(TrackedMessage {
            number: self.next,
            message,
            step,
        });
        self.next += 1;
        if self.messages.len() > MESSAGES_MAX {
            self.messages.pop_front();
        }
    }

    /// Returns all messages in the log, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &TrackedMessage> {
        self.messages.iter()
    }

    /// Returns the conversation of two parties: all messages between the sender and the recipient of `traced`, in both
    /// directions, oldest first.
    pub fn thread<'a>(
        &'a self,
        traced: &'a TrackedMessage,
    ) -> impl DoubleEndedIterator<Item = &'a TrackedMessage> {
        let (from, to) = (&traced.message.from, &traced.message.to);
        self.messages.iter().filter(move |t| {
            let other = (&t.message.from, &t.message.to);
            other == (from, to) || other == (to, from)
        })
    }

    /// Returns the numbers of the messages that match the filter text `words`, oldest first. The filter searches plain
    /// words in the names and the text, `from:NAME` in the sender and `to:NAME` in the recipient.
    pub fn matching_numbers(&self, words: &str) -> Arc<Vec<u64>> {
        self.fitting.get((self.next, words.to_string()), || {
            let words = FilterTerms::new(words);
            let fits = |traced: &&TrackedMessage| {
                let message = &traced.message;
                let (from, to) = (message.from.to_lowercase(), message.to.to_lowercase());
                let said = sentence::message(message).to_lowercase();
                let text = message.content.to_lowercase();
                words.matches(&format!("{from} {to} {said} {text}"), |key| match key {
                    "from" => Some(from.as_str()),
                    "to" => Some(to.as_str()),
                    _ => None,
                })
            };
            Arc::new(
                self.messages
                    .iter()
                    .filter(fits)
                    .map(|t| t.number)
                    .collect(),
            )
        })
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the message with the number `number`; `None` if it was dropped.
    pub fn get(&self, number: u64) -> Option<&TrackedMessage> {
        self.place(number).and_then(|at| self.messages.get(at))
    }

    /// Returns the logged entry for `message`; `None` if the log does not contain the message or the message has no id.
    pub fn find(&self, message: &MailMessage) -> Option<&TrackedMessage> {
        let mut all = self.messages.iter().rev();
        all.find(|t| same(&t.message, message))
    }

    /// Returns the index in the log of the message with the number `number`; `None` if the message was dropped. The
    /// oldest message has the index 0.
    pub fn place(&self, number: u64) -> Option<usize> {
        let first = self.messages.front()?.number;
        let at = usize::try_from(number.checked_sub(first)?).ok()?;
        (at < self.messages.len()).then_some(at)
    }

    /// Returns the number of messages that are not delivered yet. Messages whose recipient has left do not count.
    pub fn unread(&self, team: &Team) -> usize {
        let waits = |t: &&TrackedMessage| t.status(team) == MessageStatus::At(DeliveryState::Sent);
        self.messages.iter().filter(waits).count()
    }
}

/// Returns whether `a` and `b` are the same message. The copies of a broadcast have the same id, so the recipients must
/// be equal too. A message without an id is equal to none, not even to itself.
fn same(a: &MailMessage, b: &MailMessage) -> bool {
    !b.id.0.is_empty() && a.id == b.id && a.to == b.to
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{MessageId, Name};
    use crate::domain::timestamp::Timestamp;

    fn mail_message(id: &str) -> MailMessage {
        MailMessage::new(
            MessageId(id.into()),
            MailKind::Message,
            &Name::lead(),
            &Name::member("bob").unwrap(),
            "hello",
            Timestamp(1.0),
        )
    }

    #[test]
    fn message_steps_only_advance_and_are_kept_once() {
        let mut log = MessageLog::default();
        for step in [
            DeliveryState::Sent,
            DeliveryState::ActedOn,
            DeliveryState::Delivered,
            DeliveryState::Sent,
        ] {
            log.update(&mail_message("a"), step);
        }
        let steps: Vec<DeliveryState> = log.iter().map(|t| t.step).collect();
        assert_eq!(steps, [DeliveryState::ActedOn]);
    }

    #[test]
    fn thread_has_the_messages_between_two_parties() {
        let mut log = MessageLog::default();
        let ways = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"), ("a", "b")];
        for (i, (from, to)) in ways.into_iter().enumerate() {
            let mut message = mail_message(&i.to_string());
            (message.from, message.to) = (from.into(), to.into());
            log.update(&message, DeliveryState::Sent);
        }
        let thread = |number| -> Vec<u64> {
            let traced = log.get(number).unwrap();
            log.thread(traced).map(|t| t.number).collect()
        };
        assert_eq!(thread(1), [0, 1, 4]);
        assert_eq!(thread(2), [2]);
    }

    #[test]
    fn newest_messages_are_kept_with_their_numbers() {
        let mut log = MessageLog::default();
        for i in 0..MESSAGES_MAX + 10 {
            log.update(&mail_message(&i.to_string()), DeliveryState::Sent);
        }
        assert_eq!(log.len(), MESSAGES_MAX);
        assert_eq!(log.get(9), None);
        assert_eq!(log.get(10).unwrap().message.id.0, "10");
        assert_eq!(log.place(10), Some(0));
    }
}
