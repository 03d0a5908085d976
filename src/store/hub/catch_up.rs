//! Completes the copies that a client has of the keys of a stream: reads only what was stored since the last time.

use std::time::{Duration, Instant};

use super::connection::HubConnection;
use super::error::HubError;
use super::keys;
use super::reads::{self, Range, SINGLE_READS_MAX};
use super::stored::Stored;
use super::streams::StreamKind;

/// Minimum time between two complete reads because of records that hide others.
const REREAD_PAUSE: Duration = Duration::from_secs(1);

/// The keys of which a client has a copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopiedKeys {
    pub kind: StreamKind,
    /// The keys, as a subject below that of the stream; may contain `*` and `>`.
    pub keys: &'static str,
    /// Maximum number of messages that are read at once.
    pub most: usize,
    /// Whether a new record, in place of the one that it has replaced, can change what is known of other keys. A client
    /// that reads everything again does not find the replaced record, so all others must read everything again too.
    pub hides_others: fn(&Stored) -> bool,
}

/// The records that a copy lacks.
pub(super) struct MissedRecords {
    pub records: Vec<Stored>,
    /// Whether these are all records, which replace the copy.
    pub is_complete: bool,
    /// The epoch of the connection in which they were read.
    pub epoch: u64,
    pub rereads: Rereads,
}

/// When a copy was read completely because of records that hide others. Another program may store many of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rereads {
    last: Option<Instant>,
    is_wanted: bool,
}

impl Rereads {
    /// Returns whether everything must be read again now.
    fn is_due(self, now: Instant) -> bool {
        let is_over = |last| now.saturating_duration_since(last) >= REREAD_PAUSE;
        self.is_wanted && self.last.is_none_or(is_over)
    }

    /// Records that everything was read.
    fn finish(&mut self, now: Instant) {
        if self.is_wanted {
            *self = Rereads {
                last: Some(now),
                is_wanted: false,
            };
        }
    }
}

/// Returns the records after the sequence number `from`, or all if the stream may have gone back since the epoch `known`, or
/// records hide others.
pub(super) async fn missed(
    connection: &HubConnection,
    which: CopiedKeys,
    from: u64,
    known: u64,
    mut rereads: Rereads,
) -> Result<MissedRecords, HubError> {
    let (mut from, mut known) = (from, known);
    loop {
        let epoch = connection.epoch();
        if known != epoch || rereads.is_due(Instant::now()) {
            from = 0;
        }
        let records = records_after(connection, which, from).await?;
        if from == 0 {
            rereads.finish(Instant::now());
        } else if records.iter().any(which.hides_others) {
            rereads.is_wanted = true;
            if rereads.is_due(Instant::now()) {
                continue;
            }
        }
        // A part of the records may come from before a change of the epoch.
        if epoch == connection.epoch() {
            return Ok(MissedRecords {
                records,
                is_complete: from == 0,
                epoch,
                rereads,
            });
        }
        known = 0;
    }
}

/// Returns the records after the sequence number `from`, up to the last one. A reader that stops earlier may miss a key:
/// its old record is already gone, and the new one comes later.
async fn records_after(
    connection: &HubConnection,
    which: CopiedKeys,
    from: u64,
) -> Result<Vec<Stored>, HubError> {
    let CopiedKeys {
        kind, keys, most, ..
    } = which;
    if from == 0 {
        return reads::read_current(connection, kind, keys, Range::LastOfEach, most).await;
    }
    let mut all = Vec::new();
    let mut next = from + 1;
    while let Some(message) = keys::next(connection, kind, keys, next).await? {
        next = message.sequence + 1;
        all.push(message);
        if all.len() == SINGLE_READS_MAX {
            let range = Range::From(next);
            all.append(&mut reads::read_current(connection, kind, keys, range, most).await?);
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_reads_because_of_other_programs_have_a_pause() {
        let (mut rereads, began) = (Rereads::default(), Instant::now());
        assert!(!rereads.is_due(began));
        rereads.is_wanted = true;
        assert!(rereads.is_due(began));
        rereads.finish(began);
        assert!(!rereads.is_due(began + REREAD_PAUSE));
        rereads.is_wanted = true;
        assert!(!rereads.is_due(began + REREAD_PAUSE / 2));
        assert!(rereads.is_due(began + REREAD_PAUSE));
    }
}
