//! A crew with a secret: programs without it cannot take part, and their messages are ignored.

use std::time::Duration;

use crewdeck::domain::ids::{MessageId, Name, RequestId, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{Request, RequestKind};
use crewdeck::domain::team::Member;
use crewdeck::store::{
    Hub, HubAddress, HubError, HubLogin, HubSecret, HubSettings, StoreError, Stores,
};
use pretty_assertions::assert_eq;

use super::NatsServer;
use crate::suite::{NOW, claimer, name, new};

const SECRET: &str = "the secret of the crew";
const OTHER: &str = "the secret of another crew";

fn open(server: &NatsServer, secret: Option<&str>) -> Stores {
    let settings = HubSettings {
        secret: secret.map(|text| HubSecret::new(text).unwrap()),
        ..HubSettings::new(HubAddress::parse(server.url()).unwrap())
    };
    assert_eq!(settings.has_secret(), secret.is_some());
    Hub::new(settings).stores(&std::env::temp_dir())
}

fn message(id: &str) -> MailMessage {
    let (id, kind) = (MessageId(id.into()), MailKind::Message);
    MailMessage::new(id, kind, &Name::lead(), &name("bob"), "hello", NOW)
}

/// Stores a message as a program does that can write to the hub, but has no secret.
fn forge(server: &NatsServer, subject: &'static str, payload: &'static str) {
    let url = server.url().to_string();
    let publish = async move {
        let client = async_nats::connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client);
        let sent = jetstream.publish(subject, payload.into()).await.unwrap();
        sent.await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(publish);
}

fn hub_error<T>(result: Result<T, StoreError>) -> HubError {
    match result.err().unwrap() {
        StoreError::Hub(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.contains(SECRET), "{text}");
            println!("{text}");
            error
        }
        other => panic!("{other}"),
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn missing_and_wrong_secrets_are_refused() {
    let server = NatsServer::start("");
    let own = open(&server, Some(SECRET));
    own.board.create(new("a", &[]), NOW).unwrap();
    let missing = open(&server, None);
    let wrong = open(&server, Some(OTHER));
    // The stream of the messages does not exist yet, and must not be created by them.
    for error in [
        hub_error(missing.board.read()),
        hub_error(missing.mailbox.send(&message("m1"))),
    ] {
        assert!(matches!(error, HubError::SecretMissing { .. }), "{error}");
        let line = "this crew has a secret: set CREWDECK_HUB_SECRET";
        assert!(error.to_string().starts_with(line), "{error}");
    }
    for error in [
        hub_error(wrong.board.read()),
        hub_error(wrong.mailbox.send(&message("m1"))),
    ] {
        assert!(matches!(error, HubError::SecretWrong { .. }), "{error}");
    }
    own.mailbox.send(&message("m2")).unwrap();
    let again = open(&server, Some(SECRET));
    assert_eq!(again.board.read().unwrap().graph.len(), 1);
    assert_eq!(again.mailbox.peek(&name("bob")).unwrap().messages.len(), 1);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn secret_for_a_crew_without_one_is_refused() {
    let server = NatsServer::start("");
    let without = open(&server, None);
    without.board.create(new("a", &[]), NOW).unwrap();
    let with = open(&server, Some(SECRET));
    for error in [
        hub_error(with.board.read()),
        hub_error(with.mailbox.send(&message("m1"))),
    ] {
        assert!(matches!(error, HubError::NotSigned { .. }), "{error}");
    }
    without.mailbox.send(&message("m1")).unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn stream_is_not_created_while_another_one_gives_no_answer() {
    let server = NatsServer::start(
        "authorization { users: [
            { user: own, password: x },
            { user: other, password: x, permissions: {
                publish: { deny: \"$JS.API.STREAM.INFO.crewdeck_main_tasks\" } } } ] }",
    );
    let login = |name: &str, secret: Option<&str>| {
        let settings = HubSettings {
            secret: secret.map(|text| HubSecret::new(text).unwrap()),
            login: HubLogin::User {
                name: name.into(),
                password: "x".to_string().into(),
            },
            ..HubSettings::new(HubAddress::parse(server.url()).unwrap())
        };
        Hub::new(settings).stores(&std::env::temp_dir())
    };
    let own = login("own", Some(SECRET));
    own.board.create(new("a", &[]), NOW).unwrap();
    // The server does not answer whether the crew has tasks.
    let error = hub_error(login("other", None).mailbox.send(&message("m1")));
    assert!(matches!(error, HubError::Denied { .. }), "{error}");
    own.mailbox.send(&message("m2")).unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn forged_task_is_ignored_by_all_and_replaced_by_the_next_change() {
    let server = NatsServer::start("");
    let stores = open(&server, Some(SECRET));
    for subject in ["a", "b"] {
        stores.board.create(new(subject, &[]), NOW).unwrap();
    }
    forge(&server, "crewdeck.main.tasks.1", r#"{"task":{"id":"1"}}"#);
    forge(&server, "crewdeck.main.tasks.77", r#"{"task":{"id":"77"}}"#);
    // A program that has read the task before sees the same board as one that starts now.
    let other = open(&server, Some(SECRET));
    for stores in [&stores, &other] {
        let board = stores.board.read_and_repair().unwrap();
        assert_eq!(board.graph.len(), 1);
        assert_eq!(board.notices.len(), 2, "{:?}", board.notices);
        let notice = &board.notices[0];
        assert!(notice.contains("not signed with the secret"), "{notice}");
        let again = stores.board.read_and_repair().unwrap();
        assert_eq!(again.notices, Vec::<String>::new());
    }
    let created = other.board.create(new("c", &[]), NOW).unwrap();
    assert_eq!(created.id, TaskId(3));
    let claimed = stores.board.claim(None, &claimer("bob"), NOW).unwrap();
    assert_eq!(claimed.unwrap().id, TaskId(2));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn forged_requests_team_and_messages_are_ignored_and_can_be_replaced() {
    let server = NatsServer::start("");
    let stores = open(&server, Some(SECRET));
    let (id, bob) = (RequestId("r1".into()), name("bob"));
    let request = Request::new(
        id.clone(),
        RequestKind::Plan,
        bob.clone(),
        bob.clone(),
        "the plan".into(),
        NOW,
    );
    // This creates the streams.
    stores.roster.read().unwrap();
    stores.mailbox.send(&message("m1")).unwrap();
    forge(&server, "crewdeck.main.state.team", "{}");
    forge(&server, "crewdeck.main.state.member.bob", r#"{"member":7}"#);
    forge(&server, "crewdeck.main.state.request.r1", "{}");
    forge(&server, "crewdeck.main.mail.bob", r#"{"content":"forged"}"#);
    stores.mailbox.send(&message("m2")).unwrap();

    assert_eq!(stores.requests.get(&id).unwrap(), None);
    let reading = stores.requests.read_all().unwrap();
    assert_eq!(reading.requests, []);
    // Each problem is reported once, by the first read that can report one.
    let mut notices = reading.notices;
    stores.roster.read().unwrap();
    notices.extend(stores.roster.take_notices());
    notices.extend(stores.mailbox.recent(100).unwrap().notices);
    notices.extend(stores.mailbox.recent(100).unwrap().notices);
    assert_eq!(notices.len(), 4, "{notices:?}");
    assert!(notices.iter().all(|text| text.contains("not signed")));

    stores.requests.create(&request).unwrap();
    assert_eq!(stores.requests.get(&id).unwrap(), Some(request.clone()));
    assert!(stores.requests.create(&request).is_err());
    stores
        .roster
        .add_member(Member::new(bob.clone(), "tester"), 16)
        .unwrap();
    assert_eq!(stores.roster.read().unwrap().members.len(), 1);

    let unread = stores.mailbox.peek(&bob).unwrap();
    let ids: Vec<&str> = unread.messages.iter().map(|m| m.id.0.as_str()).collect();
    assert_eq!(ids, ["m1", "m2"]);
    assert_eq!(stores.mailbox.recent(100).unwrap().messages.len(), 2);
    assert_eq!(stores.mailbox.count_unread().unwrap()[0].count, 2);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn forged_lease_and_forged_end_of_a_lease_count_as_held() {
    let server = NatsServer::start("");
    let stores = open(&server, Some(SECRET));
    let bob = name("bob");
    let reader = stores.mailbox.reader(&bob, Duration::ZERO).unwrap();
    reader.close();
    assert!(!stores.mailbox.is_being_read(&bob));
    for payload in ["{}", ""] {
        forge(&server, "crewdeck.main.leases.reader.bob", payload);
        assert!(stores.mailbox.is_being_read(&bob), "{payload:?}");
        let refused = stores.mailbox.reader(&bob, Duration::ZERO).err().unwrap();
        assert!(matches!(refused, StoreError::BeingRead { .. }), "{refused}");
    }
    let notices = stores.roster.take_notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn unsigned_messages_do_not_block_an_inbox() {
    let server = NatsServer::start("");
    let stores = open(&server, Some(SECRET));
    let (mailbox, bob) = (&stores.mailbox, name("bob"));
    let forge_many = || {
        for _ in 0..12 {
            forge(&server, "crewdeck.main.mail.bob", "{}");
        }
    };
    mailbox.send(&message("m1")).unwrap();
    forge_many();
    mailbox.send(&message("m2")).unwrap();
    let reader = mailbox.reader(&bob, Duration::ZERO).unwrap();
    let pending = reader.read_pending().unwrap();
    let ids: Vec<&str> = pending.messages.iter().map(|m| m.id.0.as_str()).collect();
    assert_eq!(ids, ["m1", "m2"]);
    reader.acknowledge(&pending.upto).unwrap();
    drop(reader);
    // Only skipped messages follow: the owner moves the read position past them.
    forge_many();
    assert_eq!(mailbox.count_unread().unwrap(), []);
    assert!(mailbox.peek(&bob).unwrap().needs_reader());
    let reader = mailbox.reader(&bob, Duration::ZERO).unwrap();
    assert_eq!(reader.read_pending().unwrap().messages, []);
    assert!(!mailbox.peek(&bob).unwrap().needs_reader());
    assert!(!mailbox.has_unread(&[bob]).unwrap());
}
