//! An external agent: starts its program when a session is opened, and again after a crash.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{AgentConnection, EndHandle};
use super::session::{self, AcpSession};
use super::types::{AcpError, AcpOptions, SessionHandler, SessionSpec};
use crate::domain::external_agent::ExternalAgent;

/// Maximum delay before a restart.
const RESTART_DELAY_MAX: Duration = Duration::from_secs(30);
/// Minimum run time after which a program counts as stable. If it then crashes, the count of crashes in a row starts at
/// 1 again.
const STABLE_AFTER: Duration = Duration::from_secs(60);

/// Maximum number of sessions that are opened in one run of a program. Then a new program is started, because agents
/// keep resources of closed sessions, such as their MCP servers, and some agents cannot close a session at all.
const SESSIONS_MAX: usize = 16;

/// An external agent. Each of its programs runs until its last session is closed.
pub struct AcpAgent {
    agent: ExternalAgent,
    options: AcpOptions,
    /// The program that new sessions share. Locked while a program is started, so that sessions that are opened at the
    /// same time use the same program.
    shared: tokio::sync::Mutex<SharedProgram>,
    history: Mutex<ProgramHistory>,
    /// Cancelled by [`AcpAgent::shut_down`]. From then on, no session can be opened.
    shutdown: CancellationToken,
}

/// The program that several sessions use, and the number of sessions that were opened in it.
#[derive(Default)]
struct SharedProgram {
    connection: Weak<AgentConnection>,
    /// Number of sessions that were opened in the program, including failed attempts.
    sessions: usize,
}

impl SharedProgram {
    /// Returns the connection for another session; `None` if a program must be started for it.
    fn connection(&self) -> Option<Arc<AgentConnection>> {
        let running = self.connection.upgrade()?;
        let is_usable = running.is_alive() && !running.is_retired();
        (is_usable && self.sessions < SESSIONS_MAX).then_some(running)
    }
}

/// The programs of an agent that run or have crashed.
#[derive(Default)]
struct ProgramHistory {
    /// The programs that may still run, with the time of their start.
    programs: Vec<(EndHandle, Instant)>,
    /// Number of crashes in a row. A failed start counts as a crash.
    crashes: u32,
    last_crash: Option<Instant>,
}

impl AcpAgent {
    pub fn new(agent: ExternalAgent, options: AcpOptions) -> AcpAgent {
        AcpAgent {
            agent,
            options,
            shared: tokio::sync::Mutex::default(),
            history: Mutex::default(),
            shutdown: CancellationToken::new(),
        }
    }

    pub fn agent(&self) -> &ExternalAgent {
        &self.agent
    }

    fn lock(&self) -> MutexGuard<'_, ProgramHistory> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session. Starts a program if none runs, if the running one hangs or has opened `SESSIONS_MAX` sessions,
    /// or if each session of this agent needs its own program. After a crash, waits before the start. The wait doubles
    /// with each further crash in a row.
    ///
    /// # Errors
    /// Fails if the program does not start, demands a login, or does not open the session, and after
    /// [`AcpAgent::shut_down`]. If the agent cannot load the session `spec.load`, the error is
    /// [`AcpError::LoadFailed`]; the caller can then open a new session.
    pub async fn open(
        &self,
        spec: &SessionSpec,
        handler: Arc<dyn SessionHandler>,
    ) -> Result<AcpSession, AcpError> {
        let mut shared = self.shared.lock().await;
        let connection = match shared.connection() {
            Some(connection) => connection,
            None => {
                let started = tokio::select! {
                    biased;
                    () = self.shutdown.cancelled() => return Err(self.shut_down_error()),
                    started = self.start() => started?,
                };
                let connection = Arc::new(started);
                if self.agent.shares_process() {
                    // The earlier program, if one still runs, ends with its last session.
                    *shared = SharedProgram {
                        connection: Arc::downgrade(&connection),
                        sessions: 0,
                    };
                }
                connection
            }
        };
        shared.sessions += 1;
        drop(shared);
        let opened = session::open(Arc::clone(&connection), spec, handler).await;
        if let Err(AcpError::TimedOut { .. }) = &opened {
            // The program hangs. The next session gets another one.
            connection.retire();
        }
        opened
    }

    async fn start(&self) -> Result<AgentConnection, AcpError> {
        let wait_until = {
            let mut state = self.lock();
            state.count_crashes();
            state.restart_at(self.options.restart_delay)
        };
        if let Some(wait_until) = wait_until {
            tokio::time::sleep_until(wait_until).await;
        }
        let started = AgentConnection::start(&self.agent, &self.options).await;
        let mut state = self.lock();
        match &started {
            Ok(connection) => {
                let end = connection.end_handle().clone();
                state.programs.push((end, Instant::now()));
            }
            Err(_) => {
                state.crashes += 1;
                state.last_crash = Some(Instant::now());
            }
        }
        started
    }

    fn shut_down_error(&self) -> AcpError {
        AcpError::NotAvailable {
            agent: self.agent.name.clone(),
            why: "cannot be opened: crewdeck is shutting down".into(),
        }
    }

    /// Ends all programs of the agent, and waits until they have ended: at most [`AcpOptions::exit_timeout`] and about
    /// 1 s more. No session can be opened from then on.
    pub async fn shut_down(&self) {
        self.shutdown.cancel();
        // The lock is free when no start is under way any more. A start that was dropped ends its program.
        let shared = self.shared.lock().await;
        let programs = std::mem::take(&mut self.lock().programs);
        drop(shared);
        for (end, _) in &programs {
            end.stop();
        }
        for (end, _) in &programs {
            end.wait().await;
        }
    }
}

impl ProgramHistory {
    /// Removes the programs that have ended, and counts those that crashed.
    fn count_crashes(&mut self) {
        for (end, started) in std::mem::take(&mut self.programs) {
            match end.cause() {
                None => self.programs.push((end, started)),
                Some(cause) if cause.is_wanted => {}
                Some(cause) => {
                    let was_stable = cause.at.duration_since(started) >= STABLE_AFTER;
                    self.crashes = if was_stable { 1 } else { self.crashes + 1 };
                    self.last_crash = self.last_crash.max(Some(cause.at));
                }
            }
        }
    }

    /// Returns when the program may start again; `None` if it may start now.
    fn restart_at(&self, first_delay: Duration) -> Option<Instant> {
        let last = self.last_crash?;
        let doublings = self.crashes.saturating_sub(1).min(16);
        let delay = first_delay
            .saturating_mul(1 << doublings)
            .min(RESTART_DELAY_MAX);
        Some(last + delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_before_a_restart_doubles_up_to_a_limit() {
        let now = Instant::now();
        let after = |crashes| ProgramHistory {
            crashes,
            last_crash: Some(now),
            ..ProgramHistory::default()
        };
        let second = Duration::from_secs(1);
        let delay = |crashes| after(crashes).restart_at(second).unwrap() - now;
        assert_eq!(delay(1), second);
        assert_eq!(delay(3), 4 * second);
        assert_eq!(delay(u32::MAX), RESTART_DELAY_MAX);
        assert_eq!(ProgramHistory::default().restart_at(second), None);
    }
}
