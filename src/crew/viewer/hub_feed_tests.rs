//! Tests of the feed of a viewer, with the shared state in files and the hosts in memory.

use pretty_assertions::assert_eq;

use super::*;
use crate::crew::message_delivery::from_user;
use crate::domain::host::HostInfo;
use crate::domain::ids::Name;
use crate::protocol::EventReceiver;
use crate::protocol::bus::bus;
use crate::protocol::event::{AgentEvent, BoardEvent, DeliveryState};
use crate::store::{
    ConnectionReport, EventReport, HostReport, HostSession, HostStore, HubError, prepare,
};

/// A store that keeps the reports which it was given, so that a test can call them.
#[derive(Default)]
struct ReportedHosts {
    hosts: Mutex<Vec<HostState>>,
    host_report: Mutex<Option<HostReport>>,
    event_report: Mutex<Option<EventReport>>,
    connection_report: Mutex<Option<ConnectionReport>>,
    /// How often reading the hosts fails.
    failures: Mutex<u32>,
}

impl std::fmt::Debug for ReportedHosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReportedHosts")
    }
}

impl HostStore for ReportedHosts {
    fn join(&self, _: &HostInfo, _: Option<&str>) -> Result<Box<dyn HostSession>, StoreError> {
        panic!("a viewer does not join")
    }

    fn hosts(&self) -> Result<Vec<HostState>, StoreError> {
        let mut failures = lock(&self.failures);
        if *failures > 0 {
            *failures -= 1;
            return Err(HubError::Closed.into());
        }
        Ok(lock(&self.hosts).clone())
    }

    fn watch_hosts(&self, report: HostReport) -> Result<Box<dyn Send>, StoreError> {
        *lock(&self.host_report) = Some(report);
        Ok(Box::new(()))
    }

    fn watch_connection(&self, report: ConnectionReport) -> Result<Box<dyn Send>, StoreError> {
        *lock(&self.connection_report) = Some(report);
        Ok(Box::new(()))
    }

    fn outage(&self) -> Option<String> {
        None
    }

    fn publish(&self, _: &HostName, _: &[EventKind]) -> Result<(), StoreError> {
        panic!("a viewer publishes no events")
    }

    fn follow(
        &self,
        own: &HostName,
        from: EventStart,
        report: EventReport,
    ) -> Result<Box<dyn Send>, StoreError> {
        assert!(own.as_str().starts_with("viewer-"), "{own}");
        assert_eq!(from, EventStart::FirstKept);
        *lock(&self.event_report) = Some(report);
        Ok(Box::new(()))
    }
}

struct FeedFixture {
    _dir: tempfile::TempDir,
    stores: Stores,
    hosts: Arc<ReportedHosts>,
    feed: HubFeed,
    events: EventReceiver,
}

fn host_of_lead(presence: HostPresence) -> HostState {
    HostState {
        info: HostInfo::new(HostName::parse("home").unwrap(), HostKind::Lead),
        session: "s".into(),
        presence,
        seen_at: Timestamp::default(),
    }
}

/// Starts a feed of a crew that the host `home` leads.
fn fixture(failures: u32) -> FeedFixture {
    let dir = tempfile::tempdir().unwrap();
    prepare(dir.path()).unwrap();
    let hosts = Arc::new(ReportedHosts {
        hosts: vec![host_of_lead(HostPresence::Present)].into(),
        failures: failures.into(),
        ..ReportedHosts::default()
    });
    let store: Arc<dyn HostStore> = hosts.clone();
    let stores = Stores {
        hosts: Some(store),
        ..Stores::open(dir.path())
    };
    let (event_sender, events) = bus(|| Timestamp(1.0));
    let feed = HubFeed::start(stores.clone(), event_sender, || "0123-4567".into());
    FeedFixture {
        _dir: dir,
        stores,
        hosts,
        feed,
        events,
    }
}

impl FeedFixture {
    /// Reports events as the host `home` until the feed follows them.
    async fn report(&self, events: &[EventKind], is_earlier: bool) {
        let hosts = Arc::clone(&self.hosts);
        let batch = HostEvents {
            host: HostName::parse("home").unwrap(),
            events: events.to_vec(),
            stored_at: Timestamp(5.0),
            is_earlier,
            is_cut: false,
        };
        let reporting = tokio::task::spawn_blocking(move || {
            loop {
                if let Some(report) = &*lock(&hosts.event_report) {
                    return report(batch);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        reporting.await.unwrap();
    }

    fn report_outage(&self, cause: Option<String>) {
        let report = lock(&self.hosts.connection_report);
        report.as_ref().unwrap()(cause);
    }

    async fn report_hosts(&self, hosts: Vec<HostState>) {
        let store = Arc::clone(&self.hosts);
        let reporting = tokio::task::spawn_blocking(move || {
            let report = lock(&store.host_report);
            report.as_ref().unwrap()(hosts);
        });
        reporting.await.unwrap();
    }

    async fn lead(&mut self) -> Option<String> {
        match self.feed.next().await {
            HubUpdate::Lead(lead) => lead.map(|host| host.to_string()),
            other @ (HubUpdate::Events { .. } | HubUpdate::Outage(_)) => panic!("{other:?}"),
        }
    }
}

fn said(text: &str) -> EventKind {
    AgentEvent::TextDelta { text: text.into() }.of(Name::lead())
}

#[tokio::test]
async fn lead_and_its_events_are_followed() {
    let mut fixture = fixture(0);
    assert_eq!(fixture.lead().await.as_deref(), Some("home"));
    fixture.report(&[said("hello")], true).await;
    let HubUpdate::Events {
        events,
        stored_at,
        is_earlier,
    } = fixture.feed.next().await
    else {
        panic!("no events");
    };
    assert_eq!(events, [said("hello")]);
    assert_eq!((stored_at, is_earlier), (Timestamp(5.0), true));

    let lost = vec![host_of_lead(HostPresence::Lost)];
    fixture.report_hosts(lost).await;
    assert_eq!(fixture.lead().await, None);
    let back = vec![host_of_lead(HostPresence::Present)];
    fixture.report_hosts(back).await;
    assert_eq!(fixture.lead().await.as_deref(), Some("home"));
}

#[tokio::test]
async fn viewer_shows_that_the_lead_has_acted_on_a_shown_message() {
    let mut fixture = fixture(0);
    let message = |id: &str| from_user(&Name::lead(), "hello", id.into(), Timestamp(1.0));
    fixture.stores.mailbox.send(&message("m1")).unwrap();
    assert_eq!(fixture.lead().await.as_deref(), Some("home"));
    // The message is in the feed's copy as soon as it is on the bus of the viewer.
    loop {
        let event = fixture.events.next().await.unwrap().kind;
        if let EventKind::Team(TeamEvent::MessageMoved { message, .. }) = event {
            assert_eq!(message.id.0, "m1");
            break;
        }
    }
    let acted_on = |id: &str| {
        let (message, step) = (message(id), DeliveryState::ActedOn);
        EventKind::Team(TeamEvent::MessageMoved { message, step })
    };
    let sent = [acted_on("m1"), acted_on("m0"), said("hello")];
    for (is_earlier, expected) in [
        (true, vec![acted_on("m1"), said("hello")]),
        (false, sent.to_vec()),
    ] {
        fixture.report(&sent, is_earlier).await;
        let HubUpdate::Events { events, .. } = fixture.feed.next().await else {
            panic!("no events");
        };
        assert_eq!(events, expected);
    }
}

#[tokio::test]
async fn outage_of_the_hub_is_reported_until_it_ends() {
    let mut fixture = fixture(0);
    assert_eq!(fixture.lead().await.as_deref(), Some("home"));
    for cause in [Some("no answer within 3 s".to_string()), None] {
        fixture.report_outage(cause.clone());
        match fixture.feed.next().await {
            HubUpdate::Outage(reported) => assert_eq!(reported, cause),
            other @ (HubUpdate::Events { .. } | HubUpdate::Lead(_)) => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn changes_of_the_board_are_published() {
    let mut fixture = fixture(0);
    assert_eq!(fixture.lead().await.as_deref(), Some("home"));
    let new = crate::domain::graph::NewTask {
        subject: "Sweep".into(),
        ..Default::default()
    };
    let board = fixture.stores.board.clone();
    board.create(new, Timestamp(2.0)).unwrap();
    loop {
        let event = fixture.events.next().await.unwrap().kind;
        if let EventKind::Board(BoardEvent::BoardChanged { changed, .. }) = event {
            assert_eq!(changed[0].subject, "Sweep");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn error_is_reported_once_and_the_feed_continues() {
    let mut fixture = fixture(2);
    assert_eq!(fixture.lead().await.as_deref(), Some("home"));
    let mut errors = 0;
    while let Some(event) = fixture.events.try_next() {
        errors += u32::from(matches!(
            event.kind,
            EventKind::Crew(crate::protocol::CrewEvent::Notice {
                level: NoticeLevel::Error,
                ..
            })
        ));
    }
    assert_eq!(errors, 1);
}
