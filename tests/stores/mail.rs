//! Promises about messages.

use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Message};
use crewdeck::domain::conversation::LogRecord;
use crewdeck::domain::ids::{MessageId, Name};
use crewdeck::domain::mail::{DeliveryState, MAIL_MESSAGE_MAX, MailKind, MailMessage};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{Mailbox, StoreError, TranscriptFile, UnreadMessages};
use pretty_assertions::assert_eq;

use crate::suite::{Backend, name, race};

const NO_WAIT: Duration = Duration::ZERO;
/// Longer than any test waits for messages.
const LONG: Duration = Duration::from_secs(60);

fn message(id: &str, to: &str, text: &str) -> MailMessage {
    let (id, to) = (MessageId(id.into()), name(to));
    MailMessage::new(
        id,
        MailKind::Message,
        &Name::lead(),
        &to,
        text,
        Timestamp(1.0),
    )
}

fn send(mailbox: &Mailbox, text: &str) {
    mailbox.send(&message(text, "bob", text)).unwrap();
}

fn texts(pending: &UnreadMessages) -> Vec<&str> {
    let texts = pending.messages.iter().map(|m| m.content.as_str());
    texts.collect()
}

/// Takes the pending messages of bob and acknowledges them.
fn take(mailbox: &Mailbox) -> Vec<String> {
    let reader = mailbox.reader(&name("bob"), LONG).unwrap();
    let pending = reader.read_pending().unwrap();
    reader.acknowledge(&pending.upto).unwrap();
    // The connection may end with this call's mailbox, before a reader that is only dropped has returned its lease.
    reader.close();
    texts(&pending).into_iter().map(str::to_string).collect()
}

pub fn racing_senders_lose_no_message_and_none_is_read_twice(backend: &dyn Backend) {
    const SENDERS: usize = 3;
    const EACH: usize = 25;
    let began = Instant::now();
    let read = race(backend, SENDERS + 2, |n, stores| {
        if n < SENDERS {
            for i in 0..EACH {
                send(&stores.mailbox, &format!("{n} {i}"));
            }
            return Vec::new();
        }
        // Two readers take messages until all have been read.
        let mut mine = Vec::new();
        loop {
            let taken = take(&stores.mailbox);
            let last = format!("{EACH}");
            let is_idle = taken.is_empty();
            mine.extend(taken);
            let sent = stores.mailbox.recent(1000).unwrap().messages.len();
            assert!(began.elapsed() < LONG, "{last}");
            if is_idle && sent == SENDERS * EACH {
                return mine;
            }
        }
    });
    let rest = take(&backend.open().mailbox);
    let mut all: Vec<String> = read.concat();
    all.extend(rest);
    for reader in &read {
        for n in 0..SENDERS {
            let prefix = format!("{n} ");
            let numbers = reader.iter().filter_map(|text| text.strip_prefix(&prefix));
            let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
            assert!(numbers.is_sorted(), "{numbers:?}");
        }
    }
    all.sort();
    let mut expected: Vec<String> = (0..SENDERS)
        .flat_map(|n| (0..EACH).map(move |i| format!("{n} {i}")))
        .collect();
    expected.sort();
    assert_eq!(all, expected);
}

pub fn messages_come_again_until_they_are_acknowledged(backend: &dyn Backend) {
    let mailbox = backend.open().mailbox;
    let bob = name("bob");
    send(&mailbox, "one");
    send(&mailbox, "two");
    let other = backend.open().mailbox;
    assert_eq!(texts(&other.peek(&bob).unwrap()), ["one", "two"]);
    let reader = other.reader(&bob, NO_WAIT).unwrap();
    let first = reader.read_pending().unwrap();
    assert_eq!(texts(&first), ["one", "two"]);
    // The reader ends without an acknowledgement.
    reader.close();
    send(&mailbox, "three");
    let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
    let pending = reader.read_pending().unwrap();
    assert_eq!(texts(&pending), ["one", "two", "three"]);
    reader.acknowledge(&first.upto).unwrap();
    assert_eq!(texts(&reader.read_pending().unwrap()), ["three"]);
    reader.acknowledge(&pending.upto).unwrap();
    // An older position changes nothing.
    reader.acknowledge(&first.upto).unwrap();
    assert!(reader.read_pending().unwrap().messages.is_empty());
    assert!(!other.peek(&bob).unwrap().needs_reader());
    assert_eq!(other.count_unread().unwrap(), []);
}

pub fn inbox_has_one_reader_at_a_time(backend: &dyn Backend) {
    let (mailbox, bob) = (backend.open().mailbox, name("bob"));
    send(&mailbox, "one");
    assert!(!mailbox.is_being_read(&bob));
    let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
    let other = backend.open().mailbox;
    assert!(other.is_being_read(&bob));
    for within in [NO_WAIT, Duration::from_millis(50)] {
        let refused = other.reader(&bob, within).unwrap_err();
        assert!(matches!(refused, StoreError::BeingRead { .. }), "{refused}");
    }
    // Other inboxes and senders are not affected.
    other.reader(&name("carol"), NO_WAIT).unwrap();
    send(&other, "two");
    reader.close();
    assert!(!other.is_being_read(&bob));
    let reader = other.reader(&bob, NO_WAIT).unwrap();
    assert_eq!(texts(&reader.read_pending().unwrap()), ["one", "two"]);
}

pub fn messages_in_the_log_of_a_killed_reader_are_not_read_again(backend: &dyn Backend) {
    let (mailbox, bob) = (backend.open().mailbox, name("bob"));
    for (n, is_logged) in [false, true].into_iter().enumerate() {
        send(&mailbox, &format!("one {n}"));
        let log = TranscriptFile::open(backend.root(), &format!("session-{n}"), &bob);
        let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
        let upto = reader.read_pending().unwrap().upto;
        reader.announce(&log, &upto).unwrap();
        if is_logged {
            let record = LogRecord::Delivery {
                message: Message::user(vec![Block::text("one")]),
                inbox: Some(upto.offset),
                ended: Vec::new(),
                prompts: Vec::new(),
            };
            log.append(&record).unwrap();
        }
        // The reader is killed here.
        reader.close();
        send(&mailbox, &format!("two {n}"));
        let taken = take(&backend.open().mailbox);
        let (one, two) = (format!("one {n}"), format!("two {n}"));
        let expected = if is_logged { vec![two] } else { vec![one, two] };
        assert_eq!(taken, expected);
    }
}

pub fn messages_behind_one_that_is_not_ready_wait(backend: &dyn Backend) {
    let (mailbox, bob) = (backend.open().mailbox, name("bob"));
    for text in ["one", "two", "three"] {
        send(&mailbox, text);
    }
    let is_ready = |m: &MailMessage| m.content != "two";
    assert_eq!(
        texts(&mailbox.peek_ready(&bob, &is_ready).unwrap()),
        ["one"]
    );
    let reader = mailbox.reader(&bob, NO_WAIT).unwrap();
    let pending = reader.read_ready(&is_ready).unwrap();
    assert_eq!(texts(&pending), ["one"]);
    reader.acknowledge(&pending.upto).unwrap();
    let pending = reader.read_ready(&is_ready).unwrap();
    assert!(pending.messages.is_empty() && !pending.needs_reader());
    assert_eq!(texts(&reader.read_pending().unwrap()), ["two", "three"]);
}

pub fn send_once_sends_one_message_about_a_request(backend: &dyn Backend) {
    let about = |kind: MailKind, request: &str, id: &str| {
        let mut message = message(id, "bob", request);
        message.kind = kind;
        message.extra.insert("request_id".into(), request.into());
        message
    };
    race(backend, 4, |n, stores| {
        let message = about(MailKind::PlanResponse, "r1", &format!("m{n}"));
        stores.mailbox.send_once(&message).unwrap();
    });
    let mailbox = backend.open().mailbox;
    let again = |kind: MailKind, request: &str, id: &str| {
        mailbox.send_once(&about(kind, request, id)).unwrap();
    };
    again(MailKind::PlanResponse, "r2", "m5");
    again(MailKind::ShutdownResponse, "r1", "m6");
    assert_eq!(take(&mailbox), ["r1", "r2", "r1"]);
    // Messages that have been read count too.
    again(MailKind::PlanResponse, "r1", "m7");
    // Messages without a request are always sent.
    for id in ["m8", "m9"] {
        mailbox.send_once(&message(id, "bob", "plain")).unwrap();
    }
    assert_eq!(take(&backend.open().mailbox), ["plain", "plain"]);
}

pub fn long_inbox_is_read_in_parts(backend: &dyn Backend) {
    let mailbox = backend.open().mailbox;
    let long = "x".repeat(60_000);
    for n in 0..12 {
        let text = format!("{n} {long}");
        let message = message(&format!("m{n}"), "bob", &text);
        mailbox.send(&message).unwrap();
    }
    let first = mailbox.peek(&name("bob")).unwrap();
    assert!((1..12).contains(&first.messages.len()));
    assert_eq!(mailbox.count_unread().unwrap()[0].count, 12);
    let mut numbers = Vec::new();
    loop {
        let taken = take(&mailbox);
        if taken.is_empty() {
            break;
        }
        let number = |text: &String| text.split_once(' ').unwrap().0.to_string();
        numbers.extend(taken.iter().map(number));
    }
    let expected: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    assert_eq!(numbers, expected);
}

#[allow(clippy::cast_precision_loss)] // small numbers
pub fn recent_messages_show_their_delivery_state(backend: &dyn Backend) {
    let mailbox = backend.open().mailbox;
    for (n, to) in ["bob", "bob", "carol"].into_iter().enumerate() {
        let mut message = message(&format!("m{n}"), to, &format!("text {n}"));
        message.timestamp = Timestamp(10.0 + n as f64);
        message.extra.insert("color".into(), "red".into());
        mailbox.send(&message).unwrap();
    }
    let other = backend.open().mailbox;
    let unread: Vec<(String, usize, Timestamp)> = other
        .count_unread()
        .unwrap()
        .into_iter()
        .map(|unread| (unread.name.to_string(), unread.count, unread.oldest))
        .collect();
    let expected = [
        ("bob".to_string(), 2, Timestamp(10.0)),
        ("carol".to_string(), 1, Timestamp(12.0)),
    ];
    assert_eq!(unread, expected);
    take(&other);
    let recent = mailbox.recent(10).unwrap();
    let states: Vec<(&str, DeliveryState)> = recent
        .messages
        .iter()
        .map(|(message, state)| (message.content.as_str(), *state))
        .collect();
    let expected = [
        ("text 0", DeliveryState::Delivered),
        ("text 1", DeliveryState::Delivered),
        ("text 2", DeliveryState::Sent),
    ];
    assert_eq!(states, expected);
    assert!(
        recent
            .messages
            .iter()
            .all(|(m, _)| m.extra["color"] == "red")
    );
    let newest = mailbox.recent(1).unwrap().messages;
    assert_eq!(newest[0].0.content, "text 2");
    assert_eq!(newest.len(), 1);
}

#[allow(clippy::cast_precision_loss)] // small numbers
pub fn recent_messages_follow_what_others_send_and_read(backend: &dyn Backend) {
    let (mailbox, other) = (backend.open().mailbox, backend.open().mailbox);
    let mut sent = Vec::new();
    for round in 0..3 {
        // More than a client reads one by one.
        for n in 0..12 {
            let text = format!("{round} {n}");
            let mut message = message(&text, "bob", &text);
            message.timestamp = Timestamp(sent.len() as f64);
            other.send(&message).unwrap();
            sent.push(text);
        }
        if round == 1 {
            take(&other);
        }
        for limit in [1, 20, 100] {
            let recent = mailbox.recent(limit).unwrap().messages;
            let texts: Vec<&str> = recent.iter().map(|(m, _)| m.content.as_str()).collect();
            let surplus = sent.len().saturating_sub(limit);
            let expected: Vec<&str> = sent.iter().skip(surplus).map(String::as_str).collect();
            assert_eq!(texts, expected);
        }
        let recent = mailbox.recent(100).unwrap().messages;
        let read = recent
            .iter()
            .filter(|(_, s)| *s == DeliveryState::Delivered);
        assert_eq!(read.count(), if round == 0 { 0 } else { 24 });
    }
}

pub fn unread_messages_are_found_in_the_given_inboxes(backend: &dyn Backend) {
    let (mailbox, other) = (backend.open().mailbox, backend.open().mailbox);
    let (bob, carol) = (name("bob"), name("carol"));
    assert!(!mailbox.has_unread(&[bob.clone(), carol.clone()]).unwrap());
    send(&other, "one");
    assert!(mailbox.has_unread(&[carol.clone(), bob.clone()]).unwrap());
    assert!(!mailbox.has_unread(&[carol]).unwrap());
    assert!(!mailbox.has_unread(&[]).unwrap());
    assert_eq!(take(&other), ["one"]);
    assert!(!mailbox.has_unread(&[bob]).unwrap());
}

pub fn unusable_messages_are_rejected(backend: &dyn Backend) {
    let mailbox = backend.open().mailbox;
    let long = "x".repeat(MAIL_MESSAGE_MAX + 1);
    let refused = mailbox.send(&message("m1", "bob", &long)).unwrap_err();
    assert!(refused.to_string().contains("64 KiB"), "{refused}");
    let mut unknown = message("m2", "bob", "hello");
    unknown.to = "no name!".into();
    assert!(mailbox.send(&unknown).is_err());
    assert!(mailbox.send_once(&unknown).is_err());
    assert!(mailbox.recent(10).unwrap().messages.is_empty());
    // The longest message is stored.
    let longest = "x".repeat(MAIL_MESSAGE_MAX);
    mailbox.send(&message("m3", "bob", &longest)).unwrap();
    assert_eq!(take(&mailbox), [longest]);
}
