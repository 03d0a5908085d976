//! The events of agents, which hosts publish and the host of the lead follows.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use crewdeck::domain::host::HostName;
use crewdeck::domain::ids::Name;
use crewdeck::protocol::event::{AgentEvent, CrewEvent, EventKind};
use crewdeck::store::{
    EventStart, HostEvents, HostStore, Hub, HubAddress, HubSecret, HubSettings, HubStorage,
};
use pretty_assertions::assert_eq;

use super::{Crew, NatsServer};

/// Maximum time until a published event is reported, with the restart of a server.
const WITHIN: Duration = Duration::from_secs(40);

fn host(name: &str) -> HostName {
    HostName::parse(name).unwrap()
}

fn event(text: &str) -> EventKind {
    let text = text.to_string();
    AgentEvent::TextDelta { text }.of(Name::member("bob").unwrap())
}

fn hosts_of(hub: &Hub) -> Arc<dyn HostStore> {
    hub.stores(&std::env::temp_dir()).hosts.unwrap()
}

fn on(server: &NatsServer, change: impl FnOnce(HubSettings) -> HubSettings) -> Arc<dyn HostStore> {
    let settings = HubSettings::new(HubAddress::parse(server.url()).unwrap());
    hosts_of(&Hub::new(change(settings)))
}

/// Follows the events. Returns the running follow and what it reports.
fn follow(
    hosts: &Arc<dyn HostStore>,
    own: &str,
    from: EventStart,
) -> (Box<dyn Send>, Receiver<HostEvents>) {
    let (sender, reports) = mpsc::channel();
    let report = Box::new(move |events: HostEvents| drop(sender.send(events)));
    (hosts.follow(&host(own), from, report).unwrap(), reports)
}

/// Returns the next reported texts of events with their hosts, until there are `count`.
fn texts(reports: &Receiver<HostEvents>, count: usize) -> Vec<String> {
    let began = Instant::now();
    let mut texts = Vec::new();
    while texts.len() < count {
        let left = WITHIN.saturating_sub(began.elapsed());
        let batch = reports.recv_timeout(left).unwrap();
        for event in &batch.events {
            let text = match event {
                EventKind::Agent {
                    event: AgentEvent::TextDelta { text },
                    ..
                } => text.clone(),
                EventKind::Crew(CrewEvent::Notice { agent, .. }) => {
                    assert_eq!(agent, &Some(Name::member("bob").unwrap()));
                    "notice".into()
                }
                other => panic!("{other:?}"),
            };
            texts.push(format!("{}: {text}", batch.host));
        }
    }
    texts
}

fn publish(hosts: &Arc<dyn HostStore>, name: &str, numbers: Range<usize>) {
    for number in numbers {
        let events = [event(&number.to_string())];
        hosts.publish(&host(name), &events).unwrap();
    }
}

fn expected(name: &str, numbers: Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("{name}: {number}")).collect()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn events_of_other_hosts_arrive_in_order() {
    let crew = Crew::new();
    let (lead, gpu) = (hosts_of(&crew.hub()), hosts_of(&crew.hub()));
    publish(&gpu, "GPU", 0..2);
    let (_now, now) = follow(&lead, "laptop", EventStart::Now);
    let (_all, all) = follow(&lead, "laptop", EventStart::FirstKept);
    publish(&lead, "Laptop", 0..1);
    let mac = hosts_of(&crew.hub());
    std::thread::scope(|threads| {
        threads.spawn(|| publish(&gpu, "GPU", 2..40));
        threads.spawn(|| publish(&mac, "mac", 0..40));
    });
    gpu.publish(&host("GPU"), &[]).unwrap();
    gpu.publish(&host("GPU"), &[event("40"), event("41")])
        .unwrap();
    for (reports, first) in [(now, 2), (all, 0)] {
        let texts = texts(&reports, 80 + 2 - first);
        let of = |name: &str| {
            let own = texts.iter().filter(|text| text.starts_with(name));
            own.cloned().collect::<Vec<_>>()
        };
        assert_eq!(of("GPU"), expected("GPU", first..42));
        assert_eq!(of("mac"), expected("mac", 0..40));
        assert_eq!(of("Laptop"), Vec::<String>::new());
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn follow_continues_after_a_restart_of_the_server() {
    let server = NatsServer::start("");
    let (lead, gpu) = (on(&server, |s| s), on(&server, |s| s));
    let (_running, reports) = follow(&lead, "laptop", EventStart::Now);
    publish(&gpu, "gpu", 0..5);
    assert_eq!(texts(&reports, 5), expected("gpu", 0..5));
    server.restart();
    publish(&gpu, "gpu", 5..10);
    assert_eq!(texts(&reports, 5), expected("gpu", 5..10));
    // The events of before the restart are not reported again.
    std::thread::sleep(Duration::from_secs(1));
    assert!(reports.try_recv().is_err());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn follow_continues_on_a_stream_that_was_lost() {
    let server = NatsServer::start("");
    let in_memory = |settings: HubSettings| HubSettings {
        storage: HubStorage::Memory,
        ..settings
    };
    let (lead, gpu) = (on(&server, in_memory), on(&server, in_memory));
    let (_running, reports) = follow(&lead, "laptop", EventStart::FirstKept);
    publish(&gpu, "gpu", 0..5);
    assert_eq!(texts(&reports, 5), expected("gpu", 0..5));
    server.restart();
    publish(&gpu, "gpu", 5..8);
    assert_eq!(texts(&reports, 3), expected("gpu", 5..8));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn removed_events_are_marked_as_a_gap() {
    let server = NatsServer::start("");
    let (lead, gpu) = (on(&server, |s| s), on(&server, |s| s));
    publish(&gpu, "gpu", 0..1);
    let url = server.url().to_string();
    let keep_three = async move {
        let client = async_nats::connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client);
        let stream = jetstream.get_stream("crewdeck_main_events").await.unwrap();
        let mut config = stream.cached_info().config.clone();
        config.max_messages = 3;
        jetstream.update_stream(config).await.unwrap();
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(keep_three);
    publish(&gpu, "gpu", 1..10);
    let (_running, reports) = follow(&lead, "laptop", EventStart::FirstKept);
    let batches: Vec<HostEvents> = (0..3)
        .map(|_| reports.recv_timeout(WITHIN).unwrap())
        .collect();
    let cuts: Vec<bool> = batches.iter().map(|batch| batch.is_cut).collect();
    assert_eq!(cuts, [true, false, false]);
    assert_eq!(batches[0].events, [event("7")]);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn slow_receiver_gets_all_events_that_are_stored() {
    let crew = Crew::new();
    let (lead, gpu) = (hosts_of(&crew.hub()), hosts_of(&crew.hub()));
    let (sender, reports) = mpsc::channel();
    let report = Box::new(move |events: HostEvents| {
        std::thread::sleep(Duration::from_millis(50));
        drop(sender.send(events));
    });
    let from = EventStart::FirstKept;
    let running = lead.follow(&host("laptop"), from, report).unwrap();
    publish(&gpu, "gpu", 0..100);
    assert_eq!(texts(&reports, 100), expected("gpu", 0..100));
    // After the end of the follow nothing more is reported.
    drop(running);
    publish(&gpu, "gpu", 100..101);
    std::thread::sleep(Duration::from_millis(500));
    assert!(reports.try_recv().is_err());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn events_fit_the_limit_of_the_server() {
    let server = NatsServer::start("max_payload: 8KB");
    let (lead, gpu) = (on(&server, |s| s), on(&server, |s| s));
    let (_running, reports) = follow(&lead, "laptop", EventStart::Now);
    let mut events: Vec<EventKind> = (0..100).map(|n| event(&format!("{n}"))).collect();
    events.insert(50, event(&"x".repeat(20_000)));
    gpu.publish(&host("gpu"), &events).unwrap();
    let mut wanted = expected("gpu", 0..100);
    wanted.insert(50, "gpu: notice".into());
    assert_eq!(texts(&reports, 101), wanted);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn events_without_a_signature_are_ignored() {
    let server = NatsServer::start("");
    let with_secret = |settings: HubSettings| HubSettings {
        secret: Some(HubSecret::new("a secret of the crew").unwrap()),
        ..settings
    };
    let (lead, gpu) = (on(&server, with_secret), on(&server, with_secret));
    let (_running, reports) = follow(&lead, "laptop", EventStart::Now);
    publish(&gpu, "gpu", 0..1);
    let url = server.url().to_string();
    let forge = async move {
        let client = async_nats::connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client);
        let payload = r#"[{"type":"text_delta","agent":"bob","text":"forged"}]"#;
        let sent = jetstream.publish("crewdeck.main.events.gpu", payload.into());
        sent.await.unwrap().await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(forge);
    publish(&gpu, "gpu", 1..2);
    assert_eq!(texts(&reports, 2), expected("gpu", 0..2));
}
