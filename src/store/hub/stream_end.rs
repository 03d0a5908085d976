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

impl SeenEnds {
    fn of(&self, kind: StreamKind) -> MutexGuard<'_, Option<SeenEnd>> {
        let seen = &self.0[kind.index()];
        seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a stream contains a message.
    pub fn add(&self, kind: StreamKind, message: StreamEnd) {
        let mut slot = self.of(kind);
        match slot.as_mut() {
            Some(seen) if seen.end.created == message.created => {
                let last = seen.end.last_sequence.max(message.last_sequence);
                seen.end.last_sequence = last;
            }
            Some(_) | None => {
                *slot = Some(SeenEnd {
                    end: message,
                    behind_since: None,
                });
            }
        }
    }

    /// Returns whether the end in the answer of a server at the time `now` is to be believed: whether it is not before the
    /// last one of the same stream, or all answers have been for a long time.
    pub fn accepts(&self, kind: StreamKind, end: StreamEnd, now: Instant) -> bool {
        let mut slot = self.of(kind);
        if let Some(seen) = slot.as_mut()
            && seen.end.created == end.created
            && seen.end.last_sequence > end.last_sequence
        {
            let since = *seen.behind_since.get_or_insert(now);
            if now.saturating_duration_since(since) < BELIEVED_AFTER {
                return false;
            }
        }
        *slot = Some(SeenEnd {
            end,
            behind_since: None,
        });
        true
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

    #[test]
    fn earlier_end_is_believed_only_if_it_stays() {
        let (seen, began) = (SeenEnds::default(), Instant::now());
        // The seconds since the start, the answer, and whether it is believed.
        let steps = [
            (0, end(1, 7), true),
            (1, end(1, 9), true),
            (2, end(1, 8), false),
            (3, end(1, 9), true),
            // The time begins again.
            (4, end(1, 7), false),
            (63, end(1, 8), false),
            (64, end(1, 8), true),
            (65, end(1, 7), false),
            // Another stream has other numbers.
            (66, end(2, 3), true),
            (67, end(2, 2), false),
        ];
        for (at, end, expected) in steps {
            let now = began + Duration::from_secs(at);
            assert_eq!(seen.accepts(KIND, end, now), expected, "second {at}");
        }
    }

    #[test]
    fn messages_move_the_end() {
        let (seen, now) = (SeenEnds::default(), Instant::now());
        seen.add(KIND, end(1, 5));
        seen.add(KIND, end(1, 3));
        assert!(!seen.accepts(KIND, end(1, 4), now));
        assert!(seen.accepts(StreamKind::Mail, end(1, 4), now));
        seen.add(KIND, end(2, 1));
        assert!(seen.accepts(KIND, end(2, 2), now));
    }
}
