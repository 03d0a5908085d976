//! The signals that end a worker.

use std::time::Duration;

use anyhow::Result;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::INTERRUPTED;

/// Maximum time for which a start goes on after a signal.
const START_WITHIN: Duration = Duration::from_secs(5);

/// The signals that end a worker: the first one lets it finish, the second one ends its teammates.
pub struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    /// Number of signals that were received.
    pub count: u32,
}

impl EndSignals {
    /// Installs the handlers, which replace the default actions of the signals until the process ends.
    ///
    /// # Errors
    /// When a handler cannot be installed.
    pub fn listen() -> Result<EndSignals> {
        Ok(EndSignals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            count: 0,
        })
    }

    /// Waits for the next signal and counts it. No signal is lost if the future is dropped.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
        self.count = self.count.saturating_add(1);
    }

    /// Waits until `count` signals were received.
    pub async fn until(&mut self, count: u32) {
        while self.count < count {
            self.next().await;
        }
    }

    /// Waits until a start that a signal has made unnecessary must end: until the second signal, or `START_WITHIN` after
    /// the first one.
    pub async fn give_up(&mut self) {
        self.until(1).await;
        let _ = tokio::time::timeout(START_WITHIN, self.until(2)).await;
    }

    /// Returns the exit code of the worker.
    pub fn exit_code(&self) -> u8 {
        if self.count > 1 { INTERRUPTED } else { 0 }
    }
}
