//! Streams that become full while several clients write at the same time. A test lowers their maximum size.

use std::collections::BTreeSet;
use std::time::Duration;

use crewdeck::domain::graph::NewTask;
use crewdeck::domain::host::{HostInfo, HostKind, HostName, HostPresence};
use crewdeck::domain::ids::{MessageId, Name, RequestId, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{Decision, Request, RequestKind, RequestStatus, Verdict};
use crewdeck::protocol::event::{AgentEvent, EventKind};
use crewdeck::store::{Hub, HubAddress, HubError, HubSettings, StoreError, Stores};
use pretty_assertions::assert_eq;

use super::NatsServer;
use crate::suite::{NOW, name, new};

/// The maximum size of a stream, in bytes.
const LIMIT: i64 = 300_000;
/// The length of each text, in bytes.
const TEXT: usize = 4_000;
const CLIENTS: usize = 4;
/// How much of each kind a client tries to store: together more than there is room for.
const WRITES: usize = 40;

fn open(server: &NatsServer) -> Stores {
    let settings = HubSettings {
        mail_bytes_max: LIMIT,
        ..HubSettings::new(HubAddress::parse(server.url()).unwrap())
    };
    Hub::new(settings).stores(&std::env::temp_dir())
}

/// Sets the maximum size of an existing stream.
pub fn set_limit(server: &NatsServer, stream: &str, bytes: i64) {
    let (url, stream) = (server.url().to_string(), format!("crewdeck_main_{stream}"));
    let update = async move {
        let client = async_nats::connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client);
        let stream = jetstream.get_stream(stream).await.unwrap();
        let mut config = stream.cached_info().config.clone();
        config.max_bytes = bytes;
        jetstream.update_stream(config).await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(update);
}

/// Returns whether a write was stored. Panics unless the only error is the one of a full stream.
fn is_stored<T>(result: Result<T, StoreError>, stream: &str) -> bool {
    let error = match result {
        Ok(_) => return true,
        Err(StoreError::Hub(error @ HubError::Full { .. })) => error.to_string(),
        Err(other) => panic!("{other}"),
    };
    assert!(!error.contains('\n'), "{error}");
    let beginning = format!("the stream crewdeck_main_{stream} of the hub ");
    assert!(error.starts_with(&beginning), "{error}");
    assert!(error.ends_with("; nothing was stored"), "{error}");
    false
}

fn task(subject: &str) -> NewTask {
    NewTask {
        description: "x".repeat(TEXT),
        ..new(subject, &[])
    }
}

fn message(id: &str) -> MailMessage {
    let (id, kind) = (MessageId(id.into()), MailKind::Message);
    let text = "x".repeat(TEXT);
    MailMessage::new(id, kind, &Name::lead(), &name("bob"), &text, NOW)
}

fn request(id: &str) -> Request {
    let (id, kind, bob) = (RequestId(id.into()), RequestKind::Plan, name("bob"));
    Request::new(id, kind, bob.clone(), bob, "x".repeat(TEXT), NOW)
}

fn event() -> EventKind {
    let text = "x".repeat(TEXT);
    AgentEvent::TextDelta { text }.of(name("bob"))
}

fn host(name: &str, tag: &str) -> HostInfo {
    HostInfo {
        slots: 1,
        tags: vec![tag.into()],
        ..HostInfo::new(HostName::parse(name).unwrap(), HostKind::Worker)
    }
}

/// The ids of what was stored.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    tasks: BTreeSet<String>,
    messages: BTreeSet<String>,
    requests: BTreeSet<String>,
}

impl Contents {
    /// Returns what a client finds that knows nothing yet.
    fn read(server: &NatsServer) -> Contents {
        let stores = open(server);
        let board = stores.board.read().unwrap();
        let recent = stores.mailbox.recent(CLIENTS * WRITES).unwrap();
        let requests = stores.requests.read_all().unwrap();
        let notices = [board.notices, recent.notices, requests.notices].concat();
        assert_eq!(notices, Vec::<String>::new());
        let (tasks, requests) = (board.graph.tasks(), requests.requests.iter());
        let messages = recent.messages.iter();
        Contents {
            tasks: tasks
                .map(|task| {
                    assert_eq!(task.description.len(), TEXT);
                    task.subject.clone()
                })
                .collect(),
            messages: messages.map(|(m, _)| m.id.0.clone()).collect(),
            requests: requests.map(|r| r.id.0.clone()).collect(),
        }
    }

    fn add(&mut self, mut other: Contents) {
        self.tasks.append(&mut other.tasks);
        self.messages.append(&mut other.messages);
        self.requests.append(&mut other.requests);
    }
}

/// Writes more than there is room for, and returns what was stored.
fn write_all(server: &NatsServer, client: usize) -> Contents {
    let stores = open(server);
    let hosts = stores.hosts.unwrap();
    let own = HostName::parse(&format!("host-{client}")).unwrap();
    let mut stored = Contents::default();
    for number in 0..WRITES {
        let id = format!("{client}-{number}");
        // Of events, the oldest are removed.
        hosts.publish(&own, &[event()]).unwrap();
        if is_stored(stores.board.create(task(&id), NOW), "tasks") {
            stored.tasks.insert(id.clone());
        }
        if is_stored(stores.mailbox.send(&message(&id)), "mail") {
            stored.messages.insert(id.clone());
        }
        if is_stored(stores.requests.create(&request(&id)), "state") {
            stored.requests.insert(id);
        }
    }
    stored
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn full_streams_reject_writes_whole_and_work_goes_on_with_more_room() {
    let server = NatsServer::start("");
    let stores = open(&server);
    let hosts = stores.hosts.clone().unwrap();
    // These create the streams.
    let first = stores.board.create(task("first"), NOW).unwrap().id;
    stores.roster.read().unwrap();
    let own = HostName::parse("laptop").unwrap();
    hosts.publish(&own, &[event()]).unwrap();
    for stream in ["tasks", "state", "events"] {
        set_limit(&server, stream, LIMIT);
    }

    let mut stored = Contents::default();
    stored.tasks.insert("first".into());
    let written: Vec<Contents> = std::thread::scope(|threads| {
        let shared = &server;
        let write = |client| threads.spawn(move || write_all(shared, client));
        let clients: Vec<_> = (0..CLIENTS).map(write).collect();
        let clients = clients.into_iter();
        clients.map(|client| client.join().unwrap()).collect()
    });
    for contents in written {
        stored.add(contents);
    }
    for ids in [&stored.tasks, &stored.messages, &stored.requests] {
        assert!((2..CLIENTS * WRITES).contains(&ids.len()), "{}", ids.len());
    }
    assert_eq!(Contents::read(&server), stored);

    // A host that cannot store its record holds no lease.
    let joined = hosts.join(&host("gpu", &"x".repeat(2 * TEXT)), None);
    assert!(!is_stored(joined.map(drop), "state"));
    let is_present = || {
        let all = hosts.hosts().unwrap();
        let mut all = all.iter();
        all.any(|host| host.presence == HostPresence::Present)
    };
    assert!(!is_present());
    // Removed tasks make room. Messages that were read do too, with the first one that needs it.
    let second = TaskId(first.0 + 1);
    for id in [first, second] {
        stores.board.remove(id, NOW).unwrap();
    }
    stores.board.create(task("later"), NOW).unwrap();
    // More room helps at once.
    set_limit(&server, "state", 2 * LIMIT);
    stores.requests.create(&request("later")).unwrap();
    let session = hosts.join(&host("gpu", "rust"), None).unwrap();
    assert!(session.is_valid() && is_present());
    session.leave();
    let decision = Decision::on(
        &request("later"),
        Verdict::Approve,
        Name::lead(),
        "fine".into(),
    );
    let decided = stores.requests.decide(&decision, NOW).unwrap();
    assert_eq!(decided.status, RequestStatus::Approved);
    let reader = stores.mailbox.reader(&name("bob"), Duration::ZERO).unwrap();
    let pending = reader.read_pending().unwrap();
    assert!(!pending.messages.is_empty());
    reader.acknowledge(&pending.upto).unwrap();
    stores.mailbox.send(&message("later")).unwrap();
    let found = Contents::read(&server);
    assert_eq!(found.tasks.len(), stored.tasks.len() - 1);
    let later = [&found.tasks, &found.messages, &found.requests];
    assert!(later.iter().all(|ids| ids.contains("later")));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn decision_without_room_leaves_its_request_pending() {
    let server = NatsServer::start("");
    let stores = open(&server);
    stores.requests.create(&request("first")).unwrap();
    set_limit(&server, "state", LIMIT);
    let mut number = 0;
    while is_stored(
        stores.requests.create(&request(&format!("r{number}"))),
        "state",
    ) {
        number += 1;
    }
    // There is no room for this comment.
    let decide = |verdict, comment: String| {
        let decision = Decision::on(&request("first"), verdict, Name::lead(), comment);
        stores.requests.decide(&decision, NOW)
    };
    let refused = decide(Verdict::Reject, "x".repeat(2 * TEXT));
    assert!(!is_stored(refused, "state"));
    let id = RequestId("first".into());
    let kept = stores.requests.get(&id).unwrap().unwrap();
    assert_eq!(kept.status, RequestStatus::Pending);
    set_limit(&server, "state", 2 * LIMIT);
    decide(Verdict::Approve, "fine".into()).unwrap();
    let decided = open(&server).requests.get(&id).unwrap().unwrap();
    assert_eq!(decided.status, RequestStatus::Approved);
}
