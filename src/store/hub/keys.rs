//! Reads and writes of single messages: the last state of a key, and writes that fail if the state has changed.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{RawMessageError, RawMessageErrorKind};
use async_nats::jetstream::{self, ErrorCode};

use super::boot_time::BootTime;
use super::connection::HubConnection;
use super::error::HubError;
use super::stored;
pub(super) use super::stored::Stored;
use super::stream_end::StreamEnd;
use super::streams::{self, OpenStream, StreamKind};

/// Maximum time of an operation, with the election of a new leader after a server has ended.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Pause before a failed request is repeated.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// Header with the subjects whose last message a write expects.
const EXPECTED_SUBJECTS: &str = "Nats-Expected-Last-Subject-Sequence-Subject";

/// What must be true for a write to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Anything,
    /// The last message of the key has this sequence number; 0 if the key has none.
    Key(u64),
    /// The last message of these keys has this sequence number; 0 if they have none. The keys may contain `*` and `>`.
    Keys(&'static str, u64),
    /// The last message of the whole stream has this sequence number.
    Stream(u64),
}

#[derive(Debug, Clone)]
pub(super) struct Write {
    pub kind: StreamKind,
    pub key: String,
    pub payload: Vec<u8>,
    pub expected: Expected,
    /// Makes a repeated write harmless: the server stores one message per id.
    pub id: String,
    /// After this time the server removes the message.
    pub life: Option<Duration>,
    /// Names what is written, for errors.
    pub what: String,
    /// Whether an earlier request with this id got no answer, and may therefore have been carried out.
    pub may_be_stored: bool,
}

impl Write {
    /// Returns a write with an id of its own.
    pub(super) fn new(
        kind: StreamKind,
        key: String,
        payload: Vec<u8>,
        expected: Expected,
        what: &str,
    ) -> Write {
        Write {
            kind,
            key,
            payload,
            expected,
            id: uuid::Uuid::now_v7().to_string(),
            life: None,
            what: what.into(),
            may_be_stored: false,
        }
    }
}

/// Stores a message and returns its sequence number; `None` if the state is not as expected. A request without an answer is
/// repeated with the same id until `within` has passed. Fails with [`HubError::NoAnswer`] if the message may have been
/// stored, but has been replaced already.
pub(super) async fn write(
    connection: &HubConnection,
    write: Write,
    within: Duration,
) -> Result<Option<u64>, HubError> {
    let stream = connection.stream(write.kind).await?;
    write_asked_at(connection, stream, write, within, BootTime::now()).await
}

/// Stores a message as [`write()`] does, in an open stream. `asked_at` is the time from which `within` counts.
async fn write_asked_at(
    connection: &HubConnection,
    mut stream: Arc<OpenStream>,
    mut write: Write,
    within: Duration,
    asked_at: BootTime,
) -> Result<Option<u64>, HubError> {
    let subject = connection.subject(write.kind, &write.key);
    let message = PublishMessage::build().message_id(&write.id);
    let message = stored::sign(connection, message, &subject, &write.id, &write.payload);
    let mut message = message.payload(std::mem::take(&mut write.payload).into());
    message = match write.expected {
        Expected::Anything => message,
        Expected::Key(sequence) => message.expected_last_subject_sequence(sequence),
        Expected::Keys(keys, sequence) => {
            let subjects = connection.subject(write.kind, keys);
            let message = message.expected_last_subject_sequence(sequence);
            message.header(EXPECTED_SUBJECTS, subjects.as_str())
        }
        Expected::Stream(sequence) => message.expected_last_sequence(sequence),
    };
    if let Some(life) = write.life {
        message = message.ttl(life);
    }
    let began = Instant::now();
    loop {
        let is_connected = connection.wait_until_connected(began + within).await;
        // A machine that has slept must not send what its host may no longer do.
        if !is_connected || asked_at.elapsed() >= within {
            let why = "the connection was lost".to_string();
            return Err(if write.may_be_stored {
                connection.no_answer(within, why)
            } else {
                HubError::Unreachable {
                    hub: connection.name.clone(),
                    why,
                }
            });
        }
        let published = match connection
            .jetstream
            .send_publish(subject.clone(), message.clone())
            .await
        {
            Ok(acknowledged) => acknowledged.await,
            Err(error) => Err(error),
        };
        let error = match published {
            Ok(acknowledged) => {
                let end = StreamEnd::at(&stream, acknowledged.sequence);
                connection.seen_ends.add(write.kind, end);
                return Ok(Some(acknowledged.sequence));
            }
            Err(error) if is_conflict(&error) => {
                return if write.may_be_stored {
                    find_stored(connection, &write, within).await
                } else {
                    Ok(None)
                };
            }
            Err(error) => error,
        };
        if let Some(why) = connection.denial(write.kind, &subject, began) {
            let hub = connection.name.clone();
            return Err(if write.may_be_stored {
                connection.no_answer(within, why)
            } else {
                HubError::Denied { hub, why }
            });
        }
        if let Err(rejected) = check_temporary(connection, write.kind, &error, &write.what) {
            // The rejection does not tell about the earlier requests.
            return Err(if write.may_be_stored {
                connection.no_answer(within, rejected.to_string())
            } else {
                rejected
            });
        }
        let is_missing = error.kind() == PublishErrorKind::StreamNotFound;
        // Without a stream that accepts it, the message is not stored.
        write.may_be_stored |= !is_missing;
        if began.elapsed() >= within {
            return Err(connection.no_answer(within, error.to_string()));
        }
        tokio::time::sleep(PAUSE).await;
        if is_missing && stream.get_info().await.is_err_and(|why| is_gone(&why)) {
            connection.forget_stream(write.kind).await;
            stream = connection.stream(write.kind).await?;
        }
    }
}

/// Returns whether the server has answered that a stream does not exist. Not all errors have their cause as a source, but
/// all contain its text.
pub(super) fn is_gone(error: &(dyn std::error::Error + 'static)) -> bool {
    error.to_string().contains("stream not found")
}

/// Returns the sequence number under which a write was stored by an earlier request; `None` if it was not stored. The
/// server compares the expected state before it compares ids, so a repeated request does not tell.
async fn find_stored(
    connection: &HubConnection,
    write: &Write,
    within: Duration,
) -> Result<Option<u64>, HubError> {
    let is_own = |stored: &Stored| stored.id == write.id && !stored.is_unsigned;
    let stored = read(connection, write.kind, &write.key).await?;
    if let Some(own) = &stored
        && is_own(own)
    {
        return Ok(Some(own.sequence));
    }
    if let Expected::Keys(keys, last) = write.expected {
        let is_old = stored.is_none_or(|stored| stored.sequence <= last);
        // The write would be the last one of its key, so another one of the keys came before it.
        if is_old
            && next(connection, write.kind, keys, last + 1)
                .await?
                .is_some()
        {
            return Ok(None);
        }
    }
    if let Expected::Stream(last) = write.expected {
        // Only this write or the one that came before it can have the next sequence number.
        match next(connection, write.kind, ">", last + 1).await? {
            Some(stored) if is_own(&stored) => return Ok(Some(stored.sequence)),
            Some(stored) if stored.sequence == last + 1 => return Ok(None),
            Some(_) | None => {}
        }
    }
    Err(connection.no_answer(within, "another change followed".into()))
}

/// Returns whether the server has rejected a write because the state was not as expected.
fn is_conflict(error: &PublishError) -> bool {
    // A cluster answers with the second code while another write of the same key is being copied to the other servers.
    error.kind() == PublishErrorKind::WrongLastSequence
        || cause(error).is_some_and(|cause| {
            cause.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT
        })
}

/// Returns the error of the server, if it has rejected the write.
fn cause(error: &PublishError) -> Option<&jetstream::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Fails if repeating the write is useless.
fn check_temporary(
    connection: &HubConnection,
    kind: StreamKind,
    error: &PublishError,
    what: &str,
) -> Result<(), HubError> {
    let (hub, why) = (connection.name.clone(), error.to_string());
    let too_large = || HubError::TooLarge {
        what: what.into(),
        limit: connection.client.max_payload(),
    };
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => return Err(too_large()),
        PublishErrorKind::StreamNotFound
        | PublishErrorKind::TimedOut
        | PublishErrorKind::BrokenPipe
        | PublishErrorKind::MaxAckPending => return Ok(()),
        PublishErrorKind::WrongLastMessageId
        | PublishErrorKind::WrongLastSequence
        | PublishErrorKind::Other => {}
    }
    let Some(cause) = cause(error) else {
        return Err(HubError::Rejected { hub, why });
    };
    match cause.error_code() {
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM => Err(too_large()),
        ErrorCode::STREAM_STORE_FAILED => Err(HubError::Full {
            hub,
            stream: streams::name(&connection.settings.address.crew, kind),
            why: cause.to_string(),
            remedy: kind.full_remedy(),
        }),
        ErrorCode::STORAGE_RESOURCES_EXCEEDED
        | ErrorCode::MEMORY_RESOURCES_EXCEEDED
        | ErrorCode::INSUFFICIENT_RESOURCES
        | ErrorCode::ACCOUNT_RESOURCES_EXCEEDED => Err(HubError::Full {
            hub,
            stream: streams::name(&connection.settings.address.crew, kind),
            why: cause.to_string(),
            remedy: "free space on the server, or raise its limits",
        }),
        ErrorCode::STREAM_DUPLICATE_MESSAGE_CONFLICT
        | ErrorCode::STREAM_EXPECTED_LAST_SEQ_PER_SUBJECT_NOT_READY
        | ErrorCode::CLUSTER_NOT_AVAILABLE => Ok(()),
        _ => Err(HubError::Rejected {
            hub,
            why: cause.to_string(),
        }),
    }
}

/// Which single message to read.
enum WantedMessage {
    LastOf(String),
    /// The first message of the subject with this sequence number or a higher one.
    From(String, u64),
}

/// Returns the last message of a key; `None` if there is none. Asks the leader of the stream, so the answer is current.
pub(super) async fn read(
    connection: &HubConnection,
    kind: StreamKind,
    key: &str,
) -> Result<Option<Stored>, HubError> {
    get(
        connection,
        kind,
        &WantedMessage::LastOf(connection.subject(kind, key)),
    )
    .await
}

/// Returns the first message of the keys `key` with the sequence number `from` or a higher one; `None` if there is none.
/// `key` may be `>` for all keys.
pub(super) async fn next(
    connection: &HubConnection,
    kind: StreamKind,
    key: &str,
    from: u64,
) -> Result<Option<Stored>, HubError> {
    get(
        connection,
        kind,
        &WantedMessage::From(connection.subject(kind, key), from),
    )
    .await
}

async fn get(
    connection: &HubConnection,
    kind: StreamKind,
    wanted: &WantedMessage,
) -> Result<Option<Stored>, HubError> {
    let began = Instant::now();
    let (WantedMessage::LastOf(subject) | WantedMessage::From(subject, _)) = wanted;
    loop {
        let stream = connection.stream(kind).await?;
        let request = stream.raw_message_builder();
        let request = match wanted {
            WantedMessage::LastOf(subject) => request.last_by_subject(subject.clone()),
            WantedMessage::From(subject, from) => {
                let request = request.sequence((*from).max(1));
                request.next_by_subject(subject.clone())
            }
        };
        let error: RawMessageError = match request.send().await {
            Ok(message) => {
                let end = StreamEnd::at(&stream, message.sequence);
                connection.seen_ends.add(kind, end);
                return Ok(Some(stored::from_stream(connection, kind, &message)));
            }
            Err(error) => error,
        };
        match error.kind() {
            RawMessageErrorKind::NoMessageFound => return Ok(None),
            RawMessageErrorKind::InvalidSubject => {
                return Err(HubError::Rejected {
                    hub: connection.name.clone(),
                    why: error.to_string(),
                });
            }
            RawMessageErrorKind::JetStream(cause)
                if cause.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                connection.forget_stream(kind).await;
            }
            RawMessageErrorKind::JetStream(_) | RawMessageErrorKind::Other => {}
        }
        connection.check_permission(kind, subject, began)?;
        if began.elapsed() >= ANSWER_WITHIN {
            return Err(connection.no_answer(ANSWER_WITHIN, error.to_string()));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes the messages of the keys `key` whose sequence number is lower than `below`. Returns their number.
pub(super) async fn purge(
    connection: &HubConnection,
    kind: StreamKind,
    key: &str,
    below: u64,
) -> Result<u64, HubError> {
    let stream = connection.stream(kind).await?;
    let purge = stream.purge().sequence(below);
    let purge = purge.filter(connection.subject(kind, key)).into_future();
    let no_answer = |why: String| connection.no_answer(ANSWER_WITHIN, why);
    match tokio::time::timeout(ANSWER_WITHIN, purge).await {
        Ok(Ok(purged)) => Ok(purged.purged),
        Ok(Err(why)) => Err(no_answer(why.to_string())),
        Err(why) => Err(no_answer(why.to_string())),
    }
}

/// Tests against the server whose path is in `CREWDECK_NATS_SERVER`.
#[cfg(test)]
mod tests {
    use super::super::test_server::TestServer;
    use super::*;

    #[test]
    #[ignore = "needs CREWDECK_NATS_SERVER"]
    fn write_from_before_a_sleep_of_the_machine_is_not_sent() {
        let server = TestServer::start();
        let hub = server.hub();
        let write_after = |sleep: Duration| {
            hub.run(move |connection| async move {
                let (kind, key) = (StreamKind::State, "value".to_string());
                let write = Write::new(kind, key, b"1".to_vec(), Expected::Key(0), "a value");
                let stream = connection.stream(kind).await?;
                let asked_at = BootTime::now().before(sleep);
                write_asked_at(&connection, stream, write, ANSWER_WITHIN, asked_at).await
            })
        };
        let error = write_after(ANSWER_WITHIN).unwrap_err();
        assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
        let stored = hub
            .run(|connection| async move { read(&connection, StreamKind::State, "value").await });
        assert_eq!(stored.unwrap(), None);
        assert!(write_after(Duration::ZERO).unwrap().is_some());
    }
}
