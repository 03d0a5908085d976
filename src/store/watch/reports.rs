//! Passes reports of changes on from a thread of their own, for sources other than files.

use std::sync::Arc;
use std::time::Duration;

use super::super::StoreError;
use super::dirty::Dirty;
use super::dirty_queue::DirtyQueue;

/// Time after which the thread checks for reports even if none has woken it.
const WAKE: Duration = Duration::from_secs(60);

/// A thread that passes reports on. While the receiver is busy, reports are merged. Dropping it stops the thread, but does
/// not wait for a report that is being made.
pub struct ReportThread {
    queue: Arc<DirtyQueue>,
}

/// Adds reports to the queue of a [`ReportThread`].
#[derive(Clone)]
pub struct Reports(Arc<DirtyQueue>);

impl ReportThread {
    /// Starts the thread, which calls `report`.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(report: impl Fn(Dirty) + Send + 'static) -> Result<ReportThread, StoreError> {
        let queue = Arc::<DirtyQueue>::default();
        let waiting = Arc::clone(&queue);
        std::thread::Builder::new()
            .name("reports".into())
            .spawn(move || {
                loop {
                    let mut pending = waiting.wait(WAKE, |pending| !pending.is_empty());
                    if pending.is_stopping {
                        return;
                    }
                    let reports = pending.take();
                    drop(pending);
                    reports.into_iter().for_each(&report);
                }
            })?;
        Ok(ReportThread { queue })
    }

    pub fn reports(&self) -> Reports {
        Reports(Arc::clone(&self.queue))
    }
}

impl Drop for ReportThread {
    fn drop(&mut self) {
        self.queue.update(|pending| pending.is_stopping = true);
    }
}

impl Reports {
    pub fn add(&self, dirty: Dirty) {
        self.0.update(|pending| pending.add(dirty));
    }
}
