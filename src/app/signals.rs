//! Listens for the signals that end the dashboard and, on Linux, for the loss of its terminal. When the dashboard
//! restarts, it takes over the listeners, so that no signal is lost.

use std::io;
#[cfg(target_os = "linux")]
use std::io::IsTerminal;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(target_os = "linux")]
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a received signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signalled {
    /// SIGINT, sent by Ctrl+c. While an external program uses the terminal, the signal is for that program and does not
    /// end crewdeck.
    Interrupt,
    /// SIGTERM, SIGHUP or the loss of the terminal. crewdeck must end.
    End,
}

/// Listens for the signals that end the dashboard and, on Linux, for the loss of its terminal.
pub struct Signals {
    terminate: Signal,
    /// Receives SIGINT. While the dashboard is shown, Ctrl+c arrives as a key and sends no signal. During the shutdown,
    /// Ctrl+c sends SIGINT; because this listener receives it, the process does not end before all state is saved.
    interrupt: Signal,
    hangup: Signal,
    terminal: Terminal,
}

impl Signals {
    /// Installs handlers for SIGTERM, SIGINT and SIGHUP, which replace the default actions of these signals.
    ///
    /// # Errors
    /// Fails if a handler cannot be installed.
    pub fn listen() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            terminal: Terminal::of_stdin(),
        })
    }

    /// Waits for the next signal. No signal is lost if the future is dropped.
    pub async fn any(&mut self) -> Signalled {
        tokio::select! {
            _ = self.interrupt.recv() => Signalled::Interrupt,
            _ = self.terminate.recv() => Signalled::End,
            _ = self.hangup.recv() => Signalled::End,
            () = self.terminal.lost() => Signalled::End,
        }
    }
}

/// Reports the loss of the terminal. This is needed if crewdeck was started in a session that has no controlling
/// terminal: the kernel then sends no SIGHUP, and the key reader would read the end of input forever. Watches nothing
/// on systems other than Linux.
struct Terminal(Option<AsyncFd<OwnedFd>>);

impl Terminal {
    /// Watches standard input. If standard input is not a terminal, watches nothing, because its end is then not the
    /// loss of a terminal.
    fn of_stdin() -> Terminal {
        Terminal::of(io::stdin().as_fd())
    }

    #[cfg_attr(not(target_os = "linux"), allow(unused_variables))]
    fn of(input: BorrowedFd<'_>) -> Terminal {
        #[cfg(target_os = "linux")]
        if input.is_terminal()
            && let Ok(terminal) = input.try_clone_to_owned()
        {
            // A watch for urgent data never wakes up for keys, but always for a hang-up. The function is deprecated for
            // types whose descriptor can change or close early. `OwnedFd` is none of them, and the new function is
            // `unsafe`.
            #[allow(deprecated)]
            return Terminal(AsyncFd::with_interest(terminal, Interest::PRIORITY).ok());
        }
        Terminal(None)
    }

    async fn lost(&self) {
        #[cfg(target_os = "linux")]
        if let Some(terminal) = &self.0 {
            while let Ok(mut guard) = terminal.ready(Interest::PRIORITY).await {
                if guard.ready().is_read_closed() {
                    return;
                }
                guard.clear_ready();
            }
        }
        std::future::pending::<()>().await;
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn closed_pipe_is_not_a_lost_terminal() {
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        assert!(Terminal::of(reader.as_fd()).0.is_none());
    }
}
