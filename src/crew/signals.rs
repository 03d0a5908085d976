//! Signals changes to the components that wait for changes, and counts the pieces of work that keep the crew busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// Signals changes to the components that wait for changes, and records whether the crew is busy.
#[derive(Debug, Default)]
pub struct CrewSignals {
    /// Number of changes of the state files. An increase makes idle agents check for work.
    files: watch::Sender<u64>,
    /// Number of changes in the state of the crew or of an agent. An increase makes the idle detector check again.
    activity: watch::Sender<u64>,
    /// Number of [`BusyGuard`]s that exist.
    busy: AtomicUsize,
}

impl CrewSignals {
    /// Signals that state files have changed. Idle agents then check for work, and the idle detector checks again
    /// whether the crew is idle.
    pub fn files_changed(&self) {
        self.files.send_modify(|n| *n += 1);
        self.activity_changed();
    }

    /// Signals that the state of the crew or of an agent has changed. The idle detector then checks again whether the
    /// crew is idle.
    pub fn activity_changed(&self) {
        self.activity.send_modify(|n| *n += 1);
    }

    pub fn subscribe_files(&self) -> watch::Receiver<u64> {
        self.files.subscribe()
    }

    pub fn subscribe_activity(&self) -> watch::Receiver<u64> {
        self.activity.subscribe()
    }

    /// Makes the crew count as busy, and so not as idle, until the returned guard is dropped.
    pub fn busy(self: &Arc<Self>) -> BusyGuard {
        self.busy.fetch_add(1, Ordering::SeqCst);
        BusyGuard(Arc::clone(self))
    }

    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::SeqCst) > 0
    }
}

/// Keeps the crew from counting as idle as long as this value exists.
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
