//! Reports changes of the hosts on a hub. A host that is lost is noticed by the mark that the server leaves in place of its
//! expired lease.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::task::AbortHandle;

use super::super::StoreError;
use super::super::host_store::HostReport;
use super::connection::Hub;
use super::host_records::{self, HOST_KEYS};
use super::streams::StreamKind;
use super::watch::{self, StreamChange};
use crate::domain::host::{HostPresence, HostState};

/// Pause between two reads while a host is present. A mark exists for a second only, so a short interruption may hide it.
const CHECK: Duration = Duration::from_secs(5);
/// Minimum pause between two reads. Changes within it are reported together.
const GATHER: Duration = Duration::from_millis(100);

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

/// Calls `report` from a separate thread with all hosts, at once and after each change, until the returned value is
/// dropped.
///
/// # Errors
/// When the hub does not answer, or the thread cannot be started.
pub(super) fn start(hub: &Hub, report: HostReport) -> Result<Box<dyn Send>, StoreError> {
    // One waiting signal is enough: the thread reads everything.
    let (wake, woken) = mpsc::sync_channel(1);
    let mut running = RunningHostWatch {
        tasks: Vec::new(),
        is_stopped: Arc::default(),
    };
    for kind in [StreamKind::State, StreamKind::Leases] {
        let first = watch::next_sequence(hub, kind)?;
        let wake = wake.clone();
        let on_change = move |change: StreamChange<'_>| {
            if is_relevant(kind, change) {
                // If a signal is waiting already, this one is not needed.
                let _ = wake.try_send(());
            }
        };
        let following =
            hub.spawn(move |link| watch::follow(link, kind, HOST_KEYS, first, on_change))?;
        running.tasks.push(following);
    }
    let (hub, is_stopped) = (hub.clone(), Arc::clone(&running.is_stopped));
    std::thread::Builder::new()
        .name("hosts".into())
        .spawn(move || report_changes(&hub, &woken, &is_stopped, &report))?;
    Ok(Box::new(running))
}

/// Returns whether a change can be one of the hosts. The renewals of leases are none.
fn is_relevant(kind: StreamKind, change: StreamChange<'_>) -> bool {
    match change {
        StreamChange::Message { is_empty, .. } => is_empty || kind != StreamKind::Leases,
        StreamChange::Unknown => true,
    }
}

fn report_changes(hub: &Hub, woken: &Receiver<()>, is_stopped: &AtomicBool, report: &HostReport) {
    let mut last: Option<Vec<HostState>> = None;
    while !is_stopped.load(Ordering::Relaxed) {
        let found = hub.run(|link| async move { host_records::read_all(&link).await });
        // Without an answer, the hosts are read again later.
        let mut is_check_needed = true;
        if let Ok(hosts) = found {
            let mut all = hosts.iter();
            is_check_needed = all.any(|host| host.presence == HostPresence::Present);
            if last.as_ref() != Some(&hosts) && !is_stopped.load(Ordering::Relaxed) {
                report(hosts.clone());
                last = Some(hosts);
            }
        }
        std::thread::sleep(GATHER);
        let signal = if is_check_needed {
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

    #[test]
    fn renewals_of_leases_cause_no_read() {
        let message = |is_empty| StreamChange::Message {
            subject: "crewdeck.main.leases.host.gpu",
            is_empty,
        };
        assert!(!is_relevant(StreamKind::Leases, message(false)));
        assert!(is_relevant(StreamKind::Leases, message(true)));
        assert!(is_relevant(StreamKind::State, message(false)));
        assert!(is_relevant(StreamKind::Leases, StreamChange::Unknown));
    }
}
