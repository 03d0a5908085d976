//! The end of a stream, and what a client has seen of it, so that it does not believe a server that is behind.
//!
//! A server that was cut off from its cluster believes for some seconds that it still leads, and so answers with what it
//! had before. A copy that is read from it would go back: tasks that the client has worked on would not exist.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::streams::{OpenStream, STREAMS, StreamKind};

/// Time after which an earlier end is believed, because the cluster may have got a backup. A server that is cut off
/// notices it within 10 seconds, and an election takes a few more.
const BELIEVED_AFTER: Duration = Duration::from_secs(60);

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamEnd {
    /// The sequence number of the last message.
    pub last_sequence: u64,
    /// When the stream was created, in microseconds since 1970. Another stream under its name has other sequence numbers.
    pub created: i64,
}

impl StreamEnd {
    /// Returns the end of an open stream whose last message has this number.
    pub fn at(stream: &OpenStream, last_sequence: u64) -> StreamEnd {
        let created = stream.cached_info().created;
        StreamEnd {
            last_sequence,
            created: microseconds(created.unix_timestamp_nanos()),
        }
    }
}

/// Returns a time of the server in microseconds since 1970.
pub(super) fn microseconds(nanoseconds: i128) -> i64 {
    i64::try_from(nanoseconds / 1000).unwrap_or_default()
}

/// The last end of each stream that a client has seen.
#[derive(Debug, Default)]
pub(super) struct SeenEnds([Mutex<Option<SeenEnd>>; STREAMS]);

#[derive(Debug, Clone, Copy)]
struct SeenEnd {
    end: StreamEnd,
    /// Since when all answers have an earlier end.
    behind_since: Option<Instant>,
}

impl SeenEnd {
    fn new(end: StreamEnd) -> SeenEnd {
        SeenEnd {
            end,
            behind_since: None,
        }
    }
}

impl SeenEnds {
    fn of(&self, kind: StreamKind) -> MutexGuard<'_, Option<SeenEnd>> {
        let seen = &self.0[kind.index()];
        seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last end that was seen; `None` if there is none yet.
    pub fn last(&self, kind: StreamKind) -> Option<StreamEnd> {
        self.of(kind).map(|seen| seen.end)
    }

    /// Records that a stream contains a message, or that a server has answered with this end.
    pub fn add(&self, kind: StreamKind, end: StreamEnd) {
        let mut slot = self.of(kind);
        match slot.as_ref() {
            Some(seen)
                if seen.end.created == end.created
                    && seen.end.last_sequence > end.last_sequence => {}
            Some(_) | None => *slot = Some(SeenEnd::new(end)),
        }
    }

    /// Returns whether the end in an answer is to be believed at the time `now`. `before` is what was seen when the server was
    /// asked, because an answer can be overtaken by that to a later request. An earlier end of the same stream is believed
    /// from a single server, which goes back if its machine fails before everything is on its disk. From a cluster, it is
    /// believed when all answers were earlier for a long time.
    pub fn accepts(
        &self,
        kind: StreamKind,
        replicas: usize,
        before: Option<StreamEnd>,
        end: StreamEnd,
        now: Instant,
    ) -> bool {
        let is_earlier = before.is_some_and(|before| {
            before.created == end.created && before.last_sequence > end.last_sequence
        });
        if !is_earlier {
            self.add(kind, end);
            return true;
        }
        let mut slot = self.of(kind);
        let seen = slot.get_or_insert(SeenEnd::new(end));
        let since = *seen.behind_since.get_or_insert(now);
        let is_believed = replicas <= 1 || now.saturating_duration_since(since) >= BELIEVED_AFTER;
        if is_believed {
            *seen = SeenEnd::new(end);
        }
        is_believed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: StreamKind = StreamKind::Tasks;

    fn end(created: i64, last_sequence: u64) -> StreamEnd {
        StreamEnd {
            last_sequence,
            created,
        }
    }

    /// What happens to the ends that a client has seen.
    enum Step {
        Answer(StreamEnd),
        /// The client has stored or read a message.
        Message(StreamEnd),
    }

    #[test]
    fn earlier_end_is_believed_only_if_it_stays() {
        use Step::{Answer, Message};
        let (seen, began) = (SeenEnds::default(), Instant::now());
        // The seconds since the start, what happens, and whether it is believed.
        let steps = [
            (0, Answer(end(1, 7)), true),
            (1, Answer(end(1, 9)), true),
            (2, Answer(end(1, 8)), false),
            (3, Answer(end(1, 9)), true),
            // The time begins again.
            (4, Answer(end(1, 7)), false),
            (63, Answer(end(1, 8)), false),
            (64, Answer(end(1, 8)), true),
            (65, Answer(end(1, 7)), false),
            // A server that is not behind has answered meanwhile.
            (66, Message(end(1, 9)), true),
            (126, Answer(end(1, 8)), false),
            (127, Message(end(1, 5)), true),
            (186, Answer(end(1, 8)), true),
            // Another stream has other numbers.
            (187, Answer(end(2, 3)), true),
            (188, Answer(end(2, 2)), false),
            (189, Message(end(3, 1)), true),
            (190, Answer(end(3, 1)), true),
        ];
        for (at, step, expected) in steps {
            let now = began + Duration::from_secs(at);
            let is_believed = match step {
                Answer(end) => seen.accepts(KIND, 3, seen.last(KIND), end, now),
                Message(end) => {
                    seen.add(KIND, end);
                    true
                }
            };
            assert_eq!(is_believed, expected, "second {at}");
        }
    }

    #[test]
    fn single_server_may_go_back() {
        let (seen, now) = (SeenEnds::default(), Instant::now());
        seen.add(KIND, end(1, 5));
        assert!(seen.accepts(KIND, 1, seen.last(KIND), end(1, 4), now));
        assert_eq!(seen.last(KIND), Some(end(1, 4)));
        assert_eq!(seen.last(StreamKind::Mail), None);
    }

    #[test]
    fn answer_that_was_overtaken_is_believed() {
        let (seen, now) = (SeenEnds::default(), Instant::now());
        seen.add(KIND, end(1, 5));
        let before = seen.last(KIND);
        seen.add(KIND, end(1, 6));
        assert!(seen.accepts(KIND, 3, before, end(1, 5), now));
        assert_eq!(seen.last(KIND), Some(end(1, 6)));
    }
}
