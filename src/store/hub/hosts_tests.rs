//! Tests of the hosts, against the server whose path is in `CREWDECK_NATS_SERVER`.

use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use pretty_assertions::assert_eq;

use super::super::test_server::TestServer;
use super::*;
use crate::domain::timestamp::Timestamp;

const LIFE: Duration = Duration::from_secs(2);

fn info(name: &str, kind: HostKind) -> HostInfo {
    HostInfo {
        name: HostName::parse(name).unwrap(),
        kind,
        slots: 2,
        tags: vec!["gpu".into()],
        version: "1.0.0".into(),
        cores: 8,
        load: 0.5,
        is_draining: false,
        started_at: Timestamp(1.0),
    }
}

fn worker(name: &str) -> HostInfo {
    info(name, HostKind::Worker)
}

/// Ends a session as a kill of its process does.
fn kill(session: HubHostSession) {
    session.keeping.abort();
    session.lease.stop_renewing();
    session.lead.iter().for_each(Lease::stop_renewing);
    std::mem::forget(session);
}

fn presences(hosts: &[HostState]) -> Vec<(String, HostPresence)> {
    let of = |host: &HostState| (host.info.name.to_string(), host.presence);
    hosts.iter().map(of).collect()
}

fn list(hosts: &HubHosts) -> Vec<(String, HostPresence)> {
    presences(&hosts.hosts().unwrap())
}

fn state(name: &str, presence: HostPresence) -> (String, HostPresence) {
    (name.to_string(), presence)
}

fn wait_for(hosts: &HubHosts, expected: &[(&str, HostPresence)]) {
    let expected: Vec<(String, HostPresence)> = expected
        .iter()
        .map(|(n, p)| ((*n).to_string(), *p))
        .collect();
    let began = Instant::now();
    while list(hosts) != expected {
        assert!(began.elapsed() < LIFE * 3, "{:?}", list(hosts));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for a report with these hosts, and returns how long it took.
fn wait_for_report(
    reports: &Receiver<Vec<HostState>>,
    expected: &[(&str, HostPresence)],
) -> Duration {
    let expected: Vec<(String, HostPresence)> = expected
        .iter()
        .map(|(n, p)| ((*n).to_string(), *p))
        .collect();
    let began = Instant::now();
    while presences(&reports.recv_timeout(LIFE * 3).unwrap()) != expected {}
    began.elapsed()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn host_is_present_until_it_leaves() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    assert!(list(&other).is_empty());
    let session = hosts.join(&worker("GPU-1"), None).unwrap();
    let found = other.hosts().unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].info, worker("GPU-1"));
    assert_eq!(found[0].session, session.claim().session);
    assert_eq!(found[0].presence, HostPresence::Present);
    let busy = HostInfo {
        load: f32::NAN,
        is_draining: true,
        ..worker("GPU-1")
    };
    session.update(&busy).unwrap();
    let found = other.hosts().unwrap();
    assert!(found[0].info.is_draining && session.is_valid());
    assert_eq!(found[0].info.load.to_bits(), 0.0_f32.to_bits());
    session.leave();
    assert_eq!(list(&other), [state("GPU-1", HostPresence::Left)]);
    // The name is free at once, in every spelling.
    let again = other.join(&worker("gpu-1"), None).unwrap();
    assert_eq!(list(&hosts), [state("gpu-1", HostPresence::Present)]);
    assert!(again.is_valid());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn name_of_a_host_is_used_once() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let session = hosts.join(&worker("gpu"), None).unwrap();
    for replaced in [None, Some(""), Some("another session")] {
        let error = other.join(&worker("GPU"), replaced).unwrap_err();
        assert!(matches!(error, StoreError::HostInUse(_)), "{error}");
        assert!(error.to_string().contains("as the host GPU"), "{error}");
    }
    assert!(session.is_valid());
    other.join(&worker("cpu"), None).unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn restarted_host_takes_over_at_once() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let lead = info("laptop", HostKind::Lead);
    let first = hosts.join_for(&lead, None, LIFE).unwrap();
    let replaced = first.claim().session;
    let second = other.join_for(&lead, Some(&replaced), LIFE).unwrap();
    assert_ne!(second.claim().session, replaced);
    assert_eq!(second.claim().host, lead.name);
    // The first one notices it with its next renewal, and does not disturb the second one.
    let began = Instant::now();
    while first.is_valid() {
        assert!(began.elapsed() < LIFE, "the first session stays valid");
        std::thread::sleep(Duration::from_millis(20));
    }
    let error = first.update(&lead).unwrap_err();
    assert!(error.is_lost_lease(), "{error}");
    drop(first);
    std::thread::sleep(LIFE * 2);
    assert!(second.is_valid());
    let found = hosts.hosts().unwrap();
    assert_eq!(found[0].session, second.claim().session);
    assert_eq!(list(&hosts), [state("laptop", HostPresence::Present)]);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn killed_host_is_lost_and_its_name_becomes_free() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let left = hosts.join_for(&worker("a"), None, LIFE).unwrap();
    let killed = hosts.join_for(&worker("b"), None, LIFE).unwrap();
    let stays = hosts.join_for(&worker("c"), None, LIFE).unwrap();
    left.leave();
    kill(killed);
    let now = [
        ("a", HostPresence::Left),
        ("b", HostPresence::Lost),
        ("c", HostPresence::Present),
    ];
    wait_for(&other, &now);
    assert!(stays.is_valid());
    other.join_for(&worker("b"), None, LIFE).unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn session_that_cannot_renew_ends_before_others_see_it() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let session = hosts.join_for(&worker("gpu"), None, LIFE).unwrap();
    session.lease.stop_renewing();
    let began = Instant::now();
    while list(&other) == [state("gpu", HostPresence::Present)] {
        assert!(began.elapsed() < LIFE * 3, "the host is never lost");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(list(&other), [state("gpu", HostPresence::Lost)]);
    assert!(!session.is_valid());
    assert!(session.update(&worker("gpu")).unwrap_err().is_lost_lease());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn crew_has_one_lead() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let lead = |name: &str| info(name, HostKind::Lead);
    let first = hosts.join_for(&lead("laptop"), None, LIFE).unwrap();
    let error = other.join_for(&lead("desktop"), None, LIFE).unwrap_err();
    let text = error.to_string();
    let is_led = matches!(&error, StoreError::LeadInUse { host, .. } if host == "laptop");
    assert!(is_led, "{text}");
    let expected = format!(
        "crewdeck on laptop (process {}) leads this crew already: stop it there",
        std::process::id()
    );
    assert!(text.starts_with(&expected), "{text}");
    // A worker may join, and a lead whose host name is in use leaves the place of the lead free.
    let busy = other.join_for(&worker("desktop"), None, LIFE).unwrap();
    first.leave();
    let error = other.join_for(&lead("desktop"), None, LIFE).unwrap_err();
    assert!(error.to_string().contains("as the host desktop"), "{error}");
    busy.leave();
    other.join_for(&lead("desktop"), None, LIFE).unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn lead_that_loses_one_lease_loses_the_other() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    for (taken, other_one) in [(LEAD_KEY, "host.laptop"), ("host.laptop", LEAD_KEY)] {
        let info = info("laptop", HostKind::Lead);
        let session = hosts.join_for(&info, None, LIFE).unwrap();
        let (holder, replaced) = (LeaseHolder::new(), session.claim().session);
        let acquired = Lease::try_acquire_for(
            &other.0,
            taken,
            LIFE,
            holder,
            Some(&replaced),
            Arc::default(),
        );
        let Attempt::Acquired(lease) = acquired.unwrap() else {
            panic!("the lease is not taken over");
        };
        // Without a look at the session, whose process still runs.
        std::thread::sleep(LIFE * 3);
        assert_eq!(Lease::holder_of(&other.0, other_one).unwrap(), None);
        assert!(lease.is_valid() && !session.is_valid());
        lease.release();
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn watch_reports_each_change_of_the_hosts() {
    use HostPresence::{Left, Lost, Present};
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let first = hosts.join_for(&worker("a"), None, LIFE).unwrap();
    let (sender, reports) = mpsc::channel();
    let report = Box::new(move |hosts| drop(sender.send(hosts)));
    let watch = other.watch_hosts(report).unwrap();
    wait_for_report(&reports, &[("a", Present)]);
    let second = hosts.join_for(&worker("b"), None, LIFE).unwrap();
    wait_for_report(&reports, &[("a", Present), ("b", Present)]);
    kill(second);
    let took = wait_for_report(&reports, &[("a", Present), ("b", Lost)]);
    assert!(took < LIFE + Duration::from_millis(1500), "{took:?}");
    drop(first);
    wait_for_report(&reports, &[("a", Left), ("b", Lost)]);
    drop(watch);
    // The sender is dropped with the thread of the watch.
    let began = Instant::now();
    while reports.try_recv() != Err(mpsc::TryRecvError::Disconnected) {
        assert!(began.elapsed() < Duration::from_secs(5), "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn record_of_a_host_is_removed_only_unchanged() {
    let server = TestServer::start();
    let hosts = HubHosts(server.hub());
    hosts.join(&worker("a"), None).unwrap().leave();
    let old = hosts.hosts().unwrap().remove(0);
    let session = hosts.join(&worker("a"), None).unwrap();
    let remove = |host: HostState| {
        let removed = hosts
            .0
            .run(move |connection| async move { host_records::remove(&connection, &host).await });
        removed.unwrap();
    };
    remove(old);
    assert_eq!(list(&hosts), [state("a", HostPresence::Present)]);
    session.leave();
    remove(hosts.hosts().unwrap().remove(0));
    assert!(list(&hosts).is_empty());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn damaged_record_is_replaced_and_its_host_stays_present() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let session = hosts.join_for(&worker("GPU-1"), None, LIFE).unwrap();
    let damage = || {
        let (kind, payload) = (StreamKind::State, b"{".to_vec());
        let key = session.record.key.clone();
        let write = keys::Write::new(kind, key, payload, keys::Expected::Anything, "the host");
        let within = keys::ANSWER_WITHIN;
        let written = other
            .0
            .run(move |connection| async move { keys::write(&connection, write, within).await });
        written.unwrap();
    };
    damage();
    assert_eq!(list(&other), [state("GPU-1", HostPresence::Present)]);
    session.update(&worker("GPU-1")).unwrap();
    damage();
    let began = Instant::now();
    while other.hosts().unwrap()[0].info != worker("GPU-1") {
        assert!(began.elapsed() < LIFE * 3, "the record is not restored");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(session.is_valid());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER"]
fn lost_session_does_not_leave_and_a_dropped_one_does() {
    let server = TestServer::start();
    let (hosts, other) = (HubHosts(server.hub()), HubHosts(server.hub()));
    let session = hosts.join_for(&worker("a"), None, LIFE).unwrap();
    session.lease.stop_renewing();
    wait_for(&other, &[("a", HostPresence::Lost)]);
    session.leave();
    assert_eq!(list(&other), [state("a", HostPresence::Lost)]);
    drop(hosts.join_for(&worker("a"), None, LIFE).unwrap());
    wait_for(&other, &[("a", HostPresence::Left)]);
}

#[test]
fn occupied_places_are_explained() {
    let holder = LeaseHolder {
        process: 0,
        host: String::new(),
        session: "s".into(),
    };
    let text = lead_in_use(&holder, LIFE).to_string();
    assert!(
        text.starts_with("crewdeck on another host leads this crew already: stop it"),
        "{text}"
    );
    let known = LeaseHolder {
        process: 7,
        ..holder
    };
    let name = HostName::parse("gpu").unwrap();
    let text = host_in_use(&name, &known, LIFE).to_string();
    assert!(text.ends_with("try again after 2 s"), "{text}");
    assert!(
        text.starts_with("another crewdeck (process 7) works for this crew as the host gpu"),
        "{text}"
    );
}
