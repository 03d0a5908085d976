//! Reports changes of the state on a hub: the parts of it that the crew reads again, and single messages of a stream.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::consumer::{DeliverPolicy, push};
use futures::StreamExt;
use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::board::TaskSet;
use super::super::stores::{ChangeReport, StateWatch};
use super::super::watch::{Dirty, ReportThread};
use super::connection::{Hub, HubConnection};
use super::keys;
use super::streams::StreamKind;
use super::team_records::TEAM_KEY;

/// Pause before a watch that has ended starts again.
const RESTART: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct HubWatch(pub(super) Hub);

/// Stops the watch when it is dropped.
struct RunningWatch {
    _thread: ReportThread,
    tasks: Vec<AbortHandle>,
}

impl Drop for RunningWatch {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl StateWatch for HubWatch {
    /// If the connection is interrupted, everything is reported afterwards.
    fn watch(&self, report: ChangeReport) -> Result<Box<dyn Send>, StoreError> {
        let thread = ReportThread::start(report)?;
        let mut tasks = Vec::new();
        for kind in [StreamKind::Tasks, StreamKind::State, StreamKind::Mail] {
            let reports = thread.reports();
            // The content is read by those who need it.
            let keys = WatchedKeys {
                keys: ">",
                is_headers_only: true,
            };
            // The watch must see what is stored after this function has returned.
            let first = next_sequence(&self.0, kind)?;
            let report = move |change: StreamChange<'_>| match change {
                StreamChange::Message(message) => {
                    if let Some(dirty) = changed(kind, message.subject.as_str()) {
                        reports.add(dirty);
                    }
                }
                StreamChange::Unknown => {
                    for dirty in everything(kind) {
                        reports.add(dirty);
                    }
                }
            };
            tasks.push(
                self.0
                    .spawn(move |connection| follow(connection, kind, keys, first, report))?,
            );
        }
        Ok(Box::new(RunningWatch {
            _thread: thread,
            tasks,
        }))
    }
}

/// The keys that [`follow`] reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchedKeys {
    /// The keys, as a subject below that of the stream; may contain `*` and `>`.
    pub keys: &'static str,
    /// Whether the messages are reported without their content.
    pub is_headers_only: bool,
}

/// What [`follow`] reports.
#[derive(Clone, Copy)]
pub(super) enum StreamChange<'a> {
    Message(&'a jetstream::Message),
    /// Messages may have been missed: everything in the stream may have changed.
    Unknown,
}

/// Returns the sequence number of the next message of a stream.
///
/// # Errors
/// When the hub does not answer.
pub(super) fn next_sequence(hub: &Hub, kind: StreamKind) -> Result<u64, StoreError> {
    let next = hub.run(move |connection| async move {
        let stream = connection.stream(kind).await?;
        let info = stream.get_info().await;
        let last = info.map_or(stream.cached_info().state.last_sequence, |info| {
            info.state.last_sequence
        });
        Ok(last + 1)
    });
    Ok(next?)
}

/// Reports the messages of the keys `which` of a stream from the sequence number `first` on, without end.
pub(super) async fn follow(
    connection: Arc<HubConnection>,
    kind: StreamKind,
    which: WatchedKeys,
    first: u64,
    report: impl Fn(StreamChange<'_>) + Send + Sync,
) {
    let mut doubts = connection.doubts();
    let mut next = Some(first);
    loop {
        doubts.borrow_and_update();
        let result = tokio::select! {
            result = follow_once(&connection, kind, which, next.take(), &report) => result,
            // The stream may have gone back, and a watch that waits for the next number would miss changes.
            _ = doubts.changed() => Ok(()),
        };
        // An error is no reason to stop: the watch starts again.
        if result.is_err() {
            tokio::time::sleep(RESTART).await;
        }
    }
}

/// Reports the messages from the sequence number `first` on. If it is `None`, first reports that everything may have
/// changed, and then what is stored from now on.
async fn follow_once(
    connection: &HubConnection,
    kind: StreamKind,
    which: WatchedKeys,
    first: Option<u64>,
    report: &(impl Fn(StreamChange<'_>) + Send + Sync),
) -> Result<(), async_nats::Error> {
    let stream = connection.stream(kind).await?;
    let start_sequence = match first {
        Some(first) => first,
        None => match stream.get_info().await {
            // Another stream under its name has other sequence numbers, so that copies of its keys are not valid.
            Ok(info) if info.created != stream.cached_info().created => {
                connection.forget_stream(kind).await;
                return Err("the stream was created again".into());
            }
            Ok(info) => info.state.last_sequence + 1,
            Err(error) => {
                if keys::is_gone(&error) {
                    connection.forget_stream(kind).await;
                }
                return Err(error.into());
            }
        },
    };
    let config = push::OrderedConfig {
        deliver_subject: connection.client.new_inbox(),
        filter_subject: connection.subject(kind, which.keys),
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: start_sequence.max(1),
        },
        headers_only: which.is_headers_only,
        ..push::OrderedConfig::default()
    };
    let mut messages = stream.create_consumer(config).await?.messages().await?;
    if first.is_none() {
        report(StreamChange::Unknown);
    }
    while let Some(message) = messages.next().await {
        report(StreamChange::Message(&message?));
    }
    Err("the watch has ended".into())
}

/// Returns the part of the state to which a subject belongs.
fn changed(kind: StreamKind, subject: &str) -> Option<Dirty> {
    let mut parts = subject.rsplit('.');
    let (key, group) = (parts.next()?, parts.next()?);
    match kind {
        // Dependencies of other tasks may be part of the message.
        StreamKind::Tasks => Some(Dirty::Board(TaskSet::All)),
        StreamKind::Mail => Some(Dirty::Mail),
        StreamKind::State if group == "request" => Some(Dirty::Requests),
        StreamKind::State if group == "position" => Some(Dirty::Mail),
        StreamKind::State if group == "member" => Some(Dirty::Roster),
        // A host can have this name too.
        StreamKind::State if group == "state" && key == TEAM_KEY => Some(Dirty::Roster),
        StreamKind::State | StreamKind::Leases | StreamKind::Events => None,
    }
}

/// Returns every part of the state that is in a stream.
fn everything(kind: StreamKind) -> Vec<Dirty> {
    match kind {
        StreamKind::Tasks => vec![Dirty::Board(TaskSet::All)],
        StreamKind::State => vec![Dirty::Roster, Dirty::Requests, Dirty::Mail],
        StreamKind::Mail => vec![Dirty::Mail],
        StreamKind::Leases | StreamKind::Events => Vec::new(),
    }
}
