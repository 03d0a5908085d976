//! The view model of messages between agents and the user: the latest ones with their delivery status.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::domain::mail::{MailKind, MailMessage};
use crate::domain::team::{MemberStatus, Team};
use crate::domain::text::head_and_tail;
use crate::protocol::event::DeliveryState;
use crate::ui::model::board::memo::Memo;
use crate::ui::model::sentence;
use crate::ui::text::display_name;
use crate::ui::text::terms::FilterTerms;

/// Maximum number of messages in memory. If there are more, the oldest is dropped.
pub const MESSAGES_MAX: usize = 500;

/// Maximum length of a message's text in memory, in bytes. A longer text is cut in the middle.
pub const MESSAGE_TEXT_MAX: usize = 16 * 1024;

/// Maximum time between the first copy of a broadcast and another one, in seconds. Equal texts that were sent later are
/// another broadcast.
const BROADCAST_SECONDS: f64 = 10.0;

/// A message and its delivery status.
#[derive(Debug, Clone, PartialEq)]
pub struct TrackedMessage {
    /// A number by which the selection identifies the message. Later messages have higher numbers.
    pub number: u64,
    /// The message. A text longer than [`MESSAGE_TEXT_MAX`] is cut in the middle.
    pub message: MailMessage,
    /// The furthest delivery step that was reported for the message.
    pub step: DeliveryState,
    /// The number of the first copy if this is a further copy of a broadcast, for another recipient; otherwise `None`.
    pub copy_of: Option<u64>,
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

/// How far a message was delivered, to all its recipients together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The status of the recipient that is furthest behind.
    pub status: MessageStatus,
    read: usize,
    recipients: usize,
}

impl Delivery {
    /// Returns the delivery as text for the screen, such as `1/3 read` while not all recipients have read a broadcast. If
    /// none can read it, returns why.
    pub fn words(self) -> String {
        let is_waiting = self.read > 0 || self.status == MessageStatus::At(DeliveryState::Sent);
        if self.recipients > 1 && self.read < self.recipients && is_waiting {
            return format!("{}/{} read", self.read, self.recipients);
        }
        self.status.word().into()
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
        let copy_of = self.first_copy(&message);
        self.messages.push_back(TrackedMessage {
            number: self.next,
            message,
            step,
            copy_of,
        });
        self.next += 1;
        if self.messages.len() > MESSAGES_MAX {
            self.drop_oldest();
        }
    }

    /// Drops the oldest message. If it is the first copy of a broadcast, the next copy becomes the first one.
    fn drop_oldest(&mut self) {
        let Some(dropped) = self.messages.pop_front() else {
            return;
        };
        let is_copy = |t: &&mut TrackedMessage| t.copy_of == Some(dropped.number);
        let mut copies = self.messages.iter_mut().filter(is_copy);
        let Some(first) = copies.next() else { return };
        first.copy_of = None;
        let number = first.number;
        for copy in copies {
            copy.copy_of = Some(number);
        }
    }

    /// Returns the number of the first copy if `message` is a further copy of a broadcast, for another recipient. The
    /// copies are separate messages with the same text.
    fn first_copy(&self, message: &MailMessage) -> Option<u64> {
        if message.kind != MailKind::Broadcast {
            return None;
        }
        let is_first = |t: &&TrackedMessage| {
            let seconds = (message.timestamp.0 - t.message.timestamp.0).abs();
            t.copy_of.is_none()
                && t.message.kind == MailKind::Broadcast
                && t.message.from == message.from
                && t.message.content == message.content
                && seconds <= BROADCAST_SECONDS
        };
        let first = self.messages.iter().rev().find(is_first)?;
        let is_known = self.copies(first).any(|t| t.message.to == message.to);
        (!is_known).then_some(first.number)
    }

    /// Returns the copies of the broadcast `traced` for all its recipients, oldest first. For another message, returns
    /// only the message.
    pub fn copies<'a>(
        &'a self,
        traced: &TrackedMessage,
    ) -> impl DoubleEndedIterator<Item = &'a TrackedMessage> {
        let first = traced.copy_of.unwrap_or(traced.number);
        let all = self.messages.iter();
        all.filter(move |t| t.copy_of.unwrap_or(t.number) == first)
    }

    /// Returns the number of the message whose row stands for the message `number`: for a copy of a broadcast the first
    /// copy, otherwise `number`.
    pub fn row_of(&self, number: u64) -> u64 {
        let first = self.get(number).and_then(|traced| traced.copy_of);
        first.unwrap_or(number)
    }

    /// Returns the number of rows of all messages in a list. All copies of a broadcast share the row of the first one.
    pub fn rows(&self) -> usize {
        self.messages.iter().filter(|t| t.copy_of.is_none()).count()
    }

    /// Returns how far a message was delivered. Of a broadcast, all recipients count.
    pub fn delivery(&self, traced: &TrackedMessage, team: &Team) -> Delivery {
        let statuses: Vec<MessageStatus> = self.copies(traced).map(|t| t.status(team)).collect();
        let by_progress = [
            MessageStatus::At(DeliveryState::Sent),
            MessageStatus::Unread,
            MessageStatus::At(DeliveryState::Blocked),
            MessageStatus::At(DeliveryState::Delivered),
            MessageStatus::At(DeliveryState::ActedOn),
        ];
        let least = by_progress.into_iter().find(|s| statuses.contains(s));
        let is_read = |status: &&MessageStatus| {
            matches!(
                status,
                MessageStatus::At(DeliveryState::Delivered | DeliveryState::ActedOn)
            )
        };
        Delivery {
            status: least.unwrap_or_else(|| traced.status(team)),
            read: statuses.iter().filter(is_read).count(),
            recipients: statuses.len(),
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
    /// words in the names and the text, `from:NAME` in the sender and `to:NAME` in the recipient. Of the copies of a
    /// broadcast, only the first one counts. It matches the names of all recipients.
    pub fn matching_numbers(&self, words: &str) -> Arc<Vec<u64>> {
        self.fitting.get((self.next, words.to_string()), || {
            let words = FilterTerms::new(words);
            let fits = |traced: &&TrackedMessage| {
                let message = &traced.message;
                let from = filtered_name(&message.from);
                let to: Vec<String> = self
                    .copies(traced)
                    .map(|copy| filtered_name(&copy.message.to))
                    .collect();
                let to = to.join(" ");
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
                    .filter(|traced| traced.copy_of.is_none())
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

    /// Returns the number of messages that are not delivered yet. Messages whose recipient has left do not count, and a
    /// broadcast counts once.
    pub fn unread(&self, team: &Team) -> usize {
        let waits = |t: &&TrackedMessage| t.status(team) == MessageStatus::At(DeliveryState::Sent);
        let waiting = self.messages.iter().filter(waits);
        let rows: BTreeSet<u64> = waiting.map(|t| self.row_of(t.number)).collect();
        rows.len()
    }
}

/// Returns the text in which a filter searches the name of a sender or recipient, in lower case. The user is found by
/// the name on the screen too.
fn filtered_name(name: &str) -> String {
    let (name, shown) = (name.to_lowercase(), display_name(name).to_lowercase());
    if name == shown {
        name
    } else {
        format!("{name} {shown}")
    }
}

/// Returns whether `a` and `b` are the same message. Another program may write one id to several recipients, so these
/// must be equal too. A message without an id is equal to none, not even to itself.
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
    fn copies_of_a_broadcast_have_one_row() {
        let mut log = MessageLog::default();
        let mut send = |id: &str, to: &str, at: f64, step| {
            let mut message = mail_message(id);
            message.kind = MailKind::Broadcast;
            message.to = to.into();
            message.timestamp = Timestamp(at);
            log.update(&message, step);
        };
        send("1", "bob", 1.0, DeliveryState::ActedOn);
        send("2", "carol", 1.1, DeliveryState::Sent);
        send("3", "dave", 1.2, DeliveryState::Sent);
        // The same text once more, later or to the same recipient, is another broadcast.
        send("4", "carol", 2.0, DeliveryState::Delivered);
        send("5", "dave", 60.0, DeliveryState::Sent);
        let rows = |words: &str| log.matching_numbers(words).to_vec();
        assert_eq!(rows(""), [0, 3, 4]);
        assert_eq!(rows("to:dave"), [0, 4]);
        assert_eq!((log.len(), log.rows(), log.row_of(2)), (5, 3, 0));
        let team = Team::default();
        let words = |number| {
            let delivery = log.delivery(log.get(number).unwrap(), &team);
            (delivery.status, delivery.words())
        };
        let sent = MessageStatus::At(DeliveryState::Sent);
        assert_eq!(words(0), (sent, "1/3 read".into()));
        assert_eq!(words(2), words(0));
        let delivered = MessageStatus::At(DeliveryState::Delivered);
        assert_eq!(words(3), (delivered, "delivered".into()));
        assert_eq!(log.unread(&team), 2);
        // Without the first copy, the others still have one row.
        log.drop_oldest();
        assert_eq!(log.matching_numbers("hello").to_vec(), [1, 3, 4]);
        assert_eq!((log.rows(), log.row_of(2)), (3, 1));
        let delivery = log.delivery(log.get(1).unwrap(), &team);
        assert_eq!(delivery.words(), "0/2 read");
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
