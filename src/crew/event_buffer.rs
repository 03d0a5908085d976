//! The events that wait to be sent to another host: merged, cut into batches, and bounded. Does no I/O.

use std::collections::VecDeque;

use crate::protocol::event::{AgentEvent, EventKind, NoticeLevel};

/// Size of a batch, in bytes. A larger event is alone in its batch.
pub const BATCH_BYTES: usize = 64 * 1024;
/// Maximum number of events that wait, and their maximum size in bytes.
const EVENTS_MAX: usize = 4096;
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Size up to which pieces of output are merged, in bytes.
const MERGED_MAX: usize = 16 * 1024;
/// The size of an event without its texts, in bytes, as an estimate.
const BASE: usize = 128;

/// Events that were not sent yet, oldest first.
#[derive(Debug, Default)]
pub struct EventBuffer {
    /// The events with their estimated sizes.
    events: VecDeque<(EventKind, usize)>,
    bytes: usize,
    /// The number of pieces of output among the events.
    deltas: usize,
    /// The number of events that were dropped and not reported yet.
    lost: usize,
}

impl EventBuffer {
    /// Adds an event. A piece of output is merged with the last event if that is a piece of the same output. If the buffer
    /// is full, all pieces of output are dropped, and then the oldest events.
    pub fn add(&mut self, event: EventKind) {
        let added = size(&event);
        let event = match self.events.back_mut() {
            Some((last, size)) if *size + added <= MERGED_MAX => match merge(last, event) {
                Some(event) => event,
                None => {
                    let grown = added.saturating_sub(BASE);
                    *size += grown;
                    self.bytes += grown;
                    return;
                }
            },
            Some(_) | None => event,
        };
        self.bytes += added;
        self.deltas += usize::from(event.is_delta());
        self.events.push_back((event, added));
        self.limit();
    }

    /// Returns whether events must be dropped. A single event is kept, however large it is.
    fn is_full(&self) -> bool {
        let count = self.events.len();
        count > EVENTS_MAX || (count > 1 && self.bytes > BYTES_MAX)
    }

    fn limit(&mut self) {
        if self.is_full() && self.deltas > 0 {
            let before = self.events.len();
            self.events.retain(|(event, _)| !event.is_delta());
            self.bytes = self.events.iter().map(|(_, size)| size).sum();
            self.lost += before - self.events.len();
            self.deltas = 0;
        }
        while self.is_full() {
            if let Some((_, size)) = self.events.pop_front() {
                self.bytes -= size;
                self.lost += 1;
            }
        }
    }

    /// Records events that were lost elsewhere.
    pub fn add_lost(&mut self, count: usize) {
        self.lost += count;
    }

    /// Returns the estimated size of the events, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.lost == 0
    }

    /// Removes and returns the oldest events, about [`BATCH_BYTES`] bytes. A notice about lost events comes first.
    pub fn take_batch(&mut self) -> Vec<EventKind> {
        let mut batch = Vec::new();
        if self.lost > 0 {
            let (count, s) = (self.lost, if self.lost == 1 { "" } else { "s" });
            let text = format!(
                "{count} event{s} of the agents on this host could not be sent to the lead in time, so their conversations are not complete there. The journal of this host has all of them."
            );
            batch.push(EventKind::notice(NoticeLevel::Warn, text));
            self.lost = 0;
        }
        let mut bytes = 0;
        while let Some((event, size)) = self.events.pop_front() {
            if bytes > 0 && bytes + size > BATCH_BYTES {
                self.events.push_front((event, size));
                break;
            }
            bytes += size;
            self.bytes -= size;
            self.deltas -= usize::from(event.is_delta());
            batch.push(event);
        }
        batch
    }
}

/// Appends `next` to `last` if both are pieces of the same output. Otherwise returns `next`.
fn merge(last: &mut EventKind, next: EventKind) -> Option<EventKind> {
    let (
        EventKind::Agent { agent, event },
        EventKind::Agent {
            agent: other,
            event: piece,
        },
    ) = (last, &next)
    else {
        return Some(next);
    };
    if agent != other {
        return Some(next);
    }
    let (text, piece) = match (event, piece) {
        (AgentEvent::TextDelta { text }, AgentEvent::TextDelta { text: piece })
        | (AgentEvent::ThinkingDelta { text }, AgentEvent::ThinkingDelta { text: piece }) => {
            (text, piece)
        }
        (
            AgentEvent::ToolOutput { call, chunk },
            AgentEvent::ToolOutput {
                call: other,
                chunk: piece,
            },
        ) if call == other => (chunk, piece),
        _ => return Some(next),
    };
    text.push_str(piece);
    None
}

/// Returns the size of the JSON form of an event, in bytes; an estimate for pieces of output.
fn size(event: &EventKind) -> usize {
    match event {
        EventKind::Agent {
            event:
                AgentEvent::TextDelta { text }
                | AgentEvent::ThinkingDelta { text }
                | AgentEvent::ToolOutput { chunk: text, .. },
            ..
        } => BASE + text.len(),
        _ => serde_json::to_vec(event).map_or(BASE, |json| json.len()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::domain::ids::{CallId, Name};
    use crate::protocol::event::CrewEvent;

    fn of(agent: &str, event: AgentEvent) -> EventKind {
        event.of(Name::member(agent).unwrap())
    }

    fn text(agent: &str, text: &str) -> EventKind {
        of(agent, AgentEvent::TextDelta { text: text.into() })
    }

    fn thought(text: &str) -> EventKind {
        of("bob", AgentEvent::ThinkingDelta { text: text.into() })
    }

    fn output(call: &str, chunk: &str) -> EventKind {
        let (call, chunk) = (CallId(call.into()), chunk.into());
        of("bob", AgentEvent::ToolOutput { call, chunk })
    }

    fn said(text: &str) -> EventKind {
        let event = AgentEvent::AnswerFinished {
            text: text.into(),
            thinking: String::new(),
            thought_ms: 0,
        };
        of("bob", event)
    }

    fn all(buffer: &mut EventBuffer) -> Vec<EventKind> {
        let mut all = Vec::new();
        while !buffer.is_empty() {
            all.extend(buffer.take_batch());
        }
        assert_eq!((buffer.bytes, buffer.deltas), (0, 0));
        all
    }

    /// Returns the number of lost events that a notice reports.
    fn lost_in(event: &EventKind) -> usize {
        let EventKind::Crew(CrewEvent::Notice { text, .. }) = event else {
            panic!("{event:?}");
        };
        text.split(' ').next().unwrap().parse().unwrap()
    }

    #[test]
    fn only_adjacent_pieces_of_the_same_output_are_merged() {
        for (step, events, expected) in [
            (
                "text",
                vec![text("bob", "a"), text("bob", "b"), text("bob", "c")],
                vec![text("bob", "abc")],
            ),
            (
                "two agents",
                vec![text("bob", "a"), text("amy", "b"), text("bob", "c")],
                vec![text("bob", "a"), text("amy", "b"), text("bob", "c")],
            ),
            (
                "two kinds",
                vec![thought("a"), thought("b"), text("bob", "c")],
                vec![thought("ab"), text("bob", "c")],
            ),
            (
                "two calls",
                vec![output("1", "a"), output("1", "b"), output("2", "c")],
                vec![output("1", "ab"), output("2", "c")],
            ),
            (
                "other event between",
                vec![text("bob", "a"), said("x"), text("bob", "b")],
                vec![text("bob", "a"), said("x"), text("bob", "b")],
            ),
        ] {
            let mut buffer = EventBuffer::default();
            for event in events {
                buffer.add(event);
            }
            assert_eq!(all(&mut buffer), expected, "{step}");
        }
    }

    #[test]
    fn merged_pieces_and_batches_have_a_maximum_size() {
        let mut buffer = EventBuffer::default();
        let piece = "x".repeat(1000);
        for _ in 0..200 {
            buffer.add(text("bob", &piece));
        }
        let mut length = 0;
        while !buffer.is_empty() {
            let batch = buffer.take_batch();
            let sizes: Vec<usize> = batch.iter().map(size).collect();
            assert!(sizes.iter().all(|size| *size <= MERGED_MAX), "{sizes:?}");
            assert!(sizes.iter().sum::<usize>() <= BATCH_BYTES, "{sizes:?}");
            length += sizes.iter().map(|size| size - BASE).sum::<usize>();
        }
        assert_eq!(length, 200 * 1000);
    }

    #[test]
    fn large_event_is_alone_in_its_batch() {
        let mut buffer = EventBuffer::default();
        let large = said(&"x".repeat(BATCH_BYTES * 2));
        for event in [said("a"), large.clone(), said("b")] {
            buffer.add(event);
        }
        assert_eq!(buffer.take_batch(), [said("a")]);
        assert_eq!(buffer.take_batch(), [large]);
        assert_eq!(buffer.take_batch(), [said("b")]);
        assert!(buffer.is_empty());
    }

    #[test]
    fn full_buffer_drops_pieces_of_output_first_and_then_the_oldest() {
        let mut buffer = EventBuffer::default();
        for number in 0..EVENTS_MAX / 2 {
            buffer.add(said(&format!("{number}")));
            buffer.add(text("bob", "x"));
        }
        assert_eq!((buffer.events.len(), buffer.lost), (EVENTS_MAX, 0));
        buffer.add(said("last"));
        assert_eq!(buffer.events.len(), EVENTS_MAX / 2 + 1);
        assert_eq!(buffer.lost, EVENTS_MAX / 2);
        for number in 0..EVENTS_MAX {
            buffer.add(said(&format!("new {number}")));
        }
        assert_eq!(buffer.events.len(), EVENTS_MAX);
        let all = all(&mut buffer);
        assert_eq!(lost_in(&all[0]), EVENTS_MAX + 1);
        assert_eq!(all[1], said("new 0"));
        assert_eq!(all.len(), EVENTS_MAX + 1);
    }

    #[test]
    fn large_events_are_bounded_by_their_size() {
        let mut buffer = EventBuffer::default();
        for _ in 0..10 {
            buffer.add(said(&"x".repeat(BYTES_MAX / 4)));
        }
        assert!(buffer.bytes() <= BYTES_MAX);
        let kept = buffer.events.len();
        assert_eq!(lost_in(&buffer.take_batch()[0]), 10 - kept);
    }

    #[test]
    fn loss_is_reported_once_also_without_further_events() {
        let mut buffer = EventBuffer::default();
        buffer.add_lost(1);
        assert!(!buffer.is_empty());
        let batch = buffer.take_batch();
        assert_eq!((batch.len(), lost_in(&batch[0])), (1, 1));
        assert!(buffer.is_empty());
    }
}
