//! The signals that end the dashboard. Listened to from its first moment to its last: a new start takes the listeners
//! over, so that one that comes in between is not lost.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The listeners.
pub struct Signals {
    terminate: Signal,
    /// Keys come as keys while the screen is up. A Ctrl+c too many, when it is gone and the crew ends, must not
    /// end the program before the books are closed.
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Begins to listen; from now on none of them ends the program by itself.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them. May be dropped and called again at any point.
    pub async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }

    /// Waits for one that no key of the terminal sends: another program has the terminal.
    pub async fn sent_by_others(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
