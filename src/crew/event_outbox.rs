//! The events of a host that were not sent to the others yet, and when the next ones are to be sent. Does no I/O.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::event_buffer::{BATCH_BYTES, EventBuffer};
use super::relayed_events::{is_relayed_by_lead, without_attachments};
use crate::protocol::event::{CrewEvent, EventKind};
use crate::store::{HubError, StoreError};

/// Time for which events are collected before they are sent.
const COLLECT: Duration = Duration::from_millis(100);
/// First and longest pause after an error.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// The events that were not sent yet.
pub(super) struct Outbox {
    buffer: EventBuffer,
    /// The batch that is being sent, or that must be sent again. It stays the same until it is sent, so that the store
    /// recognizes it.
    batch: Arc<Vec<EventKind>>,
    /// When the first event of the buffer was added.
    since: Option<Instant>,
    /// The pause after the last error; zero if there was none.
    pause: Duration,
    /// The earliest time of the next attempt.
    not_before: Instant,
    /// The newest description of the session, which only the host of the lead sends.
    session: Option<EventKind>,
}

impl Outbox {
    pub(super) fn new() -> Outbox {
        Outbox {
            buffer: EventBuffer::default(),
            batch: Arc::default(),
            since: None,
            pause: Duration::ZERO,
            not_before: Instant::now(),
            session: None,
        }
    }

    pub(super) fn add(&mut self, event: EventKind) {
        if is_relayed_by_lead(&event) {
            if let EventKind::Crew(CrewEvent::Ready(_)) = &event {
                self.session = Some(event.clone());
            }
            self.since.get_or_insert_with(Instant::now);
            self.buffer.add(without_attachments(event));
        }
    }

    /// Adds the newest description of the session again.
    pub(super) fn describe_again(&mut self) {
        if let Some(session) = self.session.clone() {
            self.add(session);
        }
    }

    /// Records events that were lost, for the notice.
    pub(super) fn add_lost(&mut self, count: usize) {
        if count > 0 {
            self.since.get_or_insert_with(Instant::now);
            self.buffer.add_lost(count);
        }
    }

    /// Returns when the next batch is to be sent; `None` if there is nothing to send.
    pub(super) fn due(&self) -> Option<Instant> {
        let collected = match self.since {
            _ if !self.batch.is_empty() => self.not_before,
            Some(since) if self.buffer.bytes() < BATCH_BYTES => since + COLLECT,
            Some(since) => since,
            None => return None,
        };
        Some(collected.max(self.not_before))
    }

    /// Returns the batch to send now: the one that has failed, or the next one. It is empty if there is nothing to send.
    pub(super) fn next_batch(&mut self) -> Arc<Vec<EventKind>> {
        if self.batch.is_empty() {
            self.batch = Arc::new(self.buffer.take_batch());
            self.since = (!self.buffer.is_empty()).then(Instant::now);
        }
        Arc::clone(&self.batch)
    }

    /// Records the result of sending the batch.
    pub(super) fn finish(&mut self, result: &Result<(), StoreError>) {
        match result {
            Ok(()) => {}
            Err(error) if is_permanent(error) => self.add_lost(self.batch.len()),
            Err(_) => {
                self.pause = (self.pause * 2).clamp(RETRY, RETRY_MAX);
                self.not_before = Instant::now() + self.pause;
                return;
            }
        }
        self.batch = Arc::default();
        self.pause = Duration::ZERO;
    }
}

/// Returns whether sending the same events again is useless.
fn is_permanent(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Json(_) | StoreError::Hub(HubError::TooLarge { .. })
    )
}
