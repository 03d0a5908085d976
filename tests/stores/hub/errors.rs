//! Each cause of a failure is named in one clear line, and nothing is stored by halves.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use crewdeck::domain::graph::{NewTask, PlannedTask, TaskEdit, TaskGraph};
use crewdeck::domain::ids::{MessageId, Name, RequestId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{Request, RequestKind};
use crewdeck::domain::team::Member;
use crewdeck::store::{Hub, HubAddress, HubError, HubLogin, HubSettings, StoreError, Stores};

use super::NatsServer;
use super::full::set_limit;
use crate::suite::{NOW, claimer, name, new};

fn settings(url: &str) -> HubSettings {
    HubSettings::new(HubAddress::parse(url).unwrap())
}

fn open(settings: HubSettings) -> Stores {
    Hub::new(settings).stores(&std::env::temp_dir())
}

/// Returns the error of the first use of the hub.
fn first_error(settings: HubSettings) -> HubError {
    match open(settings).board.read().unwrap_err() {
        StoreError::Hub(error) => {
            let text = error.to_string();
            assert!(!text.contains('\n'), "{text}");
            println!("{text}");
            error
        }
        other => panic!("{other}"),
    }
}

fn message(id: usize, text: &str) -> MailMessage {
    let id = MessageId(format!("m{id}"));
    let (kind, lead) = (MailKind::Message, Name::lead());
    MailMessage::new(id, kind, &lead, &name("bob"), text, NOW)
}

#[test]
fn missing_server_is_named() {
    let error = first_error(settings(&format!(
        "nats://127.0.0.1:{}",
        super::free_port()
    )));
    assert!(matches!(error, HubError::Unreachable { .. }), "{error:?}");
}

#[test]
fn failed_connection_inside_a_runtime_is_an_error() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = format!("nats://127.0.0.1:{}", super::free_port());
    let error = runtime.block_on(async { first_error(settings(&url)) });
    assert!(matches!(error, HubError::Unreachable { .. }), "{error:?}");
}

#[test]
fn password_is_not_sent_without_tls() {
    for login in [
        HubLogin::Token("x".to_string().into()),
        HubLogin::User {
            name: "crew".into(),
            password: "x".to_string().into(),
        },
    ] {
        // An address for documentation, where no server is.
        let error = first_error(HubSettings {
            login,
            ..settings("nats://127.0.0.1:1,nats://192.0.2.1:4222")
        });
        assert!(matches!(error, HubError::PlainLogin { .. }), "{error:?}");
    }
}

#[test]
fn unknown_host_name_is_named_with_each_login() {
    // A part of a name has at most 63 characters, so no name server is asked.
    let host = format!("{}.example.org", "a".repeat(64));
    let user = || HubLogin::User {
        name: "crew".into(),
        password: "x".to_string().into(),
    };
    for (scheme, login) in [
        ("nats", HubLogin::None),
        ("nats", user()),
        ("tls", user()),
        ("nats", HubLogin::Token("x".to_string().into())),
    ] {
        let error = first_error(HubSettings {
            login,
            ..settings(&format!("{scheme}://{host}:4222"))
        });
        assert!(matches!(error, HubError::UnknownHost { .. }), "{error:?}");
        let text = error.to_string();
        let is_clear = text.contains("was not found") && !text.contains("hub.ca");
        assert!(is_clear, "{text}");
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn certificate_authority_requires_tls() {
    let server = NatsServer::start("");
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, "").unwrap();
    let error = first_error(HubSettings {
        ca: Some(ca),
        ..settings(server.url())
    });
    assert!(matches!(error, HubError::Tls { .. }), "{error:?}");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn server_that_cannot_reserve_the_space_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&format!(
        "jetstream {{ store_dir: \"{}\", max_file_store: 50MB }}",
        folder.path().display()
    ));
    let error = first_error(settings(server.url()));
    assert!(
        matches!(&error, HubError::NoSpace { mebibytes: 128, .. }),
        "{error:?}"
    );
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn larger_maximum_is_applied_to_stored_messages() {
    let server = NatsServer::start("");
    let with_max = |mail_bytes_max, is_mail_max_set| {
        open(HubSettings {
            mail_bytes_max,
            is_mail_max_set,
            ..settings(server.url())
        })
    };
    let text = "x".repeat(30_000);
    let send = |stores: &Stores, from: usize| {
        let mut ids = from..from + 4;
        ids.try_for_each(|id| stores.mailbox.send(&message(id, &text)))
    };
    let error = send(&with_max(100_000, true), 0).unwrap_err().to_string();
    assert!(error.contains("crewdeck_main_mail"), "{error}");
    assert!(error.contains("raise hub.mail_max_mb"), "{error}");
    // Only a set maximum counts.
    send(&with_max(1_000_000, false), 4).unwrap_err();
    send(&with_max(1_000_000, true), 8).unwrap();
}

#[test]
fn old_server_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let info = r#"{"server_id":"x","version":"2.9.10","go":"go1","host":"127.0.0.1","port":1,"max_payload":1048576,"jetstream":true,"headers":true,"proto":1}"#;
        client
            .write_all(format!("INFO {info}\r\n").as_bytes())
            .unwrap();
        let mut received = Vec::new();
        let mut bytes = [0; 1024];
        while !received.ends_with(b"PING\r\n") {
            let count = client.read(&mut bytes).unwrap();
            received.extend_from_slice(&bytes[..count]);
        }
        client.write_all(b"PONG\r\n").unwrap();
        // Waits until the client has read the answer and ended the connection.
        let _ = client.read(&mut bytes);
    });
    let error = first_error(settings(&url));
    let expected = matches!(&error, HubError::TooOld { version, .. } if version == "2.9.10");
    assert!(expected, "{error:?}");
    server.join().unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn state_of_a_newer_version_is_not_changed() {
    let server = NatsServer::start("");
    let url = server.url().to_string();
    let create = async move {
        let client = async_nats::connect(url).await.unwrap();
        let config = async_nats::jetstream::stream::Config {
            name: "crewdeck_main_tasks".into(),
            subjects: vec!["crewdeck.main.tasks.>".into()],
            metadata: HashMap::from([("crewdeck-format".into(), "2".into())]),
            ..Default::default()
        };
        let jetstream = async_nats::jetstream::new(client);
        jetstream.create_stream(config).await.unwrap();
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(create);
    let error = first_error(settings(server.url()));
    assert!(matches!(error, HubError::Newer { .. }), "{error:?}");
    let stores = open(settings(server.url()));
    assert!(stores.board.create(new("a", &[]), NOW).is_err());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn server_without_jetstream_is_named() {
    let server = NatsServer::start("jetstream: disabled");
    let error = first_error(settings(server.url()));
    assert!(matches!(error, HubError::NoJetStream { .. }), "{error:?}");
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn account_without_jetstream_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&format!(
        "jetstream {{ store_dir: \"{}\" }}
        accounts {{
            with {{ jetstream: enabled, users: [ {{ user: a, password: x }} ] }}
            without {{ users: [ {{ user: b, password: x }} ] }}
        }}",
        folder.path().display()
    ));
    let login = |name: &str| HubSettings {
        login: HubLogin::User {
            name: name.into(),
            password: "x".to_string().into(),
        },
        ..settings(server.url())
    };
    let error = first_error(login("b"));
    assert!(matches!(error, HubError::NoJetStream { .. }), "{error:?}");
    open(login("a")).board.read().unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn wrong_login_is_named_and_the_right_one_works() {
    let server = NatsServer::start("authorization { user: crew, password: right }");
    let login = |password: &str| HubSettings {
        login: HubLogin::User {
            name: "crew".into(),
            password: password.to_string().into(),
        },
        ..settings(server.url())
    };
    for wrong in [settings(server.url()), login("wrong")] {
        let error = first_error(wrong);
        assert!(matches!(error, HubError::Login { .. }), "{error:?}");
    }
    open(login("right"))
        .board
        .create(new("a", &[]), NOW)
        .unwrap();
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn login_without_permission_is_named() {
    let server = NatsServer::start(
        "authorization { users: [ { user: reader, password: x, permissions: { publish: { deny: \"crewdeck.>\" } } } ] }",
    );
    let login = HubLogin::User {
        name: "reader".into(),
        password: "x".to_string().into(),
    };
    let stores = open(HubSettings {
        login,
        ..settings(server.url())
    });
    let error = stores.board.create(new("a", &[]), NOW).unwrap_err();
    println!("{error}");
    let is_named = matches!(&error, StoreError::Hub(HubError::Denied { why, .. }) if why.contains("crewdeck.main.tasks.1"));
    assert!(is_named, "{error:?}");
    assert_eq!(stores.board.read().unwrap().graph.len(), 0);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn login_that_must_not_create_streams_uses_those_of_another() {
    let server = NatsServer::start(
        "authorization { users: [
            { user: lead, password: x },
            { user: worker, password: x, permissions: { publish: { deny: \"$JS.API.STREAM.CREATE.>\" } } } ] }",
    );
    let login = |name: &str| HubSettings {
        login: HubLogin::User {
            name: name.into(),
            password: "x".to_string().into(),
        },
        ..settings(server.url())
    };
    let error = first_error(login("worker"));
    let is_named = matches!(&error, HubError::Denied { why, .. } if why.contains("STREAM.CREATE"));
    assert!(is_named, "{error:?}");
    assert!(error.to_string().contains("permit it"), "{error}");
    let (lead, worker) = (open(login("lead")), open(login("worker")));
    assert!(worker.board.create(new("a", &[]), NOW).is_err());
    lead.board.create(new("b", &[]), NOW).unwrap();
    // The same process needs no new start.
    worker.board.create(new("c", &[]), NOW).unwrap();
    assert_eq!(lead.board.read().unwrap().graph.len(), 2);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn full_stream_keeps_unread_messages_and_drops_read_ones() {
    let server = NatsServer::start("");
    let stores = open(HubSettings {
        mail_bytes_max: 100_000,
        ..settings(server.url())
    });
    let text = "x".repeat(10_000);
    let mut sent = 0;
    let error = loop {
        match stores.mailbox.send(&message(sent, &text)) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!((5..10).contains(&sent), "{sent}");
    assert!(
        matches!(error, StoreError::Hub(HubError::Full { .. })),
        "{error:?}"
    );
    println!("{error}");
    let reader = stores.mailbox.reader(&name("bob"), Duration::ZERO).unwrap();
    let pending = reader.read_pending().unwrap();
    assert_eq!(pending.messages.len(), sent);
    reader.acknowledge(&pending.upto).unwrap();
    stores.mailbox.send(&message(sent, &text)).unwrap();
    assert_eq!(reader.read_pending().unwrap().messages.len(), 1);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn change_over_the_limit_is_named_and_stores_nothing() {
    let server = NatsServer::start("max_payload: 20000");
    let stores = open(settings(server.url()));
    let mut long = new("a", &[]);
    long.description = "x".repeat(30_000);
    let error = stores.board.create(long, NOW).unwrap_err();
    assert!(
        matches!(error, StoreError::Hub(HubError::TooLarge { .. })),
        "{error:?}"
    );
    println!("{error}");
    let error = stores
        .mailbox
        .send(&message(1, &"x".repeat(30_000)))
        .unwrap_err();
    assert!(
        matches!(error, StoreError::Hub(HubError::TooLarge { .. })),
        "{error:?}"
    );
    assert_eq!(stores.board.read().unwrap().graph.len(), 0);
    assert_eq!(stores.mailbox.count_unread().unwrap(), []);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn changes_over_the_limit_keep_what_was_before() {
    let server = NatsServer::start("max_payload: 20000");
    let stores = open(settings(server.url()));
    let long = || "x".repeat(30_000);
    let is_too_large = |error: Option<StoreError>| {
        let error = error.unwrap();
        println!("{error}");
        matches!(
            error,
            StoreError::Hub(HubError::TooLarge { limit: 20_000, .. })
        )
    };
    let before = stores.board.create(new("a", &[]), NOW).unwrap();
    let edit = TaskEdit {
        description: Some(long()),
        ..TaskEdit::default()
    };
    assert!(is_too_large(stores.board.edit(before.id, &edit, NOW).err()));
    let (kind, bob) = (RequestKind::Plan, name("bob"));
    let request = |body| {
        let id = RequestId("r1".into());
        Request::new(id, kind, bob.clone(), bob.clone(), body, NOW)
    };
    assert!(is_too_large(stores.requests.create(&request(long())).err()));
    let member = |first| Member {
        first,
        ..Member::new(bob.clone(), "tester")
    };
    let add = |member| stores.roster.add_member(member, 16);
    assert!(is_too_large(add(member(long())).err()));
    let other = open(settings(server.url()));
    assert_eq!(*other.board.get(before.id).unwrap(), before);
    assert_eq!(other.requests.read_all().unwrap().requests, []);
    assert_eq!(other.roster.read().unwrap().members, []);
    // The same id and name can be used.
    stores.requests.create(&request("short".into())).unwrap();
    add(member("short".into())).unwrap();
}

fn import(stores: &Stores, sizes: &[usize]) -> Result<usize, StoreError> {
    let plan = |_: &TaskGraph| {
        let planned = sizes.iter().map(|size| PlannedTask {
            new: NewTask {
                description: "x".repeat(*size),
                ..new("imported", &[])
            },
            ..PlannedTask::default()
        });
        Ok::<_, StoreError>(planned.collect())
    };
    Ok(stores.board.create_all(plan, NOW)?.len())
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn import_may_be_larger_than_a_message_but_its_tasks_may_not() {
    let server = NatsServer::start("max_payload: 20000");
    let stores = open(settings(server.url()));
    let error = import(&stores, &[5_000, 5_000, 30_000]).unwrap_err();
    println!("{error}");
    assert!(error.to_string().contains("task #3"), "{error}");
    let other = open(settings(server.url()));
    assert_eq!(other.board.read().unwrap().graph.len(), 0);
    assert_eq!(import(&stores, &[10_000; 9]).unwrap(), 9);
    assert_eq!(other.board.read().unwrap().graph.len(), 9);
    assert_eq!(import(&other, &[100; 9]).unwrap(), 9);
    let fresh = open(settings(server.url())).board.read().unwrap();
    assert_eq!((fresh.graph.len(), fresh.notices), (18, vec![]));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn import_into_a_full_stream_leaves_nothing() {
    let server = NatsServer::start("max_payload: 20000");
    let stores = open(settings(server.url()));
    stores.board.create(new("a", &[]), NOW).unwrap();
    set_limit(&server, "tasks", 100_000);
    let error = import(&stores, &[10_000; 20]).unwrap_err();
    println!("{error}");
    assert!(
        matches!(error, StoreError::Hub(HubError::Full { .. })),
        "{error:?}"
    );
    let other = open(settings(server.url()));
    assert_eq!(other.board.read().unwrap().graph.len(), 1);
    // The parts that were stored take no room any more.
    assert_eq!(import(&other, &[10_000; 7]).unwrap(), 7);
    let board = open(settings(server.url())).board.read().unwrap();
    assert_eq!((board.graph.len(), board.notices), (8, vec![]));
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn change_survives_a_kill_of_the_server() {
    let server = NatsServer::start("");
    let stores = open(settings(server.url()));
    stores.board.create(new("a", &[]), NOW).unwrap();
    stores.mailbox.send(&message(1, "hello")).unwrap();
    server.restart();
    // The client connects again, and the request is repeated until the server answers.
    let task = stores.board.claim(None, &claimer("bob"), NOW).unwrap();
    assert_eq!(task.unwrap().subject, "a");
    let other = open(settings(server.url()));
    assert_eq!(other.board.read().unwrap().graph.len(), 1);
    assert_eq!(other.mailbox.peek(&name("bob")).unwrap().messages.len(), 1);
    // The server still knows the ids of earlier messages.
    other.mailbox.send(&message(1, "hello")).unwrap();
    assert_eq!(other.mailbox.peek(&name("bob")).unwrap().messages.len(), 1);
}
