//! Publishes the events of the MCP servers. Changes are collected and published at most once per `PUBLISH_EVERY`, so
//! that a server that constantly reports changes does not delay the events of others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::context::{CrewContext, lock};
use super::offers::OfferLists;
use crate::domain::mcp::ServerStatus;
use crate::domain::text::{escape_control_chars, one_line};
use crate::mcp::{PoolEvent, ServerPool};
use crate::protocol::event::{CrewEvent, EventKind, NoticeLevel};

/// Maximum number of notices that wait to be published. Further notices are dropped.
const NOTICES_MAX: usize = 256;
/// Minimum time between two publications of collected changes.
const PUBLISH_EVERY: Duration = Duration::from_millis(100);

/// The events of the MCP servers that are not published yet.
#[derive(Default)]
pub struct ServerEvents {
    pending: Mutex<Pending>,
    wake: Notify,
    /// The states of the servers that were published last. The numbers of calls in them are 0, so that a call alone
    /// does not count as a change of state.
    published: Mutex<Vec<ServerStatus>>,
    /// The generation of the catalog of all servers' tools: a number that increases with each change of the tools.
    tools: watch::Sender<u64>,
}

#[derive(Default)]
struct Pending {
    /// Whether a server's state, its tools or its number of calls has changed.
    has_changed: bool,
    /// The servers whose resources and prompts must be listed again, because these or the state of the server have
    /// changed.
    to_list: BTreeSet<String>,
    /// The notices, each as the name of a server and a text about this server.
    notices: Vec<(String, String)>,
}

impl ServerEvents {
    /// Collects an event of the server pool, to be published soon. Never blocks.
    pub fn add(&self, event: PoolEvent) {
        let mut pending = lock(&self.pending);
        match event {
            PoolEvent::Notice { server, text } => {
                if pending.notices.len() < NOTICES_MAX {
                    pending.notices.push((server, text));
                }
            }
            PoolEvent::StateChanged { server } => {
                pending.has_changed = true;
                pending.to_list.insert(server);
            }
            PoolEvent::ToolsChanged { generation } => {
                pending.has_changed = true;
                self.tools.send_replace(generation);
            }
            PoolEvent::ListsChanged { server } => {
                pending.to_list.insert(server);
            }
        }
        self.wake.notify_one();
    }

    /// Returns a receiver that is marked as changed whenever a server's tools have changed.
    pub fn tool_changes(&self) -> watch::Receiver<u64> {
        self.tools.subscribe()
    }

    /// Records that a server was called, so that the numbers of calls are published soon.
    pub fn add_call(&self) {
        lock(&self.pending).has_changed = true;
        self.wake.notify_one();
    }

    /// Publishes collected events until the crew stops. Then ends all servers.
    pub async fn run(
        self: Arc<Self>,
        context: Arc<CrewContext>,
        pool: ServerPool,
        offers: Arc<OfferLists>,
    ) {
        let work = async {
            loop {
                self.wake.notified().await;
                let pending = std::mem::take(&mut *lock(&self.pending));
                self.publish_pending(&context, &pool, &offers, pending)
                    .await;
                tokio::time::sleep(PUBLISH_EVERY).await;
            }
        };
        tokio::select! {
            () = context.stop.cancelled() => {}
            () = work => {}
        }
        pool.shutdown().await;
    }

    async fn publish_pending(
        &self,
        context: &CrewContext,
        pool: &ServerPool,
        offers: &OfferLists,
        pending: Pending,
    ) {
        for (server, text) in pending.notices {
            // Notices about a missing approval already begin with the name of the server.
            let text = if text.starts_with("Server ") {
                text
            } else {
                format!("MCP server {server}: {text}")
            };
            let text = one_line(&escape_control_chars(&text));
            context.notice(NoticeLevel::Warn, text).await;
        }
        if pending.has_changed {
            let all = pool.status();
            if without_calls(&all) == *lock(&self.published) {
                let calls: BTreeMap<String, u64> =
                    all.into_iter().map(|s| (s.name, s.calls)).collect();
                let event = CrewEvent::ServersCalled { calls };
                context.event_sender.offer(EventKind::Crew(event));
            } else {
                self.publish(context, pool).await;
            }
        }
        for server in pending.to_list {
            offers.refresh_server(pool, &server);
        }
    }

    /// Publishes the states of all servers.
    pub async fn publish(&self, context: &CrewContext, pool: &ServerPool) {
        let servers = pool.status();
        *lock(&self.published) = without_calls(&servers);
        let event = CrewEvent::ServersChanged { servers };
        context.publish(EventKind::Crew(event)).await;
    }
}

fn without_calls(servers: &[ServerStatus]) -> Vec<ServerStatus> {
    let of = |server: &ServerStatus| ServerStatus {
        calls: 0,
        ..server.clone()
    };
    servers.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn flood_of_changes_loses_no_state_change_and_no_notice() {
        let events = ServerEvents::default();
        let flood = |events: &ServerEvents| {
            for _ in 0..100_000 {
                let server = "loud".into();
                events.add(PoolEvent::ListsChanged { server });
            }
        };
        flood(&events);
        let server = || "quiet".to_string();
        events.add(PoolEvent::StateChanged { server: server() });
        let text = "it ended".to_string();
        events.add(PoolEvent::Notice {
            server: server(),
            text: text.clone(),
        });
        flood(&events);
        for _ in 0..2 * NOTICES_MAX {
            events.add(PoolEvent::Notice {
                server: server(),
                text: text.clone(),
            });
        }
        let pending = lock(&events.pending);
        assert!(pending.has_changed);
        assert_eq!(Vec::from_iter(&pending.to_list), ["loud", "quiet"]);
        assert_eq!(pending.notices[0], (server(), text));
        assert_eq!(pending.notices.len(), NOTICES_MAX);
    }
}
