//! Follows a crew on a hub for a viewer: publishes the shared state and the hosts on the viewer's bus, and passes on the
//! events of the agents of all hosts.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::state_reader::StateReader;
use crate::agent::driver::run_blocking;
use crate::crew::context::lock;
use crate::crew::relayed_events::viewed_events;
use crate::domain::host::{HostKind, HostName, HostPresence, HostState};
use crate::domain::timestamp::Timestamp;
use crate::protocol::EventSender;
use crate::protocol::event::{EventKind, NoticeLevel, TeamEvent};
use crate::store::watch::Dirty;
use crate::store::{EventStart, HostEvents, StoreError, Stores};

/// Maximum number of queued reports of each kind. Further changes of the state and the hosts are merged, and further events
/// stay on the hub.
const REPORTS_MAX: usize = 4;
/// Maximum number of updates that wait for the dashboard.
const UPDATES_MAX: usize = 4;
/// Pause before what has failed is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// What a viewer of a crew on a hub is notified of, besides the shared state and the hosts, which it gets as events on its
/// bus.
#[derive(Debug)]
pub enum HubUpdate {
    /// The host that leads the crew became known or changed; `None` if no host leads it.
    Lead(Option<HostName>),
    /// Events of the agents of a host, and of the session.
    Events {
        events: Vec<EventKind>,
        /// When the hub has received them, by its own clock.
        stored_at: Timestamp,
        /// Whether the hub had them before the viewer began.
        is_earlier: bool,
    },
    /// The hub cannot be reached, with the cause, which may change; `None` when it can be reached again.
    Outage(Option<String>),
}

/// Follows a crew on a hub until it is dropped. Does not join the crew.
pub struct HubFeed {
    updates: mpsc::Receiver<HubUpdate>,
    /// Why the hub cannot be reached. Separate from the other updates, because the task that sends those waits for the hub.
    outage: watch::Receiver<Option<String>>,
    _stop: DropGuard,
}

impl HubFeed {
    /// Starts to follow the crew. Errors are published as notices, and what has failed is tried again.
    pub fn start(stores: Stores, event_sender: EventSender, new_id: fn() -> String) -> HubFeed {
        let (sender, updates) = mpsc::channel(UPDATES_MAX);
        let (outage_sender, outage) = watch::channel(None);
        let stop = CancellationToken::new();
        let feed = FeedTask {
            reader: Arc::new(Mutex::new(StateReader::new(&stores))),
            stores,
            hosts: Vec::new(),
            lead: None,
            is_lead_reported: false,
            event_sender,
            updates: sender,
            outage: outage_sender,
            // The name of no host, so that the events of all hosts are reported.
            own: HostName::similar_to(&format!("viewer-{}", new_id())),
            has_failed: false,
        };
        let stopped = stop.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = stopped.cancelled() => {}
                () = feed.run() => {}
            }
        });
        HubFeed {
            updates,
            outage,
            _stop: stop.drop_guard(),
        }
    }

    /// Waits for the next update. No update is lost if the future is dropped.
    pub async fn next(&mut self) -> HubUpdate {
        tokio::select! {
            Ok(()) = self.outage.changed() => {
                HubUpdate::Outage(self.outage.borrow_and_update().clone())
            }
            Some(update) = self.updates.recv() => update,
            else => pending().await,
        }
    }
}

struct FeedTask {
    stores: Stores,
    reader: Arc<Mutex<StateReader>>,
    hosts: Vec<HostState>,
    /// The host of the lead that was last reported; `None` if there was none.
    lead: Option<HostName>,
    /// Whether the host of the lead was reported.
    is_lead_reported: bool,
    event_sender: EventSender,
    updates: mpsc::Sender<HubUpdate>,
    outage: watch::Sender<Option<String>>,
    own: HostName,
    /// Whether an error was reported since everything was last read without one.
    has_failed: bool,
}

impl FeedTask {
    async fn run(mut self) {
        // The watch of the connection, once it is running.
        let mut connection = None;
        while let Err(error) = self.follow(&mut connection).await {
            self.report(&error).await;
            sleep(AGAIN).await;
        }
    }

    /// Follows the crew until the receiver of the updates is gone.
    ///
    /// # Errors
    /// When the crew cannot be read or watched. No events were passed on then.
    async fn follow(&mut self, connection: &mut Option<Box<dyn Send>>) -> Result<(), StoreError> {
        let Some(store) = self.stores.hosts.clone() else {
            return Ok(());
        };
        if connection.is_none() {
            let (watched, outage) = (Arc::clone(&store), self.outage.clone());
            let report = move |cause| drop(outage.send_replace(cause));
            let watch = run_blocking(move || watched.watch_connection(Box::new(report))).await?;
            *connection = Some(watch);
        }
        let (dirty_sender, mut dirty) = mpsc::channel::<Dirty>(REPORTS_MAX);
        let (hosts_sender, mut hosts) = mpsc::channel::<Vec<HostState>>(REPORTS_MAX);
        let (events_sender, mut events) = mpsc::channel::<HostEvents>(REPORTS_MAX);
        let (changes, watched) = (Arc::clone(&self.stores.changes), Arc::clone(&store));
        // The watches start before the first read, so that no change is missed.
        let _watches = run_blocking(move || {
            let report = move |part| drop(dirty_sender.blocking_send(part));
            let state = changes.watch(Box::new(report))?;
            let report = move |hosts| drop(hosts_sender.blocking_send(hosts));
            Ok((state, watched.watch_hosts(Box::new(report))?))
        })
        .await?;
        self.read_all().await?;
        let listed = Arc::clone(&store);
        let found = run_blocking(move || listed.hosts()).await?;
        self.set_hosts(found).await;
        // From here on, it is known which host speaks for which agents.
        let own = self.own.clone();
        let _events = run_blocking(move || {
            let report = move |batch| drop(events_sender.blocking_send(batch));
            store.follow(&own, EventStart::FirstKept, Box::new(report))
        })
        .await?;
        self.has_failed = false;
        let mut again = None;
        loop {
            tokio::select! {
                () = self.updates.closed() => return Ok(()),
                Some(part) = dirty.recv() => {
                    if let Err(error) = self.read(part).await {
                        self.report(&error).await;
                        again.get_or_insert_with(|| Instant::now() + AGAIN);
                    }
                }
                () = reached(again) => {
                    again = match self.read_all().await {
                        Ok(()) => {
                            self.has_failed = false;
                            None
                        }
                        Err(_) => Some(Instant::now() + AGAIN),
                    };
                }
                Some(hosts) = hosts.recv() => self.set_hosts(hosts).await,
                Some(batch) = events.recv() => self.pass_on(batch).await,
            }
        }
    }

    async fn read_all(&mut self) -> Result<(), StoreError> {
        for part in StateReader::parts() {
            self.read(part).await?;
        }
        Ok(())
    }

    /// Publishes what has changed in a part of the shared state.
    async fn read(&mut self, part: Dirty) -> Result<(), StoreError> {
        let reader = Arc::clone(&self.reader);
        let changes = run_blocking(move || lock(&reader).read(&part)).await?;
        for event in changes {
            self.event_sender.publish(event).await;
        }
        Ok(())
    }

    async fn set_hosts(&mut self, hosts: Vec<HostState>) {
        let lead = lead_of(&hosts);
        if hosts != self.hosts {
            self.hosts.clone_from(&hosts);
            let event = EventKind::Team(TeamEvent::HostsChanged { hosts });
            self.event_sender.publish(event).await;
        }
        if !self.is_lead_reported || self.lead != lead {
            self.is_lead_reported = true;
            self.lead.clone_from(&lead);
            // If the receiver is gone, the feed ends.
            let _ = self.updates.send(HubUpdate::Lead(lead)).await;
        }
    }

    async fn pass_on(&self, batch: HostEvents) {
        let (stored_at, is_earlier) = (batch.stored_at, batch.is_earlier);
        let team = lock(&self.reader).team();
        let mut events = viewed_events(batch, &team, &self.hosts);
        if is_earlier {
            // A message that is older than all shown ones would be added as the newest one.
            let reader = lock(&self.reader);
            events.retain(|event| {
                let EventKind::Team(TeamEvent::MessageMoved { message, .. }) = event else {
                    return true;
                };
                reader.knows_message(&message.id)
            });
        }
        if !events.is_empty() {
            let update = HubUpdate::Events {
                events,
                stored_at,
                is_earlier,
            };
            let _ = self.updates.send(update).await;
        }
    }

    /// Publishes the first of several errors in a row.
    async fn report(&mut self, error: &StoreError) {
        if std::mem::replace(&mut self.has_failed, true) {
            return;
        }
        let text = format!(
            "The crew on the hub cannot be read: {error}. crewdeck tries again every {} s.",
            AGAIN.as_secs()
        );
        let event = EventKind::notice(NoticeLevel::Error, text);
        self.event_sender.publish(event).await;
    }
}

/// Returns the host that leads the crew now.
fn lead_of(hosts: &[HostState]) -> Option<HostName> {
    let mut present = hosts.iter().filter(|h| h.presence == HostPresence::Present);
    let lead = present.find(|h| h.info.kind == HostKind::Lead)?;
    Some(lead.info.name.clone())
}

async fn reached(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

#[cfg(test)]
#[path = "hub_feed_tests.rs"]
mod tests;
