//! The view model of MCP servers: the state of each, and the log of the one whose log the user has opened last.

use crate::domain::mcp::ServerStatus;

/// Maximum number of servers that are shown.
const SERVERS_MAX: usize = 200;

/// The MCP servers, sorted by name.
#[derive(Debug, Default)]
pub struct ServerBook {
    all: Vec<ServerStatus>,
    /// The name of a server and the end of its log.
    log: Option<(String, String)>,
}

impl ServerBook {
    pub fn changed(&mut self, servers: &[ServerStatus]) {
        self.all = servers.iter().take(SERVERS_MAX).cloned().collect();
    }

    /// Replaces the log. The crew has limited its size.
    pub fn log(&mut self, server: &str, text: &str) {
        self.log = Some((server.into(), text.into()));
    }

    pub fn all(&self) -> &[ServerStatus] {
        &self.all
    }

    /// Returns the log of `server`; `None` if it is not the log that was opened last.
    pub fn log_of(&self, server: &str) -> Option<&str> {
        let (name, text) = self.log.as_ref()?;
        (name == server).then_some(text.as_str())
    }
}
