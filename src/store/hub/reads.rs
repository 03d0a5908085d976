//! Reads of many messages of a stream.

use std::time::{Duration, Instant};

use async_nats::jetstream;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use futures::StreamExt;

use super::connection::HubConnection;
use super::error::HubError;
use super::keys::{ANSWER_WITHIN, PAUSE, is_gone, next};
use super::stored::{self, Stored};
use super::stream_end::StreamEnd;
use super::streams::{OpenStream, StreamKind};

/// Maximum number of messages that are read one by one. More are faster with a consumer, which must be created first.
pub(super) const SINGLE_READS_MAX: usize = 8;
/// Maximum time in which a read follows messages that are stored meanwhile.
const FOLLOW_WITHIN: Duration = Duration::from_secs(5);
/// Maximum time in which a read of many messages gets the next one.
const NEXT_WITHIN: Duration = Duration::from_secs(4);
/// Maximum number of messages that are requested at once.
const BATCH: usize = 500;
/// How long the server keeps a consumer whose client was killed.
const CONSUMER_LIFE: Duration = Duration::from_secs(10);

/// Which messages [`read_many`] returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// The last message of each key.
    LastOfEach,
    /// All messages from this sequence number on.
    From(u64),
}

/// Returns the messages of the keys `key`, which may be `>` for all keys, in the order in which they were stored; at most
/// `most`.
pub(super) async fn read_many(
    connection: &HubConnection,
    kind: StreamKind,
    key: &str,
    range: Range,
    most: usize,
) -> Result<Vec<Stored>, HubError> {
    let which = WantedRange {
        kind,
        subject: connection.subject(kind, key),
        range,
        is_headers_only: false,
        most,
    };
    deliver(connection, &which, stored::from_consumer).await
}

/// Returns the sequence number of the last message of each of the keys `key`, without reading the contents; at most `most`.
/// Counts messages without a valid signature too.
pub(super) async fn last_of_each(
    connection: &HubConnection,
    kind: StreamKind,
    key: &str,
    most: usize,
) -> Result<Vec<(String, u64)>, HubError> {
    let which = WantedRange {
        kind,
        subject: connection.subject(kind, key),
        range: Range::LastOfEach,
        is_headers_only: true,
        most,
    };
    let convert: ConvertDelivered<(String, u64)> = |_, kind, message, sequence| {
        let key = stored::key_of(kind, message.subject.as_str());
        (key, sequence)
    };
    deliver(connection, &which, convert).await
}

/// Which messages a consumer delivers.
struct WantedRange {
    kind: StreamKind,
    subject: String,
    range: Range,
    is_headers_only: bool,
    most: usize,
}

/// Makes a result of a delivered message and its sequence number.
type ConvertDelivered<T> = fn(&HubConnection, StreamKind, &jetstream::Message, u64) -> T;

async fn deliver<T: Send>(
    connection: &HubConnection,
    which: &WantedRange,
    convert: ConvertDelivered<T>,
) -> Result<Vec<T>, HubError> {
    let began = Instant::now();
    let kind = which.kind;
    loop {
        let stream = connection.stream(kind).await?;
        let error = match try_deliver(connection, &stream, which, convert).await {
            Ok(messages) => return Ok(messages),
            Err(error) => error,
        };
        if is_gone(error.as_ref()) {
            connection.forget_stream(kind).await;
        }
        connection.check_permission(kind, &which.subject, began)?;
        if began.elapsed() >= ANSWER_WITHIN {
            return Err(connection.no_answer(ANSWER_WITHIN, error.to_string()));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_deliver<T: Send>(
    connection: &HubConnection,
    stream: &OpenStream,
    which: &WantedRange,
    convert: ConvertDelivered<T>,
) -> Result<Vec<T>, async_nats::Error> {
    let config = pull::Config {
        deliver_policy: match which.range {
            Range::LastOfEach => DeliverPolicy::LastPerSubject,
            Range::From(start_sequence) => DeliverPolicy::ByStartSequence {
                start_sequence: start_sequence.max(1),
            },
        },
        filter_subject: which.subject.clone(),
        ack_policy: AckPolicy::None,
        headers_only: which.is_headers_only,
        inactive_threshold: CONSUMER_LIFE,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await?;
    let mut left = usize::try_from(consumer.cached_info().num_pending).unwrap_or(usize::MAX);
    // Otherwise a stream that others write to all the time would have no end.
    let most = which.most.min(left);
    let (mut all, mut last_sequence) = (Vec::new(), 0);
    while left > 0 && all.len() < most {
        let batch = left.min(BATCH).min(most - all.len());
        let mut messages = consumer.fetch().max_messages(batch).messages().await?;
        let before = all.len();
        while let Some(message) = tokio::time::timeout(NEXT_WITHIN, messages.next()).await? {
            let message = message?;
            let info = message.info()?;
            if info.consumer_sequence != all.len() as u64 + 1 {
                return Err("a message was lost on its way".into());
            }
            left = usize::try_from(info.pending).unwrap_or(usize::MAX);
            let sequence = info.stream_sequence;
            last_sequence = sequence;
            all.push(convert(connection, which.kind, &message, sequence));
        }
        if all.len() == before {
            break;
        }
    }
    let seen = &connection.seen_ends;
    seen.add(which.kind, StreamEnd::at(stream, last_sequence));
    // If this fails, the server removes the consumer later.
    let name = consumer.cached_info().name.clone();
    let _ = stream.delete_consumer(&name).await;
    Ok(all)
}

/// Returns what [`read_many`] does, and then what was stored meanwhile: [`read_many`] may ask a server that is behind the
/// leader. The result has everything that was stored before the call, and is current unless others store without a pause for
/// longer than [`FOLLOW_WITHIN`].
pub(super) async fn read_current(
    connection: &HubConnection,
    kind: StreamKind,
    key: &str,
    range: Range,
    most: usize,
) -> Result<Vec<Stored>, HubError> {
    let began = Instant::now();
    let known = last_sequence(connection, kind).await?;
    let mut all = read_many(connection, kind, key, range, most).await?;
    let first = match range {
        Range::LastOfEach => 1,
        Range::From(first) => first,
    };
    let mut single = 0;
    while all.len() < most {
        let from = all.last().map_or(first, |last| last.sequence + 1);
        if from > known && began.elapsed() >= FOLLOW_WITHIN {
            break;
        }
        if single < SINGLE_READS_MAX {
            let Some(message) = next(connection, kind, key, from).await? else {
                break;
            };
            all.push(message);
            single += 1;
        } else {
            let left = most - all.len();
            all.append(&mut read_many(connection, kind, key, Range::From(from), left).await?);
            // The next single read tells whether this was all.
            single = 0;
        }
    }
    Ok(all)
}

/// Returns the sequence number of the last message of a stream, as [`stream_end`] does.
pub(super) async fn last_sequence(
    connection: &HubConnection,
    kind: StreamKind,
) -> Result<u64, HubError> {
    Ok(stream_end(connection, kind).await?.last_sequence)
}

/// Returns the end of a stream. Everything up to it can be read afterwards. Notices a stream that was deleted and created
/// again, so that copies of its keys are no longer valid. Does not believe a server of a cluster that is behind.
pub(super) async fn stream_end(
    connection: &HubConnection,
    kind: StreamKind,
) -> Result<StreamEnd, HubError> {
    let began = Instant::now();
    loop {
        let stream = connection.stream(kind).await?;
        let before = connection.seen_ends.last(kind);
        let why = match stream.get_info().await {
            Ok(info) if info.created == stream.cached_info().created => {
                let end = StreamEnd::at(&stream, info.state.last_sequence);
                let (seen, replicas) = (&connection.seen_ends, info.config.num_replicas);
                if seen.accepts(kind, replicas, before, end, Instant::now()) {
                    return Ok(end);
                }
                "the server that answers is behind the others".to_string()
            }
            Ok(_) => {
                connection.forget_stream(kind).await;
                "the stream was created again".to_string()
            }
            Err(error) => {
                if is_gone(&error) {
                    connection.forget_stream(kind).await;
                }
                error.to_string()
            }
        };
        let subject = connection.subject(kind, ">");
        connection.check_permission(kind, &subject, began)?;
        if began.elapsed() >= ANSWER_WITHIN {
            return Err(connection.no_answer(ANSWER_WITHIN, why));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`.
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::keys::{Expected, Write, write};
    use super::super::test_server::TestServer;
    use super::*;

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn read_of_a_stream_that_is_written_all_the_time_ends() {
        let server = TestServer::start();
        let (hub, other) = (server.hub(), server.hub());
        let add = |key: &str| {
            let (kind, key) = (StreamKind::Mail, key.to_string());
            let message = Write::new(kind, key, vec![0; 1000], Expected::Anything, "a test");
            let stored = other.run(move |connection| async move {
                write(&connection, message, ANSWER_WITHIN).await
            });
            stored.unwrap().unwrap()
        };
        let last = add("bob");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    add("bob");
                }
            });
            let began = Instant::now();
            let read = hub.run(|connection| async move {
                read_current(
                    &connection,
                    StreamKind::Mail,
                    ">",
                    Range::From(1),
                    usize::MAX,
                )
                .await
            });
            is_over.store(true, Ordering::Relaxed);
            assert!(began.elapsed() < 3 * FOLLOW_WITHIN);
            let read = read.unwrap();
            assert!(read.iter().any(|stored| stored.sequence == last));
            assert!(read.is_sorted_by_key(|stored| stored.sequence));
        });
        let all = hub.run(|connection| async move {
            last_of_each(&connection, StreamKind::Mail, "*", 10).await
        });
        let all = all.unwrap();
        assert_eq!((all.len(), all[0].0.as_str()), (1, "bob"));
        assert!(all[0].1 > last);
    }
}
