//! The registered agents and the counters that the agent socket and its connections share.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard};

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::bad_tokens::BadTokens;
use crate::agent::external_tools::ToolCalls;
use crate::crew::context::lock;
use crate::domain::ids::Name;

/// Maximum number of connections that have not sent a valid token yet.
pub const STRANGERS_MAX: usize = 16;
/// Maximum number of connections of one agent. A further connection ends the oldest one: external agents keep the MCP
/// servers of closed sessions running, so the oldest connection belongs to a closed session.
pub const CONNECTIONS_MAX: usize = 8;

/// The registered agents, limits and counters that the agent socket and all its connections share.
pub struct SocketShared {
    state: Mutex<SocketState>,
    pub bad_tokens: Mutex<BadTokens>,
    pub strangers: Arc<Semaphore>,
    pub next_call: AtomicU64,
    pub connections: AtomicUsize,
}

#[derive(Default)]
pub struct SocketState {
    pub agents: Vec<Arc<RegisteredAgent>>,
    /// The socket; `None` while no agent is registered.
    pub listening: Option<Listening>,
    next_agent: u64,
}

pub struct Listening {
    pub socket: PathBuf,
    /// Cancelled when the last agent has left or the crew stops.
    pub closed: CancellationToken,
}

/// The open connections of an agent, oldest first. Each has a number and a [`CancellationToken`], which ends the
/// connection when it is cancelled.
#[derive(Default)]
struct AgentConnections {
    open: VecDeque<(u64, CancellationToken)>,
    next: u64,
}

/// An open connection of an agent. Counts towards [`CONNECTIONS_MAX`] until it is dropped.
pub struct CountedConnection<'a> {
    agent: &'a RegisteredAgent,
    number: u64,
    /// Cancelled when a newer connection takes the place of this one.
    pub replaced: CancellationToken,
}

impl Drop for CountedConnection<'_> {
    fn drop(&mut self) {
        let mut connections = lock(&self.agent.connections);
        connections
            .open
            .retain(|(number, _)| *number != self.number);
    }
}

impl RegisteredAgent {
    /// Registers a new connection of the agent. If the agent already has [`CONNECTIONS_MAX`] connections, ends the
    /// oldest one.
    pub fn connect(&self) -> CountedConnection<'_> {
        let replaced = CancellationToken::new();
        let mut connections = lock(&self.connections);
        if connections.open.len() >= CONNECTIONS_MAX
            && let Some((_, oldest)) = connections.open.pop_front()
        {
            oldest.cancel();
        }
        let number = connections.next;
        connections.next += 1;
        connections.open.push_back((number, replaced.clone()));
        CountedConnection {
            agent: self,
            number,
            replaced,
        }
    }
}

/// An agent that may use the socket.
pub struct RegisteredAgent {
    id: u64,
    pub name: Name,
    pub token: SecretString,
    pub calls: Arc<dyn ToolCalls>,
    connections: Mutex<AgentConnections>,
    /// Cancelled when the agent leaves.
    pub left: CancellationToken,
}

impl SocketShared {
    pub fn state(&self) -> MutexGuard<'_, SocketState> {
        lock(&self.state)
    }

    /// Removes an agent, ends its connections, and closes the socket if it was the last agent.
    pub fn unregister(&self, id: u64) {
        let mut state = self.state();
        let (left, rest) = std::mem::take(&mut state.agents)
            .into_iter()
            .partition(|agent| agent.id == id);
        state.agents = rest;
        let left: Vec<Arc<RegisteredAgent>> = left;
        for agent in left {
            agent.left.cancel();
        }
        if state.agents.is_empty()
            && let Some(listening) = state.listening.take()
        {
            listening.closed.cancel();
        }
    }

    /// Returns the agent to which `token` belongs; `None` if it belongs to no agent. The time that the search takes
    /// does not depend on how much of the token is right, nor on which agent has it.
    pub fn find(&self, token: &str) -> Option<Arc<RegisteredAgent>> {
        let state = self.state();
        let mut found = None;
        for agent in &state.agents {
            if is_same(agent.token.expose_secret(), token) {
                found = Some(Arc::clone(agent));
            }
        }
        found
    }
}

impl Default for SocketShared {
    fn default() -> SocketShared {
        SocketShared {
            state: Mutex::default(),
            bad_tokens: Mutex::default(),
            strangers: Arc::new(Semaphore::new(STRANGERS_MAX)),
            next_call: AtomicU64::new(1),
            connections: AtomicUsize::new(0),
        }
    }
}

impl SocketState {
    /// Adds an agent. Returns the agent's id, and `socket` unchanged.
    pub fn add(
        &mut self,
        name: Name,
        token: SecretString,
        calls: Arc<dyn ToolCalls>,
        socket: PathBuf,
    ) -> (u64, PathBuf) {
        self.next_agent += 1;
        let id = self.next_agent;
        self.agents.push(Arc::new(RegisteredAgent {
            id,
            name,
            token,
            calls,
            connections: Mutex::default(),
            left: CancellationToken::new(),
        }));
        (id, socket)
    }
}

/// Compares two tokens in a time that depends only on their lengths.
fn is_same(token: &str, other: &str) -> bool {
    let pairs = token.bytes().zip(other.bytes());
    let difference = pairs.fold(0, |all, (a, b)| std::hint::black_box(all | (a ^ b)));
    token.len() == other.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_tokens_are_the_same() {
        assert!(is_same("abc", "abc"));
        for other in ["", "ab", "abd", "Abc", "abcd"] {
            assert!(!is_same("abc", other), "{other}");
        }
    }
}
