//! Listens for the signals that end the dashboard. When the dashboard restarts, it takes over the listeners, so that no
//! signal is lost.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a received signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signalled {
    /// SIGINT, sent by Ctrl+c. While an external program uses the terminal, the signal is for that program and does not
    /// end crewdeck.
    Interrupt,
    /// SIGTERM or SIGHUP. crewdeck must end.
    End,
}

/// Listens for the signals that end the dashboard.
pub struct Signals {
    terminate: Signal,
    /// Receives SIGINT. While the dashboard is shown, Ctrl+c arrives as a key and sends no signal. During the shutdown,
    /// Ctrl+c sends SIGINT; because this listener receives it, the process does not end before all state is saved.
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Installs the handlers, which replace the default actions.
    ///
    /// # Errors
    /// Fails if a handler cannot be installed.
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal. No signal is lost if the future is dropped.
    pub async fn any(&mut self) -> Signalled {
        tokio::select! {
            _ = self.interrupt.recv() => Signalled::Interrupt,
            _ = self.terminate.recv() => Signalled::End,
            _ = self.hangup.recv() => Signalled::End,
        }
    }
}
