//! Carries the events of agents from the host that runs them to the host of the lead and to viewers, over the store that the
//! hosts share.
//!
//! A host sends with [`EventRelay`], the host of the lead receives with [`receive`]. Only events of agents and notices
//! are carried, and from the host of the lead what describes the session. The events include that an agent has acted on a
//! message, or that a hook has blocked it. Tasks, messages, requests and the team are in the shared state, which each host
//! reads for itself.

use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::context::{CrewContext, until};
use super::event_outbox::Outbox;
use super::parts::CrewParts;
pub use super::relayed_events::is_relayed;
use super::relayed_events::{is_relayed_by_lead, received_events};
use crate::agent::driver::run_blocking;
use crate::domain::host::HostName;
use crate::domain::ids::Name;
use crate::protocol::event::{CrewEvent, EventKind};
use crate::store::{EventReport, EventStart, HostEvents, HostStore, StoreError};

/// Maximum time for the last events at the end.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);
/// Interval at which the description of the session is sent again, because old events are removed from the store.
const DESCRIBE_AGAIN: Duration = Duration::from_secs(10 * 60);
/// Number of received batches that wait for the event bus of the lead. Further ones stay in the store.
const RECEIVED_MAX: usize = 4;

/// Sends the events of this host. Keeps them in memory while the store cannot be reached, up to a bound: then pieces of
/// output are dropped first, and after them the oldest events. One notice says how many events were lost.
pub struct EventRelay {
    hosts: Arc<dyn HostStore>,
    own: HostName,
    /// The number of events that were dropped before they reached the relay, and not reported yet.
    dropped: Arc<AtomicUsize>,
}

type Sending = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>;

impl EventRelay {
    pub fn new(hosts: Arc<dyn HostStore>, own: HostName) -> EventRelay {
        EventRelay {
            hosts,
            own,
            dropped: Arc::default(),
        }
    }

    /// Returns the number of events that were dropped since the last call.
    fn take_dropped(&self) -> usize {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Sends the events from `events` until `stop` is cancelled or all senders are gone. Then sends what is left, for at
    /// most 2 seconds.
    pub async fn run(self, mut events: mpsc::Receiver<EventKind>, stop: CancellationToken) {
        let mut outbox = Outbox::new();
        let mut sending: Option<Sending> = None;
        let mut describe = interval_at(Instant::now() + DESCRIBE_AGAIN, DESCRIBE_AGAIN);
        loop {
            let due = outbox.due();
            tokio::select! {
                () = stop.cancelled() => break,
                _ = describe.tick() => outbox.describe_again(),
                event = events.recv() => match event {
                    Some(event) => {
                        outbox.add_lost(self.take_dropped());
                        outbox.add(event);
                    }
                    None => break,
                },
                result = result_of(&mut sending), if sending.is_some() => {
                    sending = None;
                    outbox.finish(&result);
                }
                () = until(due), if sending.is_none() && due.is_some() => {
                    sending = Some(self.send(outbox.next_batch()));
                }
            }
        }
        events.close();
        while let Ok(event) = events.try_recv() {
            outbox.add(event);
        }
        outbox.add_lost(self.take_dropped());
        // What is not sent in time stays in the journal of this host only.
        let _ = timeout(FLUSH_WITHIN, self.flush(outbox, sending)).await;
    }

    /// Sends everything that is left, until an attempt fails.
    async fn flush(&self, mut outbox: Outbox, sending: Option<Sending>) {
        if let Some(sending) = sending {
            outbox.finish(&sending.await);
        }
        loop {
            let batch = outbox.next_batch();
            if batch.is_empty() {
                return;
            }
            let result = self.send(batch).await;
            outbox.finish(&result);
            if result.is_err() {
                return;
            }
        }
    }

    fn send(&self, batch: Arc<Vec<EventKind>>) -> Sending {
        let (hosts, own) = (Arc::clone(&self.hosts), self.own.clone());
        Box::pin(run_blocking(move || hosts.publish(&own, &batch)))
    }
}

async fn result_of(sending: &mut Option<Sending>) -> Result<(), StoreError> {
    match sending {
        Some(sending) => sending.await,
        None => pending().await,
    }
}

/// Maximum number of events that wait for the relay. Further ones are dropped, and counted.
const TAPPED_MAX: usize = 1024;

/// The events of a host that other hosts need.
pub(super) struct TappedEvents {
    events: mpsc::Receiver<EventKind>,
    /// The number of events that were dropped, because too many were waiting.
    dropped: Arc<AtomicUsize>,
}

/// Makes the event sender of a host copy the events that other hosts need. Returns the copies, for [`start`]; `None` if the
/// crew is on this machine only.
pub(super) fn tap(parts: &mut CrewParts) -> Option<TappedEvents> {
    let host = parts.shared.host.as_ref()?;
    let (sender, events) = mpsc::channel(TAPPED_MAX);
    let dropped = Arc::<AtomicUsize>::default();
    let wants: fn(&EventKind) -> bool = if host.is_worker() {
        is_relayed
    } else {
        // The event was published before the crew had a relay.
        let session = EventKind::Crew(CrewEvent::Ready(parts.session.info.clone()));
        let _ = sender.try_send(parts.event_sender.redactor().data(session));
        is_relayed_by_lead
    };
    let event_sender = parts.event_sender.clone();
    parts.event_sender = event_sender.with_relay(wants, sender, Arc::clone(&dropped));
    Some(TappedEvents { events, dropped })
}

/// Sends the copies of [`tap`] to the other hosts until the crew stops.
pub(super) fn start(context: &Arc<CrewContext>, copies: Option<TappedEvents>) {
    if let (Some(host), Some(TappedEvents { events, dropped })) = (&context.host, copies) {
        let relay = EventRelay {
            dropped,
            ..EventRelay::new(Arc::clone(&host.store), host.info.name.clone())
        };
        context.spawn(relay.run(events, context.stop.clone()));
    }
}

/// Publishes the events of the other hosts in this crew, until the returned value is dropped or the crew stops.
/// `is_member_of` is whether the agent is a teammate that runs on the host; events of other agents are left out, so a host
/// cannot speak for the agents of another one.
///
/// # Errors
/// When the events cannot be read.
pub async fn receive(
    context: &Arc<CrewContext>,
    hosts: Arc<dyn HostStore>,
    own: HostName,
    from: EventStart,
    is_member_of: impl Fn(&Name, &HostName) -> bool + Send + 'static,
) -> Result<Box<dyn Send>, StoreError> {
    let (sender, mut received) = mpsc::channel::<HostEvents>(RECEIVED_MAX);
    let following = run_blocking(move || {
        // If the crew has stopped, the receiver is gone and the events are dropped.
        let report: EventReport = Box::new(move |events| drop(sender.blocking_send(events)));
        hosts.follow(&own, from, report)
    })
    .await?;
    let publishing = Arc::clone(context);
    // The other hosts have these events already.
    let event_sender = context.event_sender.clone().without_relay();
    context.spawn(async move {
        loop {
            let batch = tokio::select! {
                () = publishing.stop.cancelled() => return,
                batch = received.recv() => batch,
            };
            let Some(batch) = batch else {
                return;
            };
            let events = received_events(batch, &is_member_of);
            for event in events {
                event_sender.publish(event).await;
            }
        }
    });
    Ok(following)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::crew::context::lock;
    use crate::crew::test_support::{TestCrew, bob};
    use crate::domain::host::{HostInfo, HostState};
    use crate::domain::timestamp::Timestamp;
    use crate::protocol::event::{AgentEvent, NoticeLevel, TeamEvent};
    use crate::store::{ConnectionReport, HostReport, HostSession, HubError};

    /// A store in memory, whose first attempts to publish fail.
    #[derive(Debug, Default)]
    struct FakeHosts {
        failures: Mutex<Vec<HubError>>,
        attempts: Mutex<Vec<Vec<EventKind>>>,
        batches: Mutex<Vec<HostEvents>>,
    }

    impl HostStore for FakeHosts {
        fn join(&self, _: &HostInfo, _: Option<&str>) -> Result<Box<dyn HostSession>, StoreError> {
            Err(HubError::Closed.into())
        }

        fn hosts(&self) -> Result<Vec<HostState>, StoreError> {
            Ok(Vec::new())
        }

        fn watch_hosts(&self, _: HostReport) -> Result<Box<dyn Send>, StoreError> {
            Ok(Box::new(()))
        }

        fn watch_connection(&self, _: ConnectionReport) -> Result<Box<dyn Send>, StoreError> {
            Ok(Box::new(()))
        }

        fn outage(&self) -> Option<String> {
            None
        }

        fn publish(&self, _: &HostName, events: &[EventKind]) -> Result<(), StoreError> {
            lock(&self.attempts).push(events.to_vec());
            match lock(&self.failures).pop() {
                Some(error) => Err(error.into()),
                None => Ok(()),
            }
        }

        fn follow(
            &self,
            _: &HostName,
            _: EventStart,
            report: EventReport,
        ) -> Result<Box<dyn Send>, StoreError> {
            let batches = std::mem::take(&mut *lock(&self.batches));
            std::thread::spawn(move || batches.into_iter().for_each(report));
            Ok(Box::new(()))
        }
    }

    fn host(name: &str) -> HostName {
        HostName::parse(name).unwrap()
    }

    fn text(agent: &Name, text: &str) -> EventKind {
        AgentEvent::TextDelta { text: text.into() }.of(agent.clone())
    }

    fn notice_of(agent: Option<Name>, text: &str) -> EventKind {
        EventKind::Crew(CrewEvent::Notice {
            level: NoticeLevel::Info,
            agent,
            text: text.into(),
        })
    }

    fn roster() -> EventKind {
        EventKind::Team(TeamEvent::RosterChanged {
            team: Arc::default(),
        })
    }

    /// Sends the events, waits until there were `attempts`, and ends the relay.
    async fn relay(hosts: &Arc<FakeHosts>, events: Vec<EventKind>, attempts: usize) {
        let store: Arc<dyn HostStore> = hosts.clone();
        let (sender, receiver) = mpsc::channel(64);
        let stop = CancellationToken::new();
        let relay = EventRelay::new(store, host("gpu")).run(receiver, stop.clone());
        let running = tokio::spawn(relay);
        for event in events {
            sender.send(event).await.unwrap();
        }
        while lock(&hosts.attempts).len() < attempts {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
        running.await.unwrap();
    }

    #[tokio::test]
    async fn relay_merges_pieces_and_leaves_out_what_is_not_carried() {
        let hosts = Arc::<FakeHosts>::default();
        let events = vec![
            text(&bob(), "a"),
            roster(),
            text(&bob(), "b"),
            EventKind::Crew(CrewEvent::AllIdle),
            notice_of(None, "full disk"),
        ];
        relay(&hosts, events, 1).await;
        let sent = lock(&hosts.attempts).concat();
        assert_eq!(sent, [text(&bob(), "ab"), notice_of(None, "full disk")]);
    }

    #[tokio::test]
    async fn failed_batch_is_repeated_unchanged() {
        let hosts = Arc::<FakeHosts>::default();
        lock(&hosts.failures).push(HubError::Closed);
        relay(&hosts, vec![text(&bob(), "a")], 2).await;
        let attempts = lock(&hosts.attempts).clone();
        assert_eq!(attempts, vec![vec![text(&bob(), "a")]; 2]);
    }

    #[tokio::test]
    async fn batch_that_can_never_be_stored_is_replaced_by_one_notice() {
        let hosts = Arc::<FakeHosts>::default();
        lock(&hosts.failures).push(HubError::TooLarge {
            what: "an event".into(),
            limit: 1,
        });
        relay(&hosts, vec![text(&bob(), "a")], 2).await;
        let attempts = lock(&hosts.attempts).clone();
        let EventKind::Crew(CrewEvent::Notice { text, .. }) = &attempts[1][0] else {
            panic!("{attempts:?}");
        };
        assert!(text.starts_with("1 event of the agents"), "{text}");
        assert_eq!((attempts.len(), attempts[1].len()), (2, 1));
    }

    #[tokio::test]
    async fn events_dropped_before_the_relay_are_reported_with_their_number() {
        let hosts = Arc::<FakeHosts>::default();
        let (sender, receiver) = mpsc::channel(64);
        sender.send(text(&bob(), "a")).await.unwrap();
        drop(sender);
        let relay = EventRelay {
            dropped: Arc::new(AtomicUsize::new(7)),
            ..EventRelay::new(hosts.clone(), host("gpu"))
        };
        relay.run(receiver, CancellationToken::new()).await;
        let sent = lock(&hosts.attempts).concat();
        let EventKind::Crew(CrewEvent::Notice { text, .. }) = &sent[0] else {
            panic!("{sent:?}");
        };
        assert!(text.starts_with("7 events of the agents"), "{text}");
        assert_eq!(sent.len(), 2);
    }

    #[tokio::test]
    async fn end_of_all_senders_sends_what_is_left() {
        let hosts = Arc::<FakeHosts>::default();
        let (sender, receiver) = mpsc::channel(64);
        sender.send(text(&bob(), "last")).await.unwrap();
        drop(sender);
        EventRelay::new(hosts.clone(), host("gpu"))
            .run(receiver, CancellationToken::new())
            .await;
        assert_eq!(lock(&hosts.attempts).concat(), [text(&bob(), "last")]);
    }

    #[tokio::test]
    async fn received_events_and_gaps_are_published_in_order() {
        let mut crew = TestCrew::new();
        let hosts = Arc::<FakeHosts>::default();
        *lock(&hosts.batches) = (0..20)
            .map(|number| HostEvents {
                host: host("gpu"),
                events: vec![notice_of(None, &format!("{number}"))],
                stored_at: Timestamp::default(),
                is_earlier: false,
                is_cut: number == 10,
            })
            .collect();
        let from = EventStart::FirstKept;
        let received = receive(&crew.context, hosts, host("home"), from, |_, _| true).await;
        let following = received.unwrap();
        crew.tasks_end().await;
        drop(following);
        let notices = crew.notices();
        assert_eq!(notices.len(), 21);
        assert_eq!(notices[9], "gpu: 9");
        assert!(
            notices[10].contains("some events of this host"),
            "{notices:?}"
        );
        assert_eq!(notices[20], "gpu: 19");
    }
}
