//! Reports changes of the hosts on a hub. A host that is lost is noticed by the mark that the server leaves in place of its
//! expired lease. The messages of the hosts arrive by themselves, so the hub is read only at the start, after an
//! interruption, and from time to time.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::host_store::HostReport;
use super::connection::{Hub, HubConnection};
use super::error::HubError;
use super::host_records::{self, HOST_KEYS, HostMirror};
use super::stored::{self, Stored};
use super::streams::StreamKind;
use super::watch::{self, StreamChange, WatchedKeys};
use crate::domain::host::{HOSTS_MAX, HostPresence, HostState};

/// Pause between two looks at the messages that have arrived while a host is present. The hub is asked only if a lease is
/// overdue: a short interruption may have hidden the mark of its end.
const CHECK: Duration = Duration::from_secs(5);
/// Time after which a lease that was not renewed is overdue, in addition to its life.
const OVERDUE: Duration = Duration::from_secs(2);
/// Pause between two reads of all hosts.
const READ_AGAIN: Duration = Duration::from_secs(30);
/// Pause between two reports of which the later one only says that hosts have renewed their leases.
const SIGNS: Duration = Duration::from_secs(10);
/// Minimum pause between two reports. Changes within it are reported together.
const GATHER: Duration = Duration::from_millis(250);
/// Maximum number of messages that wait. With more, all hosts are read instead.
const WAITING_MAX: usize = 4 * HOSTS_MAX;

/// Stops the watch when it is dropped.
struct RunningHostWatch {
    tasks: Vec<AbortHandle>,
    is_stopped: Arc<AtomicBool>,
}

impl Drop for RunningHostWatch {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // The tasks own what wakes the thread, so the thread ends too.
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// The messages that have arrived and are not yet in the mirror.
#[derive(Default)]
struct ArrivedMessages {
    /// The newest message of each key, by the index of its stream.
    newest: BTreeMap<(usize, String), (StreamKind, Stored)>,
    /// Whether messages may have been missed.
    is_incomplete: bool,
}

impl ArrivedMessages {
    fn add(&mut self, kind: StreamKind, stored: Stored) {
        if self.newest.len() >= WAITING_MAX {
            self.newest.clear();
            self.is_incomplete = true;
        }
        let key = (kind.index(), stored.key.clone());
        self.newest.insert(key, (kind, stored));
    }

    /// Records that messages may have been missed. The stream may have been created again, with lower numbers.
    fn miss(&mut self, kind: StreamKind) {
        self.newest.retain(|(index, _), _| *index != kind.index());
        self.is_incomplete = true;
    }
}

fn lock(arrived: &Mutex<ArrivedMessages>) -> MutexGuard<'_, ArrivedMessages> {
    arrived.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `report` from a separate thread with all hosts, at once and after each change, until the returned value is
/// dropped. Renewals of leases are reported together, every 10 seconds.
///
/// # Errors
/// When the hub does not answer, or the thread cannot be started.
pub(super) fn start(hub: &Hub, report: HostReport) -> Result<Box<dyn Send>, StoreError> {
    // One waiting signal is enough: the thread takes all messages.
    let (wake, woken) = mpsc::sync_channel(1);
    let arrived = Arc::<Mutex<ArrivedMessages>>::default();
    let mut running = RunningHostWatch {
        tasks: Vec::new(),
        is_stopped: Arc::default(),
    };
    for kind in [StreamKind::State, StreamKind::Leases] {
        let first = watch::next_sequence(hub, kind)?;
        let (wake, arrived) = (wake.clone(), Arc::clone(&arrived));
        let following = hub.spawn(move |connection| {
            let reader = Arc::clone(&connection);
            let on_change = move |change: StreamChange<'_>| {
                let is_urgent = match change {
                    StreamChange::Message(message) => take(&reader, kind, message, &arrived),
                    StreamChange::Unknown => {
                        lock(&arrived).miss(kind);
                        true
                    }
                };
                if is_urgent {
                    // If a signal is waiting already, this one is not needed.
                    let _ = wake.try_send(());
                }
            };
            let keys = WatchedKeys {
                keys: HOST_KEYS,
                is_headers_only: false,
            };
            watch::follow(connection, kind, keys, first, on_change)
        })?;
        running.tasks.push(following);
    }
    let (hub, is_stopped) = (hub.clone(), Arc::clone(&running.is_stopped));
    std::thread::Builder::new()
        .name("hosts".into())
        .spawn(move || report_changes(&hub, &arrived, &woken, &is_stopped, &report))?;
    Ok(Box::new(running))
}

/// Adds a message to those that have arrived. Returns whether it can be a change that is to be reported at once. The
/// renewals of leases are none, and a new holder stores its record next.
fn take(
    connection: &HubConnection,
    kind: StreamKind,
    message: &jetstream::Message,
    arrived: &Mutex<ArrivedMessages>,
) -> bool {
    let Ok(sequence) = message.info().map(|info| info.stream_sequence) else {
        lock(arrived).miss(kind);
        return true;
    };
    let stored = stored::from_consumer(connection, kind, message, sequence);
    let is_urgent = kind != StreamKind::Leases || stored.payload.is_empty();
    lock(arrived).add(kind, stored);
    is_urgent
}

/// The hosts as the watch knows them.
struct WatchedHosts {
    mirror: HostMirror,
    /// When all hosts are read again.
    next_read: Instant,
    /// The last report, and when it was made.
    reported: Option<(Vec<HostState>, Instant)>,
}

impl WatchedHosts {
    /// Adds the messages that have arrived. Reads all hosts if messages may have been missed, or after some time.
    fn update(&mut self, hub: &Hub, arrived: &Mutex<ArrivedMessages>) -> Result<(), HubError> {
        let is_incomplete = mem::take(&mut lock(arrived).is_incomplete);
        let now = Instant::now();
        let is_overdue = self.mirror.is_overdue(hub.lease_life() + OVERDUE);
        if is_incomplete || is_overdue || self.next_read <= now {
            // Until the hub has answered.
            self.next_read = now;
            let read =
                hub.run(|connection| async move { host_records::read_all(&connection).await })?;
            self.mirror.replace(read);
            self.next_read = Instant::now() + READ_AGAIN;
        }
        // Older ones than those that were read have no effect.
        let newest = mem::take(&mut lock(arrived).newest);
        for (kind, stored) in newest.into_values() {
            self.mirror.apply(kind, &stored);
        }
        if self.mirror.has_unconfirmed() {
            let mut mirror = self.mirror.clone();
            self.mirror = hub.run(move |connection| async move {
                host_records::confirm_lost(&connection, &mut mirror).await?;
                Ok(mirror)
            })?;
        }
        Ok(())
    }

    /// Returns the hosts if they are to be reported at `now`.
    fn next_report(&mut self, now: Instant) -> Option<Vec<HostState>> {
        let hosts = self.mirror.states();
        if let Some((last, at)) = &self.reported {
            let is_due = *last != hosts && now.saturating_duration_since(*at) >= SIGNS;
            if !is_due && !has_changed(last, &hosts) {
                return None;
            }
        }
        self.reported = Some((hosts.clone(), now));
        Some(hosts)
    }

    /// Returns whether a host can be lost.
    fn has_present(&self) -> bool {
        let mut hosts = self.reported.iter().flat_map(|(hosts, _)| hosts);
        hosts.any(|host| host.presence == HostPresence::Present)
    }
}

/// Returns whether hosts differ in more than the time of the last sign of them.
fn has_changed(before: &[HostState], now: &[HostState]) -> bool {
    let is_same = |(before, now): (&HostState, &HostState)| {
        let before = HostState {
            seen_at: now.seen_at,
            ..before.clone()
        };
        before == *now
    };
    before.len() != now.len() || !before.iter().zip(now).all(is_same)
}

fn report_changes(
    hub: &Hub,
    arrived: &Mutex<ArrivedMessages>,
    woken: &Receiver<()>,
    is_stopped: &AtomicBool,
    report: &HostReport,
) {
    let mut watched = WatchedHosts {
        mirror: HostMirror::default(),
        next_read: Instant::now(),
        reported: None,
    };
    while !is_stopped.load(Ordering::Relaxed) {
        // Without an answer, the hosts are read again later.
        let is_current = watched.update(hub, arrived).is_ok();
        if is_current
            && let Some(hosts) = watched.next_report(Instant::now())
            && !is_stopped.load(Ordering::Relaxed)
        {
            report(hosts);
        }
        std::thread::sleep(GATHER);
        let signal = if watched.has_present() || !is_current {
            woken.recv_timeout(CHECK)
        } else {
            woken.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        if signal == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::host::{HostInfo, HostKind, HostName};
    use crate::domain::timestamp::Timestamp;
    use pretty_assertions::assert_eq;

    fn record(sequence: u64, slots: u16) -> Stored {
        let state = HostState {
            info: HostInfo {
                slots,
                ..HostInfo::new(HostName::parse("gpu").unwrap(), HostKind::Worker)
            },
            session: "s1".into(),
            presence: HostPresence::Left,
            seen_at: Timestamp::default(),
        };
        Stored {
            key: "gpu".into(),
            sequence,
            nanoseconds: i128::from(sequence) * 1_000_000_000,
            payload: serde_json::to_vec(&state).unwrap(),
            id: String::new(),
            is_unsigned: false,
        }
    }

    #[test]
    fn signs_of_hosts_are_reported_together() {
        let now = Instant::now();
        let mut watched = WatchedHosts {
            mirror: HostMirror::default(),
            next_read: now,
            reported: None,
        };
        assert_eq!(watched.next_report(now), Some(Vec::new()));
        assert_eq!(watched.next_report(now + SIGNS), None);
        let mut report = |sequence: u64, slots: u16, after: Duration| {
            let stored = record(sequence, slots);
            watched.mirror.apply(StreamKind::State, &stored);
            watched
                .next_report(now + after)
                .map(|hosts| hosts[0].seen_at)
        };
        let second = Duration::from_secs(1);
        assert_eq!(report(1, 2, second), Some(Timestamp(1.0)));
        assert_eq!(report(2, 2, second * 2), None);
        assert_eq!(report(3, 4, second * 2), Some(Timestamp(3.0)));
        assert_eq!(report(4, 4, second * 3), None);
        assert_eq!(report(4, 4, second * 2 + SIGNS), Some(Timestamp(4.0)));
    }

    #[test]
    fn waiting_messages_are_bounded_and_end_with_their_stream() {
        let mut arrived = ArrivedMessages::default();
        arrived.add(StreamKind::State, record(1, 2));
        arrived.add(StreamKind::State, record(2, 2));
        arrived.add(StreamKind::Leases, record(1, 2));
        assert!(arrived.newest.len() == 2 && !arrived.is_incomplete);
        arrived.miss(StreamKind::State);
        assert!(arrived.newest.len() == 1 && arrived.is_incomplete);
        arrived.is_incomplete = false;
        for number in 0..=WAITING_MAX {
            let key = format!("host-{number}");
            arrived.add(
                StreamKind::State,
                Stored {
                    key,
                    ..record(1, 2)
                },
            );
        }
        assert!(arrived.newest.len() <= WAITING_MAX && arrived.is_incomplete);
    }
}
