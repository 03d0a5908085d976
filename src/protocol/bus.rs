//! The bus: many publishers, one consumer. Deltas may be dropped under load, the rest must arrive.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;

use super::event::{Event, EventKind};
use crate::domain::redact::Redactor;
use crate::domain::stamp::Stamp;

/// Events that may wait on the bus.
pub const BUS_CAPACITY: usize = 4096;

/// Where events are put. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Publisher {
    out: mpsc::Sender<Event>,
    /// The number of the last event; held while the next one is numbered and sent, so that the numbers of
    /// the events that come out only ever go up.
    seq: Arc<Mutex<u64>>,
    clock: fn() -> Stamp,
    redactor: Redactor,
}

/// Where events come out.
#[derive(Debug)]
pub struct Inlet {
    events: mpsc::Receiver<Event>,
}

/// A bus whose events are dated by `clock`.
pub fn bus(clock: fn() -> Stamp) -> (Publisher, Inlet) {
    let (out, events) = mpsc::channel(BUS_CAPACITY);
    (
        Publisher {
            out,
            seq: Arc::default(),
            clock,
            redactor: Redactor::default(),
        },
        Inlet { events },
    )
}

impl Publisher {
    /// The same, looking for these secrets in what is published, and for keys by their shape.
    #[must_use]
    pub fn redacting(self, redactor: Redactor) -> Publisher {
        Publisher { redactor, ..self }
    }

    /// What looks for secrets, for whatever else leaves the crew.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// An event without secrets. Pieces of output and of answers come without them already, since a piece alone does
    /// not show them; the board is told as its files have it.
    fn clean(&self, kind: EventKind) -> EventKind {
        if kind.is_delta() || matches!(kind, EventKind::BoardChanged { .. }) {
            return kind;
        }
        self.redactor.data(kind)
    }

    /// Publishes what happened. Waits for room, except for deltas, which are dropped when there is none:
    /// the whole follows. Returns at once when nobody listens any more.
    pub async fn publish(&self, kind: EventKind) {
        let kind = self.clean(kind);
        if kind.is_delta() {
            self.offer(kind);
        } else {
            // The consumer is gone only when the program ends: then nobody is left to tell.
            if let Ok(room) = self.out.reserve().await {
                self.send(room, kind);
            }
        }
    }

    /// Publishes a delta without waiting; dropped when the bus is full.
    pub fn offer(&self, kind: EventKind) {
        match self.out.try_reserve() {
            Ok(room) => self.send(room, kind),
            // Its number is missing from now on: that is how a gap is seen.
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

impl Inlet {
    /// The next event; `None` when all publishers are gone.
    pub async fn next(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// The next event if one is there already.
    pub fn try_next(&mut self) -> Option<Event> {
        self.events.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::Name;

    #[tokio::test]
    async fn a_full_bus_drops_deltas_and_nothing_else() {
        let (publisher, mut inlet) = bus(|| Stamp(1.0));
        let delta = || EventKind::TextDelta {
            agent: Name::lead(),
            text: "x".into(),
        };
        for _ in 0..BUS_CAPACITY + 10 {
            publisher.publish(delta()).await;
        }
        let last = tokio::spawn(async move { publisher.publish(EventKind::CrewAtRest).await });
        let mut seen = Vec::new();
        while let Some(event) = inlet.next().await {
            seen.push(event);
        }
        last.await.unwrap();
        assert_eq!(seen.len(), BUS_CAPACITY + 1);
        assert_eq!(seen.last().unwrap().kind, EventKind::CrewAtRest);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn numbers_only_go_up_however_many_publish() {
        let (publisher, mut inlet) = bus(|| Stamp(1.0));
        for _ in 0..4 {
            let publisher = publisher.clone();
            tokio::spawn(async move {
                for _ in 0..2000 {
                    publisher.publish(EventKind::CrewAtRest).await;
                }
            });
        }
        drop(publisher);
        let mut numbers = Vec::new();
        while let Some(event) = inlet.next().await {
            numbers.push(event.seq);
        }
        assert_eq!(numbers, (1..=8000).collect::<Vec<u64>>());
    }

    #[test]
    fn an_event_is_one_flat_json_object() {
        let event = Event {
            seq: 7,
            at: Stamp(1.5),
            kind: EventKind::TextDelta {
                agent: Name::lead(),
                text: "hi".into(),
            },
        };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(
            line,
            r#"{"seq":7,"at":1.5,"type":"text_delta","agent":"lead","text":"hi"}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}
