//! The view model of MCP servers: the state of each, what they offer, and the log of the one whose log the user has
//! opened last.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::mcp::{ServerState, ServerStatus};
use crate::domain::server_offers::ServerOffers;
use crate::protocol::Command;

/// Maximum number of servers that are shown.
const SERVERS_MAX: usize = 200;

/// The MCP servers, sorted by name.
#[derive(Debug, Default)]
pub struct ServerBook {
    all: Vec<ServerStatus>,
    /// The name of a server and the end of its log.
    log: Option<(String, String)>,
    /// What the servers offer, by the name of the server.
    offers: BTreeMap<String, ServerOffers>,
    /// The servers that the user has begun to name, and so started. `None` before the user has asked for any offers.
    asked: Option<BTreeSet<String>>,
}

impl ServerBook {
    pub fn changed(&mut self, servers: &[ServerStatus]) {
        self.all = servers.iter().take(SERVERS_MAX).cloned().collect();
    }

    /// Replaces the numbers of calls.
    pub fn called(&mut self, calls: &BTreeMap<String, u64>) {
        for server in &mut self.all {
            if let Some(calls) = calls.get(&server.name) {
                server.calls = *calls;
            }
        }
    }

    /// Replaces the log. The crew has limited its size.
    pub fn log(&mut self, server: &str, text: &str) {
        self.log = Some((server.into(), text.into()));
    }

    /// Replaces what a server offers. Its sender has bounded it.
    pub fn offers(&mut self, offers: &ServerOffers) {
        if self.offers.len() < SERVERS_MAX || self.offers.contains_key(&offers.server) {
            self.offers.insert(offers.server.clone(), offers.clone());
        }
    }

    /// Returns what a server offers; `None` if it was not listed, or is not running now.
    pub fn offers_of(&self, server: &ServerStatus) -> Option<&ServerOffers> {
        let is_up = matches!(
            server.state,
            ServerState::Ready | ServerState::Starting | ServerState::Restarting { .. }
        );
        self.offers.get(&server.name).filter(|_| is_up)
    }

    /// Returns the server whose name begins `typed`, before a colon, regardless of case.
    pub fn named(&self, typed: &str) -> Option<&ServerStatus> {
        let (name, _) = typed.split_once(':')?;
        let exact = self.all.iter().find(|server| server.name == name);
        let mut all = self.all.iter();
        exact.or_else(|| all.find(|server| server.name.eq_ignore_ascii_case(name)))
    }

    /// Returns the command that asks the crew what servers offer, because the user types `typed` after `@` or `/`, and that
    /// starts the server that `typed` names. `None` if nothing is new.
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
        let named = self.named(typed).filter(can_start).map(|s| s.name.clone());
        let is_first = self.asked.is_none();
        let asked = self.asked.get_or_insert_default();
        let start = named.filter(|name| asked.insert(name.clone()));
        (is_first || start.is_some()).then_some(Command::ListOffers { start })
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
        book.changed(&[
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
        book.changed(&[server("web", ServerState::Disabled)]);
        assert!(book.offers_of(&book.all()[0]).is_none());
    }
}
