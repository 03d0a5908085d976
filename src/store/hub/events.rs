//! The events of the agents of all hosts: a log with one subject per host, from which the oldest events are removed.
//!
//! A message is a batch: a JSON array of events in their flat form. Its id contains a number that increases by one, so that
//! a reader recognizes repeated and missing batches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use futures::StreamExt;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::host_store::{EventReport, EventStart, HostEvents};
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::event_numbers::{BatchId, BatchResult, SeenBatches, host_key};
use super::keys::{self, ANSWER_WITHIN, Expected, Write};
use super::reads;
use super::stored;
use super::stream_end::StreamEnd;
use super::streams::StreamKind;
use crate::domain::host::HostName;
use crate::domain::timestamp::Timestamp;
use crate::protocol::event::{AgentEvent, CrewEvent, EventKind, NoticeLevel};

/// Space in a message for its headers, in bytes.
const HEADERS_MAX: usize = 1024;
/// Size up to which events are put into one message, in bytes. A larger event is alone in its message.
const BATCH_BYTES: usize = 256 * 1024;
/// Number of batches that wait for a busy receiver of the reports. Further ones stay on the hub.
const WAITING_MAX: usize = 4;
/// Number of batches that are requested at once.
const PULL: usize = 16;
/// How long a request for batches waits on the server.
const PULL_WITHIN: Duration = Duration::from_secs(10);
/// How long the server keeps the consumer of a reader that requests nothing.
const CONSUMER_LIFE: Duration = Duration::from_secs(60);
/// Time after which a reader that had to wait for its receiver starts a new consumer.
const SLOW: Duration = Duration::from_secs(5);
/// Pause before a reader that has failed starts again.
const RESTART: Duration = Duration::from_millis(500);

/// Stores events of the agents of `host`, in this order. Waits up to 15 seconds for a hub that cannot be reached.
///
/// # Errors
/// When the hub does not answer or rejects the events. A part of them may then be stored; if the same events are published
/// again, that part is left out.
pub(super) fn publish(hub: &Hub, host: &HostName, events: &[EventKind]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let limit = hub.run(|connection| async move { Ok(connection.client.max_payload()) })?;
    let batches = batches(events, limit.saturating_sub(HEADERS_MAX))?;
    let host = host.clone();
    hub.run(move |connection| async move {
        let mut published = connection.published.lock().await;
        let done = published.begin(&host, &batches);
        for batch in batches.into_iter().skip(done) {
            let Some(id) = published.next(&host) else {
                break;
            };
            let (kind, anything) = (StreamKind::Events, Expected::Anything);
            let mut write = Write::new(kind, host_key(&host), batch, anything, "an event");
            write.id = id.text();
            let written = keys::write(&connection, write, ANSWER_WITHIN).await;
            let result = match &written {
                Ok(_) => BatchResult::Stored,
                Err(HubError::NoAnswer { .. }) => BatchResult::Unknown,
                Err(_) => BatchResult::NotStored,
            };
            published.finish(&id, result);
            written?;
        }
        Ok(())
    })?;
    Ok(())
}

/// Returns messages of at most `limit` bytes that contain the events in their order. An event that does not fit is
/// shortened or replaced by a notice.
fn batches(events: &[EventKind], limit: usize) -> Result<Vec<Vec<u8>>, serde_json::Error> {
    let mut all = Vec::new();
    let mut batch = Vec::new();
    for event in events {
        let text = serde_json::to_vec(event)?;
        if text.len() + 2 <= limit {
            add(&mut all, &mut batch, &text, limit);
            continue;
        }
        for event in substitutes(event) {
            let text = serde_json::to_vec(&event)?;
            if text.len() + 2 <= limit {
                add(&mut all, &mut batch, &text, limit);
            }
        }
    }
    if !batch.is_empty() {
        batch.push(b']');
        all.push(batch);
    }
    Ok(all)
}

/// Adds the JSON form of an event to a batch, which is moved to `all` before if it is full. A batch in work lacks its `]`.
fn add(all: &mut Vec<Vec<u8>>, batch: &mut Vec<u8>, text: &[u8], limit: usize) {
    let most = limit.min(BATCH_BYTES);
    if !batch.is_empty() && batch.len() + text.len() + 2 > most {
        batch.push(b']');
        all.push(std::mem::take(batch));
    }
    batch.push(if batch.is_empty() { b'[' } else { b',' });
    batch.extend_from_slice(text);
}

/// Returns what is stored in place of an event that is too large. A tool call must end for the reader too.
fn substitutes(event: &EventKind) -> Vec<EventKind> {
    let mut substitutes = Vec::new();
    let (agent, what) = match event {
        EventKind::Agent { agent, event } => {
            if let AgentEvent::ToolFinished { .. } = event {
                let mut short = event.clone();
                if let AgentEvent::ToolFinished { diff, .. } = &mut short {
                    diff.clear();
                }
                substitutes.push(short.of(agent.clone()));
            }
            (Some(agent.clone()), format!("of {agent} "))
        }
        EventKind::Board(_) | EventKind::Team(_) | EventKind::Crew(_) => (None, String::new()),
    };
    let text = format!(
        "an event {what}is too large for the hub and is not complete here; the journal on its host has all of it"
    );
    substitutes.push(EventKind::Crew(CrewEvent::Notice {
        level: NoticeLevel::Warn,
        agent,
        text,
    }));
    substitutes
}

/// Stops the reports when it is dropped.
struct RunningReader {
    is_stopped: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Drop for RunningReader {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // This also drops the sender, for which the thread of the reports waits.
        self.task.abort();
    }
}

/// Calls `report` from a separate thread with the events of all hosts but `own`, until the returned value is dropped. While
/// `report` blocks, a few batches wait in memory, and all others on the hub.
///
/// # Errors
/// When the hub does not answer, or the thread cannot be started.
pub(super) fn follow(
    hub: &Hub,
    own: &HostName,
    from: EventStart,
    report: EventReport,
) -> Result<Box<dyn Send>, StoreError> {
    let own = host_key(own);
    // The reader must see what is stored after this function has returned.
    let reader = hub.run(move |connection| async move {
        let end = reads::stream_end(&connection, StreamKind::Events).await?;
        let is_from_first = from == EventStart::FirstKept;
        Ok(EventReader {
            own,
            next: if is_from_first {
                1
            } else {
                end.last_sequence + 1
            },
            first_new: end.last_sequence + 1,
            created: end.created,
            seen: SeenBatches::new(is_from_first),
        })
    })?;
    let (sender, mut waiting) = mpsc::channel::<HostEvents>(WAITING_MAX);
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&is_stopped);
    std::thread::Builder::new()
        .name("host-events".into())
        .spawn(move || {
            while let Some(events) = waiting.blocking_recv() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                report(events);
            }
        })?;
    let task = hub.spawn(move |connection| read_all(connection, reader, sender))?;
    Ok(Box::new(RunningReader { is_stopped, task }))
}

/// The position of a reader.
struct EventReader {
    /// The key of the host whose events are left out.
    own: String,
    /// The sequence number after the last message that was read.
    next: u64,
    /// The sequence number from which on messages were stored after the reader began.
    first_new: u64,
    /// When the stream was created: see [`StreamEnd`].
    created: i64,
    seen: SeenBatches,
}

impl EventReader {
    /// Starts from the first message again if the stream was created again or has gone back. Batches that were seen are
    /// recognized by their numbers.
    fn check_stream(&mut self, end: StreamEnd) {
        if end.created != self.created || end.last_sequence + 1 < self.next {
            self.created = end.created;
            self.next = 1;
            self.first_new = 1;
            self.seen.expect_all();
        }
    }

    /// Returns the events in the message with this sequence number; `None` if there is nothing to report.
    fn read(
        &mut self,
        connection: &HubConnection,
        message: &jetstream::Message,
        (sequence, stored_at): (u64, Timestamp),
    ) -> Option<HostEvents> {
        if sequence > self.next {
            self.seen.expect_all();
        }
        self.next = sequence + 1;
        let stored = stored::from_consumer(connection, StreamKind::Events, message, sequence);
        if stored.is_unsigned || stored.key == self.own {
            return None;
        }
        let id = BatchId::parse(&stored.id).filter(|id| host_key(&id.host) == stored.key);
        let (host, is_cut) = match id {
            Some(id) => {
                let is_cut = self.seen.add(&id)?;
                (id.host, is_cut)
            }
            // Another program has stored it.
            None => (HostName::parse(&stored.key).ok()?, false),
        };
        let (events, is_complete) = parse(&stored.payload);
        let is_cut = is_cut || !is_complete;
        let is_empty = events.is_empty() && !is_cut;
        (!is_empty).then_some(HostEvents {
            host,
            events,
            stored_at,
            is_earlier: sequence < self.first_new,
            is_cut,
        })
    }
}

/// Returns the events of a batch, and whether the batch could be read. Events that only a newer version knows are left out.
fn parse(payload: &[u8]) -> (Vec<EventKind>, bool) {
    let Ok(events) = serde_json::from_slice::<Vec<Value>>(payload) else {
        return (Vec::new(), false);
    };
    let known = events.into_iter().map(serde_json::from_value::<EventKind>);
    (known.filter_map(Result::ok).collect(), true)
}

/// Reads events until the receiver is gone.
async fn read_all(
    connection: Arc<HubConnection>,
    mut reader: EventReader,
    out: mpsc::Sender<HostEvents>,
) {
    let mut doubts = connection.doubts();
    while !out.is_closed() {
        doubts.borrow_and_update();
        let result = tokio::select! {
            result = read_once(&connection, &mut reader, &out) => result,
            // The consumer may be gone, and its request would not be answered.
            _ = doubts.changed() => Ok(()),
        };
        // An error is no reason to stop: the reader starts again.
        if result.is_err() {
            tokio::time::sleep(RESTART).await;
        }
    }
}

/// Reads events with one consumer, until it must be replaced. A message counts as read when its events have a place in the
/// queue, so an aborted read loses none.
async fn read_once(
    connection: &HubConnection,
    reader: &mut EventReader,
    out: &mpsc::Sender<HostEvents>,
) -> Result<(), async_nats::Error> {
    reader.check_stream(reads::stream_end(connection, StreamKind::Events).await?);
    let stream = connection.stream(StreamKind::Events).await?;
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: reader.next.max(1),
        },
        filter_subject: connection.subject(StreamKind::Events, ">"),
        ack_policy: AckPolicy::None,
        inactive_threshold: CONSUMER_LIFE,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await?;
    let mut delivered = 0;
    loop {
        let before = delivered;
        let pull = consumer.batch().max_messages(PULL).expires(PULL_WITHIN);
        let mut messages = pull.messages().await?;
        while let Some(message) = messages.next().await {
            let message = message?;
            let (number, sequence, stored_at) = {
                let info = message.info()?;
                let stored_at = stored::timestamp(info.published.unix_timestamp_nanos());
                (info.consumer_sequence, info.stream_sequence, stored_at)
            };
            let end = StreamEnd::at(&stream, sequence);
            connection.seen_ends.add(StreamKind::Events, end);
            delivered += 1;
            if number != delivered {
                return Err("a message was lost on its way".into());
            }
            let began = Instant::now();
            let place = out.reserve().await?;
            if let Some(events) = reader.read(connection, &message, (sequence, stored_at)) {
                place.send(events);
            }
            // The rest of the request may have expired meanwhile.
            if began.elapsed() > SLOW {
                return Ok(());
            }
        }
        // A request to a consumer that is gone gets no answer either.
        if delivered == before {
            let sent = consumer.get_info().await?.delivered.consumer_sequence;
            if sent != delivered {
                return Err("a message was lost on its way".into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::chat::Outcome;
    use crate::domain::ids::{CallId, Name};

    fn bob() -> Name {
        Name::member("bob").unwrap()
    }

    fn delta(text: &str) -> EventKind {
        AgentEvent::TextDelta { text: text.into() }.of(bob())
    }

    fn read(batches: &[Vec<u8>]) -> Vec<EventKind> {
        let parsed = batches.iter().map(|batch| parse(batch));
        parsed
            .flat_map(|(events, is_complete)| {
                assert!(is_complete);
                events
            })
            .collect()
    }

    #[test]
    fn batches_keep_the_order_and_stay_below_the_limit() {
        let events: Vec<EventKind> = (0..50).map(|n| delta(&"x".repeat(n * 7))).collect();
        for (limit, count) in [(1 << 20, 1..=1), (1000, 11..=50), (450, 25..=50)] {
            let batches = batches(&events, limit).unwrap();
            assert!(count.contains(&batches.len()), "{limit}: {}", batches.len());
            assert!(batches.iter().all(|batch| batch.len() <= limit), "{limit}");
            assert_eq!(read(&batches), events, "{limit}");
        }
    }

    #[test]
    fn many_events_are_split_below_a_high_limit() {
        let events = vec![delta(&"x".repeat(100 * 1024)); 5];
        let batches = batches(&events, 8 * 1024 * 1024).unwrap();
        assert_eq!(batches.len(), 3);
        assert_eq!(read(&batches), events);
    }

    #[test]
    fn event_that_is_too_large_is_replaced_by_a_notice_of_its_agent() {
        let events = [delta("a"), delta(&"x".repeat(2000)), delta("b")];
        let read = read(&batches(&events, 1000).unwrap());
        assert_eq!((&read[0], &read[2]), (&events[0], &events[2]));
        let EventKind::Crew(CrewEvent::Notice { agent, text, .. }) = &read[1] else {
            panic!("{read:?}");
        };
        assert_eq!(agent, &Some(bob()));
        assert!(text.contains("too large"), "{text}");
    }

    #[test]
    fn tool_call_with_a_large_diff_still_ends() {
        let ended = |diff: &str| {
            let event = AgentEvent::ToolFinished {
                call: CallId("c1".into()),
                tool: "edit".into(),
                outcome: Outcome::Ok,
                output: "ok".into(),
                diff: diff.into(),
                took_ms: 1,
            };
            event.of(bob())
        };
        let read = read(&batches(&[ended(&"x".repeat(2000))], 1000).unwrap());
        assert_eq!(read.len(), 2);
        assert_eq!(read[0], ended(""));
    }

    #[test]
    fn unknown_events_are_left_out_and_damaged_batches_reported() {
        let text =
            br#"[{"type":"from_the_future"},{"type":"text_delta","agent":"bob","text":"a"}]"#;
        assert_eq!(parse(text), (vec![delta("a")], true));
        assert_eq!(parse(stored::UNSIGNED), (vec![], false));
    }

    #[test]
    fn reader_starts_again_if_the_stream_is_another_one() {
        for (created, last, next) in [(1, 9, 10), (1, 20, 10), (1, 8, 1), (2, 20, 1)] {
            let mut reader = EventReader {
                own: "lead".into(),
                next: 10,
                first_new: 10,
                created: 1,
                seen: SeenBatches::new(false),
            };
            reader.check_stream(StreamEnd {
                last_sequence: last,
                created,
            });
            assert_eq!(reader.next, next, "{created} {last}");
        }
    }
}
