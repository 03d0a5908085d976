//! Reports changes of the state on a hub.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use futures::StreamExt;
use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::board::TaskSet;
use super::super::stores::{ChangeReport, StateWatch};
use super::super::watch::{Dirty, ReportThread, Reports};
use super::connection::{Hub, HubConnection};
use super::streams::StreamKind;

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
            // The watch must see what is stored after this function has returned.
            let first = self.0.run(move |link| async move {
                let info = link.stream(kind).await?.cached_info().state.last_sequence;
                Ok(info + 1)
            })?;
            tasks.push(
                self.0
                    .spawn(move |link| follow(link, kind, first, reports))?,
            );
        }
        Ok(Box::new(RunningWatch {
            _thread: thread,
            tasks,
        }))
    }
}

/// Reports the messages of a stream from the sequence number `first` on, without end.
async fn follow(link: Arc<HubConnection>, kind: StreamKind, first: u64, reports: Reports) {
    let mut next = first;
    loop {
        // An error is no reason to stop: the watch starts again where it was.
        let _ = follow_once(&link, kind, &mut next, &reports).await;
        tokio::time::sleep(RESTART).await;
        for dirty in everything(kind) {
            reports.add(dirty);
        }
    }
}

async fn follow_once(
    link: &HubConnection,
    kind: StreamKind,
    next: &mut u64,
    reports: &Reports,
) -> Result<(), async_nats::Error> {
    let stream = link.stream(kind).await?;
    let config = push::OrderedConfig {
        deliver_subject: link.client.new_inbox(),
        filter_subject: link.subject(kind, ">"),
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: (*next).max(1),
        },
        ..push::OrderedConfig::default()
    };
    let mut messages = stream.create_consumer(config).await?.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        *next = message.info()?.stream_sequence + 1;
        if let Some(dirty) = changed(kind, message.subject.as_str()) {
            reports.add(dirty);
        }
    }
    Ok(())
}

/// Returns the part of the state to which a subject belongs.
fn changed(kind: StreamKind, subject: &str) -> Option<Dirty> {
    let mut parts = subject.rsplit('.');
    let (key, group) = (parts.next()?, parts.next()?);
    match kind {
        // Dependencies of other tasks may be part of the message.
        StreamKind::Tasks => Some(Dirty::Board(TaskSet::All)),
        StreamKind::Mail => Some(Dirty::Mail),
        StreamKind::State if key == "team" => Some(Dirty::Roster),
        StreamKind::State if group == "request" => Some(Dirty::Requests),
        StreamKind::State if group == "position" => Some(Dirty::Mail),
        StreamKind::State | StreamKind::Leases => None,
    }
}

/// Returns every part of the state that is in a stream.
fn everything(kind: StreamKind) -> Vec<Dirty> {
    match kind {
        StreamKind::Tasks => vec![Dirty::Board(TaskSet::All)],
        StreamKind::State => vec![Dirty::Roster, Dirty::Requests, Dirty::Mail],
        StreamKind::Mail => vec![Dirty::Mail],
        StreamKind::Leases => Vec::new(),
    }
}
