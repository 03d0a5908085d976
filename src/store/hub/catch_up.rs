//! Completes the copies that a client has of the keys of a stream: reads only what was stored since the last time.

use std::time::{Duration, Instant};

use super::connection::HubConnection;
use super::error::HubError;
use super::keys::{self, ANSWER_WITHIN, Range, Stored};
use super::streams::StreamKind;

/// Maximum number of messages that are read one by one. More are faster with a consumer, which must be created first.
const SINGLE_READS_MAX: usize = 32;
/// Pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(50);

/// The keys of which a client has a copy.
#[derive(Debug, Clone, Copy)]
pub(super) struct CopiedKeys {
    pub kind: StreamKind,
    /// The keys, as a subject below that of the stream; may contain `*` and `>`.
    pub keys: &'static str,
    /// Maximum number of messages that are read at once.
    pub most: usize,
}

/// The records that a copy lacks.
pub(super) struct MissedRecords {
    pub records: Vec<Stored>,
    /// Whether these are all records, which replace the copy.
    pub is_complete: bool,
    /// The epoch of the connection in which they were read.
    pub epoch: u64,
}

/// Returns the records after the sequence number `from`, or all if the stream may have gone back since the epoch `known`.
pub(super) async fn missed(
    link: &HubConnection,
    which: CopiedKeys,
    from: u64,
    known: u64,
) -> Result<MissedRecords, HubError> {
    let (mut from, mut known) = (from, known);
    loop {
        let epoch = link.epoch();
        if known != epoch {
            from = 0;
        }
        let records = records_after(link, which, from).await?;
        // A record that is not signed may have replaced a signed one, whose content is then missing for other readers too.
        if from > 0 && records.iter().any(|record| record.is_unsigned) {
            known = 0;
            continue;
        }
        // A part of the records may come from before a change of the epoch.
        if epoch == link.epoch() {
            return Ok(MissedRecords {
                records,
                is_complete: from == 0,
                epoch,
            });
        }
        known = 0;
    }
}

/// Returns the records after the sequence number `from`, up to the last one. A reader that stops earlier may miss a key:
/// its old record is already gone, and the new one comes later.
async fn records_after(
    link: &HubConnection,
    which: CopiedKeys,
    from: u64,
) -> Result<Vec<Stored>, HubError> {
    let CopiedKeys { kind, keys, most } = which;
    if from == 0 {
        return keys::read_current(link, kind, keys, Range::LastOfEach, most).await;
    }
    let mut all = Vec::new();
    let mut next = from + 1;
    while let Some(message) = keys::next(link, kind, keys, next).await? {
        next = message.sequence + 1;
        all.push(message);
        if all.len() == SINGLE_READS_MAX {
            all.append(&mut keys::read_current(link, kind, keys, Range::From(next), most).await?);
            break;
        }
    }
    Ok(all)
}

/// Returns the sequence number of the last message of a stream. Everything up to it can be read afterwards.
pub(super) async fn last_sequence(link: &HubConnection, kind: StreamKind) -> Result<u64, HubError> {
    let began = Instant::now();
    loop {
        let stream = link.stream(kind).await?;
        let why = match stream.get_info().await {
            Ok(info) if info.created == stream.cached_info().created => {
                return Ok(info.state.last_sequence);
            }
            // The stream was deleted and created again, so that a copy of its keys is no longer valid.
            Ok(_) => {
                link.forget_stream(kind).await;
                "the stream was created again".to_string()
            }
            Err(error) => {
                if keys::is_gone(&error) {
                    link.forget_stream(kind).await;
                }
                error.to_string()
            }
        };
        if began.elapsed() >= ANSWER_WITHIN {
            return Err(link.no_answer(ANSWER_WITHIN, why));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
