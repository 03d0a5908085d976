//! The event bus: many senders, one receiver. If the queue is full, deltas ([`EventKind::is_delta`]: pieces of output)
//! are dropped; all other events wait for space.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::event::{BoardEvent, Event, EventKind};
use crate::domain::redact::Redactor;
use crate::domain::timestamp::Timestamp;

pub const BUS_CAPACITY: usize = 4096;

/// The sending end of the event bus. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventSender {
    out: mpsc::Sender<Event>,
    /// The number of the last event. The lock is held while an event is numbered and sent, so that events arrive in the
    /// order of their numbers.
    seq: Arc<Mutex<u64>>,
    clock: fn() -> Timestamp,
    redactor: Redactor,
    listener: Option<Listener>,
    relay: Option<Listener>,
}

/// A second receiver of events, set by [`EventSender::with_listener`] or [`EventSender::with_relay`]. Each published event
/// that `wants` selects is copied into the queue `out`. If the queue is full, the copy is dropped.
#[derive(Debug, Clone)]
struct Listener {
    wants: fn(&EventKind) -> bool,
    out: mpsc::Sender<EventKind>,
    /// The number of copies that were dropped.
    dropped: Arc<AtomicUsize>,
}

/// The receiving end of the event bus. Unlike the sending end, it cannot be cloned.
#[derive(Debug)]
pub struct EventReceiver {
    events: mpsc::Receiver<Event>,
}

pub fn bus(clock: fn() -> Timestamp) -> (EventSender, EventReceiver) {
    let (out, events) = mpsc::channel(BUS_CAPACITY);
    (
        EventSender {
            out,
            seq: Arc::default(),
            clock,
            redactor: Redactor::default(),
            listener: None,
            relay: None,
        },
        EventReceiver { events },
    )
}

impl EventSender {
    /// Returns this sender with a redactor that removes secrets from all published events except deltas and board
    /// changes.
    #[must_use]
    pub fn with_redactor(self, redactor: Redactor) -> EventSender {
        EventSender { redactor, ..self }
    }

    /// Returns this sender with a listener, which gets a copy of each published event that `wants` selects, except
    /// deltas. If the queue `out` is full, the copy is dropped.
    #[must_use]
    pub fn with_listener(
        self,
        wants: fn(&EventKind) -> bool,
        out: mpsc::Sender<EventKind>,
    ) -> EventSender {
        let listener = Some(Listener {
            wants,
            out,
            dropped: Arc::default(),
        });
        EventSender { listener, ..self }
    }

    /// Returns this sender with a relay to other hosts, which gets a copy of each published event that `wants` selects, also
    /// of deltas. If the queue `out` is full, the copy is dropped, and counted in `dropped`.
    #[must_use]
    pub fn with_relay(
        self,
        wants: fn(&EventKind) -> bool,
        out: mpsc::Sender<EventKind>,
        dropped: Arc<AtomicUsize>,
    ) -> EventSender {
        let relay = Some(Listener {
            wants,
            out,
            dropped,
        });
        EventSender { relay, ..self }
    }

    /// Returns this sender without the relay, for events that came from other hosts.
    #[must_use]
    pub fn without_relay(self) -> EventSender {
        EventSender {
            relay: None,
            ..self
        }
    }

    /// Returns the redactor, so that output of the crew other than events can be redacted too.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Redacts secrets in an event, with two exceptions. Deltas pass unchanged: a secret may be split between two of
    /// them, so their sender has already redacted them. `BoardChanged` passes unchanged, so that its tasks equal those
    /// in the files.
    fn clean(&self, kind: EventKind) -> EventKind {
        if kind.is_delta() || matches!(kind, EventKind::Board(BoardEvent::BoardChanged { .. })) {
            return kind;
        }
        self.redactor.data(kind)
    }

    /// Publishes an event. If the queue is full, a delta is dropped, and any other event waits for space. Returns
    /// immediately if the receiver is gone.
    pub async fn publish(&self, kind: EventKind) {
        let kind = self.clean(kind);
        if kind.is_delta() {
            self.offer(kind);
        } else {
            copy_to(self.listener.as_ref(), &kind);
            copy_to(self.relay.as_ref(), &kind);
            // The receiver is only gone when the program ends.
            if let Ok(room) = self.out.reserve().await {
                self.send(room, kind);
            }
        }
    }

    /// Publishes a delta without waiting. Drops the delta if the queue is full or the receiver is gone. Does not redact
    /// it: the caller must have removed secrets already.
    pub fn offer(&self, kind: EventKind) {
        copy_to(self.relay.as_ref(), &kind);
        match self.out.try_reserve() {
            Ok(room) => self.send(room, kind),
            // Skips a number, so that the receiver can detect that a delta was dropped.
            Err(_) => *self.seq.lock().unwrap_or_else(PoisonError::into_inner) += 1,
        }
    }

    fn send(&self, room: mpsc::Permit<'_, Event>, kind: EventKind) {
        let mut seq = self.seq.lock().unwrap_or_else(PoisonError::into_inner);
        *seq += 1;
        room.send(Event {
            seq: *seq,
            at: (self.clock)(),
            kind,
        });
    }
}

fn copy_to(listener: Option<&Listener>, kind: &EventKind) {
    if let Some(listener) = listener.filter(|l| (l.wants)(kind)) {
        // A queue without a receiver is not full: its end was chosen.
        if let Err(TrySendError::Full(_)) = listener.out.try_send(kind.clone()) {
            listener.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl EventReceiver {
    /// Waits for the next event. Returns `None` if the queue is empty and all senders are gone.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Returns the next event without waiting; `None` if the queue is empty, also while senders still exist.
    pub fn try_next(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;
    use crate::protocol::{AgentEvent, CrewEvent};

    #[tokio::test]
    async fn full_bus_drops_only_deltas() {
        let (event_sender, mut events) = bus(|| Timestamp(1.0));
        let delta = || AgentEvent::TextDelta { text: "x".into() }.of(Name::lead());
        for _ in 0..BUS_CAPACITY + 10 {
            event_sender.publish(delta()).await;
        }
        let last = tokio::spawn(async move {
            event_sender
                .publish(EventKind::Crew(CrewEvent::AllIdle))
                .await;
        });
        let mut seen = Vec::new();
        while let Some(event) = events.next().await {
            seen.push(event);
        }
        last.await.unwrap();
        assert_eq!(seen.len(), BUS_CAPACITY + 1);
        assert_eq!(
            seen.last().unwrap().kind,
            EventKind::Crew(CrewEvent::AllIdle)
        );
    }

    #[tokio::test]
    async fn copies_that_a_full_relay_drops_are_counted() {
        let (event_sender, _events) = bus(|| Timestamp(1.0));
        let (out, mut copies) = mpsc::channel(2);
        let dropped = Arc::<AtomicUsize>::default();
        let event_sender = event_sender.with_relay(EventKind::is_delta, out, Arc::clone(&dropped));
        let delta = || AgentEvent::TextDelta { text: "x".into() }.of(Name::lead());
        for _ in 0..5 {
            event_sender.publish(delta()).await;
            let other = EventKind::Crew(CrewEvent::AllIdle);
            event_sender.publish(other).await;
        }
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
        assert_eq!(copies.try_recv(), Ok(delta()));
        drop(copies);
        event_sender.publish(delta()).await;
        assert_eq!(dropped.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn numbers_increase_with_concurrent_senders() {
        let (event_sender, mut events) = bus(|| Timestamp(1.0));
        for _ in 0..4 {
            let event_sender = event_sender.clone();
            tokio::spawn(async move {
                for _ in 0..2000 {
                    event_sender
                        .publish(EventKind::Crew(CrewEvent::AllIdle))
                        .await;
                }
            });
        }
        drop(event_sender);
        let mut numbers = Vec::new();
        while let Some(event) = events.next().await {
            numbers.push(event.seq);
        }
        assert_eq!(numbers, (1..=8000).collect::<Vec<u64>>());
    }

    #[test]
    fn event_serializes_as_one_flat_object() {
        let event = Event {
            seq: 7,
            at: Timestamp(1.5),
            kind: AgentEvent::TextDelta { text: "hi".into() }.of(Name::lead()),
        };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(
            line,
            r#"{"seq":7,"at":1.5,"type":"text_delta","agent":"lead","text":"hi"}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}
