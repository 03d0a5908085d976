//! The view model of MCP servers: the state and the offers of each server, and the log of the server that the user has
//! opened last.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::mcp::{ServerState, ServerStatus};
use crate::domain::server_offers::ServerOffers;
use crate::protocol::Command;

/// Maximum number of MCP servers that are shown. Further servers are left out.
const SERVERS_MAX: usize = 200;

/// The MCP servers, sorted by name.
#[derive(Debug, Default)]
pub struct ServerBook {
    all: Vec<ServerStatus>,
    /// The name of the server whose log the user has opened last, and the last part of that log; `None` until the user
    /// opens a log.
    log: Option<(String, String)>,
    /// What each server offers, by server name.
    offers: BTreeMap<String, ServerOffers>,
    /// The servers for which a start was requested, because the user has typed their names after `@` or `/`. `None`
    /// until offers are requested for the first time.
    asked: Option<BTreeSet<String>>,
}

impl ServerBook {
    pub fn replace_all(&mut self, servers: &[ServerStatus]) {
        self.all = servers.iter().take(SERVERS_MAX).cloned().collect();
    }

    /// Stores the number of calls of each server. `calls` contains the numbers by server name; servers that it does not
    /// contain keep their number.
    pub fn set_calls(&mut self, calls: &BTreeMap<String, u64>) {
        for server in &mut self.all {
            if let Some(calls) = calls.get(&server.name) {
                server.calls = *calls;
            }
        }
    }

    /// Stores `text` as the log of `server` and discards the log that was stored before. The crew limits the length of
    /// a log.
    pub fn log(&mut self, server: &str, text: &str) {
        self.log = Some((server.into(), text.into()));
    }

    /// Stores what a server offers. The crew limits the number of offers. Does nothing if the offers of `SERVERS_MAX`
    /// other servers are stored.
    pub fn offers(&mut self, offers: &ServerOffers) {
        if self.offers.len() < SERVERS_MAX || self.offers.contains_key(&offers.server) {
            self.offers.insert(offers.server.clone(), offers.clone());
        }
    }

    /// Returns what a server offers; `None` if that is unknown or the server is neither running nor starting.
    pub fn offers_of(&self, server: &ServerStatus) -> Option<&ServerOffers> {
        let is_up = matches!(
            server.state,
            ServerState::Ready | ServerState::Starting | ServerState::Restarting { .. }
        );
        self.offers.get(&server.name).filter(|_| is_up)
    }

    /// Returns the server whose name is in `typed` before the colon, regardless of case; `None` if there is no colon or
    /// no such server.
    pub fn find_by_typed_name(&self, typed: &str) -> Option<&ServerStatus> {
        let (name, _) = typed.split_once(':')?;
        let exact = self.all.iter().find(|server| server.name == name);
        let mut all = self.all.iter();
        exact.or_else(|| all.find(|server| server.name.eq_ignore_ascii_case(name)))
    }

    /// Returns the command that asks the crew what the servers offer. The command also starts a server if `typed`, the
    /// text after `@` or `/`, begins with the server's name and a colon, and the server was not started yet.
    ///
    /// Returns `None` if there are no servers. Once the crew was asked, also returns `None` if no server is to be
    /// started.
    pub fn ask(&mut self, typed: &str) -> Option<Command> {
        if self.all.is_empty() {
            return None;
        }
        let can_start = |server: &&ServerStatus| {
            matches!(
                server.state,
                ServerState::Idle | ServerState::WaitsForApproval
            )
        };
        let named = self
            .find_by_typed_name(typed)
            .filter(can_start)
            .map(|s| s.name.clone());
        let is_first = self.asked.is_none();
        let asked = self.asked.get_or_insert_default();
        let start = named.filter(|name| asked.insert(name.clone()));
        (is_first || start.is_some()).then_some(Command::ListOffers { start })
    }

    pub fn all(&self) -> &[ServerStatus] {
        &self.all
    }

    /// Returns the log of `server`; `None` if the user has opened the log of another server since, or no log at all.
    pub fn log_of(&self, server: &str) -> Option<&str> {
        let (name, text) = self.log.as_ref()?;
        (name == server).then_some(text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::mcp::ServerSource;

    #[test]
    fn servers_are_asked_once_and_started_when_they_are_named() {
        let mut book = ServerBook::default();
        assert_eq!(book.ask(""), None, "there are no servers");
        let server = |name: &str, state| ServerStatus {
            name: name.into(),
            source: ServerSource::User,
            role: None,
            state,
            target: String::new(),
            tools: 0,
            calls: 0,
            last_error: String::new(),
        };
        book.replace_all(&[
            server("git", ServerState::Idle),
            server("web", ServerState::Ready),
        ]);
        let asks = |start: Option<&str>| {
            let start = start.map(String::from);
            Some(Command::ListOffers { start })
        };
        assert_eq!(book.ask("g"), asks(None));
        assert_eq!(book.ask("gi"), None);
        assert_eq!(book.ask("Git:"), asks(Some("git")));
        assert_eq!((book.ask("git:r"), book.ask("web:")), (None, None));
        let offers = ServerOffers {
            server: "web".into(),
            ..ServerOffers::default()
        };
        book.offers(&offers);
        assert!(book.offers_of(&book.all()[1]).is_some());
        book.replace_all(&[server("web", ServerState::Disabled)]);
        assert!(book.offers_of(&book.all()[0]).is_none());
    }
}
