//! The agent socket, through which external agents call the crew's tools. The crew has the socket only while at least
//! one external agent is registered.

mod bad_tokens;
mod connection;
mod shared;
#[cfg(test)]
mod tests;

use std::os::unix::net::UnixListener as StdListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};
use tokio::net::UnixListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::external_tools::ToolCalls;
use crate::domain::ids::Name;
use crate::protocol::agent_socket::{SOCKET_VARIABLE, TOKEN_VARIABLE};
use crate::store::os_errors;
use crate::store::socket_folder::SocketFolder;
use shared::{Listening, SocketShared};

/// Number of random bytes in a token, before its encoding as text.
const TOKEN_BYTES: usize = 32;
/// Pause after a connection could not be accepted, for example because the process has too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// Access of one agent to the agent socket. Dropping it ends the agent's connections and cancels their calls.
pub struct AgentAccess {
    pub socket: PathBuf,
    token: SecretString,
    id: u64,
    shared: Arc<SocketShared>,
}

impl AgentAccess {
    /// Returns the environment variables with which `crewdeck mcp-serve` connects as the agent. The second variable
    /// contains the agent's secret token: it must not become visible in an argument, a file or a log.
    pub fn variables(&self) -> [(&'static str, String); 2] {
        [
            (SOCKET_VARIABLE, self.socket.to_string_lossy().into_owned()),
            (TOKEN_VARIABLE, self.token.expose_secret().into()),
        ]
    }
}

impl Drop for AgentAccess {
    fn drop(&mut self) {
        self.shared.unregister(self.id);
    }
}

/// The agent socket of a crew.
pub struct AgentSocket {
    shared: Arc<SocketShared>,
    /// The folder in which the socket's folder is created; `None` for a system folder for runtime or temporary files.
    base: Option<PathBuf>,
    /// Locked by [`AgentSocket::register`], so that concurrent registrations create only one socket.
    registering: tokio::sync::Mutex<()>,
    stop: CancellationToken,
    tracker: TaskTracker,
}

impl AgentSocket {
    /// Creates the component without creating the socket. Cancelling `stop` removes the socket and ends all
    /// connections. `tracker` tracks the tasks that accept and serve connections.
    pub fn new(stop: CancellationToken, tracker: TaskTracker) -> AgentSocket {
        AgentSocket {
            shared: Arc::default(),
            base: None,
            registering: tokio::sync::Mutex::default(),
            stop,
            tracker,
        }
    }

    /// Sets the folder in which the socket's folder is created, instead of a system folder.
    #[must_use]
    pub fn with_base(mut self, base: PathBuf) -> AgentSocket {
        self.base = Some(base);
        self
    }

    /// Gives `agent` access to the tools `calls`, and creates the socket if there is none. An agent that is registered
    /// twice gets two tokens.
    ///
    /// # Errors
    /// Fails with the reason if the socket cannot be created, no random token is available, or the crew has stopped.
    pub async fn register(
        &self,
        agent: Name,
        calls: Arc<dyn ToolCalls>,
    ) -> Result<AgentAccess, String> {
        let _registering = self.registering.lock().await;
        if self.stop.is_cancelled() {
            return Err("the crew has stopped".into());
        }
        let token = random_token()?;
        let open = {
            let mut state = self.shared.state();
            let open = state.listening.as_ref().map(|l| l.socket.clone());
            open.map(|socket| state.add(agent.clone(), token.clone(), calls.clone(), socket))
        };
        let (id, socket) = match open {
            Some(registered) => registered,
            None => {
                let (folder, listener) = self.create_folder().await?;
                let (socket, closed) = (folder.socket(), self.stop.child_token());
                let registered = {
                    let mut state = self.shared.state();
                    state.listening = Some(Listening {
                        socket: socket.clone(),
                        closed: closed.clone(),
                    });
                    state.add(agent, token.clone(), calls, socket)
                };
                let (shared, tracker) = (self.shared.clone(), self.tracker.clone());
                let stop = self.stop.clone();
                self.tracker.spawn(async move {
                    accept_all(&listener, &shared, &tracker, (&closed, &stop)).await;
                    drop(folder);
                });
                registered
            }
        };
        Ok(AgentAccess {
            socket,
            token,
            id,
            shared: self.shared.clone(),
        })
    }

    async fn create_folder(&self) -> Result<(SocketFolder, UnixListener), String> {
        let base = self.base.clone();
        let create = move || -> std::io::Result<(SocketFolder, StdListener)> {
            let created = match base {
                Some(base) => SocketFolder::create_in(&base),
                None => SocketFolder::create(),
            }?;
            created.1.set_nonblocking(true)?;
            Ok(created)
        };
        let fail = |why: String| format!("the socket for external agents cannot be created: {why}");
        let created = tokio::task::spawn_blocking(create).await;
        let created = created.map_err(|e| fail(e.to_string()))?;
        let (folder, listener) = created.map_err(|e| fail(os_errors::explain(&e)))?;
        let listener = UnixListener::from_std(listener).map_err(|e| fail(e.to_string()))?;
        Ok((folder, listener))
    }

    /// Returns whether the crew has a socket.
    pub fn is_open(&self) -> bool {
        self.shared.state().listening.is_some()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

/// Accepts connections until `closed` is cancelled. The connections are served until `stop` is cancelled.
async fn accept_all(
    listener: &UnixListener,
    shared: &Arc<SocketShared>,
    tracker: &TaskTracker,
    (closed, stop): (&CancellationToken, &CancellationToken),
) {
    loop {
        let accepted = tokio::select! {
            () = closed.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (shared, stop) = (Arc::clone(shared), stop.clone());
                tracker.spawn(async move {
                    shared.connections.fetch_add(1, Ordering::SeqCst);
                    connection::serve(stream, &shared, &stop).await;
                    shared.connections.fetch_sub(1, Ordering::SeqCst);
                });
            }
            Err(error) => {
                tracing::warn!("agent socket: a connection was not accepted: {error}");
                tokio::select! {
                    () = closed.cancelled() => return,
                    () = tokio::time::sleep(ACCEPT_AGAIN) => {}
                }
            }
        }
    }
}

fn random_token() -> Result<SecretString, String> {
    let mut bytes = [0; TOKEN_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "the system provides no random bytes for a token".to_string())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes).into())
}
