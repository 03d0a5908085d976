//! Signals changes to the components that wait for them, and counts the crew's own work in progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// Signals changes within the crew, and counts the work that keeps it busy.
#[derive(Debug, Default)]
pub struct CrewSignals {
    /// Incremented when something on disk changes, so that idle agents check for work.
    files: watch::Sender<u64>,
    /// Incremented when the state of an agent or of the crew changes.
    activity: watch::Sender<u64>,
    /// The number of live [`BusyGuard`]s.
    busy: AtomicUsize,
}

impl CrewSignals {
    /// Wakes the idle agents, which then check for work, and the idle detector.
    pub fn files_changed(&self) {
        self.files.send_modify(|n| *n += 1);
        self.activity_changed();
    }

    /// Wakes the idle detector, so that it checks again whether the crew is idle.
    pub fn activity_changed(&self) {
        self.activity.send_modify(|n| *n += 1);
    }

    pub fn subscribe_files(&self) -> watch::Receiver<u64> {
        self.files.subscribe()
    }

    pub fn subscribe_activity(&self) -> watch::Receiver<u64> {
        self.activity.subscribe()
    }

    /// Marks the crew as busy until the returned guard is dropped. A busy crew does not count as idle.
    pub fn busy(self: &Arc<Self>) -> BusyGuard {
        self.busy.fetch_add(1, Ordering::SeqCst);
        BusyGuard(Arc::clone(self))
    }

    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }
}

/// A mark that the crew has work. While one exists, the crew does not count as idle.
pub struct BusyGuard(Arc<CrewSignals>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
        self.0.activity_changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crew_is_busy_until_the_last_guard_is_dropped() {
        let signals = Arc::new(CrewSignals::default());
        let mut activity = signals.subscribe_activity();
        let (first, second) = (signals.busy(), signals.busy());
        drop(first);
        assert!(signals.is_busy());
        drop(second);
        assert!(!signals.is_busy());
        assert!(activity.has_changed().unwrap());
        activity.mark_unchanged();
        let files = signals.subscribe_files();
        signals.files_changed();
        assert!(files.has_changed().unwrap() && activity.has_changed().unwrap());
    }
}
