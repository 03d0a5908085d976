//! The shared state of a crew on a hub: a NATS server with JetStream, or a cluster of them. See `docs/hub.md`.
//!
//! Without a use, no thread and no connection exists. Every method blocks until the hub has answered.

mod board;
mod boot_time;
mod catch_up;
mod connect_rules;
mod connection;
mod error;
mod event_numbers;
mod events;
mod host_records;
mod host_watch;
mod hosts;
mod ignored_records;
mod import;
mod keys;
mod lease;
mod lease_holder;
mod mail;
mod mail_records;
mod outage;
mod position_check;
mod problems;
mod reader;
mod reads;
mod request_records;
mod requests;
mod retry;
mod roster;
mod sent_once;
mod settings;
mod signature;
mod stored;
mod stream_end;
mod streams;
mod task_keys;
mod task_records;
mod team_records;
#[cfg(test)]
mod test_server;
mod turn_failure;
mod unsigned;
mod values;
mod watch;

use std::path::Path;
use std::sync::Arc;

use super::{Board, BoardStore, Mailbox, Requests, Roster, Stores};
pub use connection::Hub;
pub use error::HubError;
pub use settings::{HubAddress, HubLogin, HubSettings, HubStorage};
pub use signature::HubSecret;
pub use unsigned::UnsignedReports;

impl Hub {
    /// Returns what holds the tasks on this hub, below the rules of the board.
    pub fn board_store(&self) -> Arc<dyn BoardStore> {
        Arc::new(board::HubBoard::new(self.clone()))
    }

    /// Returns the shared state on this hub. `root` is the project whose logs tell what a killed reader of an inbox has
    /// received. Does not connect yet.
    pub fn stores(&self, root: &Path) -> Stores {
        let hub = || self.clone();
        Stores {
            board: Board::with_store(self.board_store()),
            mailbox: Mailbox::with_store(Arc::new(reader::HubMailbox::new(hub(), root))),
            requests: Requests::with_store(Arc::new(requests::HubRequests::new(hub()))),
            roster: Roster::with_store(Arc::new(roster::HubRoster::new(hub()))),
            changes: Arc::new(watch::HubWatch(hub())),
            hosts: Some(Arc::new(hosts::HubHosts(hub()))),
        }
    }
}
