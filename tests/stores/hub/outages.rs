//! Outages of the server, and state on it that goes back.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crewdeck::domain::ids::{MessageId, Name, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::team::{Member, MemberStatus};
use crewdeck::store::watch::Dirty;
use crewdeck::store::{Hub, HubAddress, HubSettings, HubStorage, StoreError, Stores};

use super::{Crew, NatsServer};
use crate::suite::{Backend, NOW, name, new};

fn settings(server: &NatsServer) -> HubSettings {
    HubSettings::new(HubAddress::parse(server.url()).unwrap())
}

fn open(settings: HubSettings) -> Stores {
    Hub::new(settings).stores(&std::env::temp_dir())
}

fn in_memory(server: &NatsServer) -> Stores {
    open(HubSettings {
        storage: HubStorage::Memory,
        ..settings(server)
    })
}

fn message(text: &str) -> MailMessage {
    let (id, kind) = (MessageId(text.into()), MailKind::Message);
    MailMessage::new(id, kind, &Name::lead(), &name("bob"), text, NOW)
}

fn texts(stores: &Stores) -> Vec<String> {
    let unread = stores.mailbox.peek(&name("bob")).unwrap();
    unread.messages.into_iter().map(|m| m.content).collect()
}

fn delete_stream(server: &NatsServer, stream: &'static str) {
    let url = server.url().to_string();
    let delete = async move {
        let client = async_nats::connect(url).await.unwrap();
        let jetstream = async_nats::jetstream::new(client);
        jetstream.delete_stream(stream).await.unwrap();
    };
    tokio::runtime::Runtime::new().unwrap().block_on(delete);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn message_whose_send_failed_is_not_stored_later() {
    let server = NatsServer::start("");
    let stores = open(settings(&server));
    stores.mailbox.send(&message("first")).unwrap();
    server.stop();
    // Until the client has noticed the end of the connection.
    std::thread::sleep(Duration::from_secs(1));
    let error = stores.mailbox.send(&message("second")).unwrap_err();
    assert!(matches!(error, StoreError::Hub(_)), "{error}");
    println!("{error}");
    server.restart();
    stores.mailbox.send(&message("third")).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(texts(&stores), ["first", "third"]);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn board_follows_a_server_whose_state_went_back() {
    let server = NatsServer::start("");
    let (stores, other) = (in_memory(&server), in_memory(&server));
    for text in ["a", "b", "c"] {
        stores.board.create(new(text, &[]), NOW).unwrap();
    }
    assert_eq!(other.board.read().unwrap().graph.len(), 3);
    server.restart();
    assert_eq!(other.board.read().unwrap().graph.len(), 0);
    let created = stores.board.create(new("d", &[]), NOW).unwrap();
    assert_eq!(created.id, TaskId(1));
    assert_eq!(other.board.get(TaskId(1)).unwrap().subject, "d");
    stores.mailbox.send(&message("hello")).unwrap();
    assert_eq!(texts(&other), ["hello"]);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn deleted_streams_are_opened_again() {
    let server = NatsServer::start("");
    let (stores, other) = (open(settings(&server)), open(settings(&server)));
    for text in ["a", "b", "c"] {
        stores.board.create(new(text, &[]), NOW).unwrap();
        stores.mailbox.send(&message(text)).unwrap();
    }
    assert_eq!(other.board.read().unwrap().graph.len(), 3);
    delete_stream(&server, "crewdeck_main_tasks");
    delete_stream(&server, "crewdeck_main_mail");
    assert_eq!(stores.board.read().unwrap().graph.len(), 0);
    let created = stores.board.create(new("d", &[]), NOW).unwrap();
    assert_eq!(created.id, TaskId(1));
    // This client has not noticed anything yet. Its write conflicts with the new stream.
    let created = other.board.create(new("e", &[]), NOW).unwrap();
    assert_eq!(created.id, TaskId(2));
    assert_eq!(other.board.read().unwrap().graph.len(), 2);
    assert_eq!(stores.mailbox.count_unread().unwrap(), []);
    stores.mailbox.send(&message("hello")).unwrap();
    assert_eq!(texts(&other), ["hello"]);
}

/// Takes all unread messages.
fn take(stores: &Stores) -> Vec<String> {
    let reader = stores.mailbox.reader(&name("bob"), Duration::ZERO).unwrap();
    let pending = reader.read_pending().unwrap();
    reader.acknowledge(&pending.upto).unwrap();
    reader.close();
    pending.messages.into_iter().map(|m| m.content).collect()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn new_stream_with_lower_numbers_loses_no_message() {
    let server = NatsServer::start("");
    let stores = open(settings(&server));
    for text in ["a", "b", "c"] {
        stores.mailbox.send(&message(text)).unwrap();
    }
    assert_eq!(take(&stores), ["a", "b", "c"]);
    delete_stream(&server, "crewdeck_main_mail");
    for text in ["d", "e"] {
        stores.mailbox.send(&message(text)).unwrap();
    }
    // This client knows only the new stream.
    let other = open(settings(&server));
    assert!(other.mailbox.has_unread(&[name("bob")]).unwrap());
    assert_eq!(texts(&other), ["d", "e"]);
    assert_eq!(take(&stores), ["d", "e"]);
    stores.mailbox.send(&message("f")).unwrap();
    assert_eq!(take(&other), ["f"]);
    assert_eq!(texts(&stores), Vec::<String>::new());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn open_reader_follows_a_new_stream_with_lower_numbers() {
    let server = NatsServer::start("");
    let stores = open(settings(&server));
    for text in ["a", "b", "c"] {
        stores.mailbox.send(&message(text)).unwrap();
    }
    let reader = stores.mailbox.reader(&name("bob"), Duration::ZERO).unwrap();
    let old = reader.read_pending().unwrap();
    reader.acknowledge(&old.upto).unwrap();
    delete_stream(&server, "crewdeck_main_mail");
    stores.mailbox.send(&message("d")).unwrap();
    let pending = reader.read_pending().unwrap();
    assert_eq!(pending.messages.len(), 1);
    reader.acknowledge(&pending.upto).unwrap();
    reader.close();
    assert_eq!(texts(&open(settings(&server))), Vec::<String>::new());
}

fn add_member(stores: &Stores, text: &str) -> usize {
    let member = Member::new(name(text), "worker");
    let team = stores.roster.add_member(member, 16).unwrap();
    team.members.len()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn roster_follows_a_server_whose_state_went_back() {
    let server = NatsServer::start("");
    let (stores, other) = (in_memory(&server), in_memory(&server));
    for text in ["alice", "bob"] {
        add_member(&stores, text);
    }
    assert_eq!(other.roster.read().unwrap().members.len(), 2);
    server.restart();
    assert_eq!(other.roster.read().unwrap().members.len(), 0);
    assert_eq!(add_member(&stores, "bob"), 1);
    assert_eq!(add_member(&other, "alice"), 2);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn change_of_the_team_notices_a_stream_that_was_created_again() {
    let server = NatsServer::start("");
    let all = [(); 3].map(|()| open(settings(&server)));
    for text in ["alice", "bob", "carol"] {
        add_member(&all[0], text);
    }
    for stores in &all {
        assert_eq!(stores.roster.read().unwrap().members.len(), 3);
    }
    delete_stream(&server, "crewdeck_main_state");
    assert_eq!(add_member(&all[0], "dora"), 1);
    assert_eq!(add_member(&all[0], "erin"), 2);
    // These clients have not noticed anything yet.
    assert_eq!(add_member(&all[1], "bob"), 3);
    let (bob, status) = (name("bob"), MemberStatus::Working);
    let team = all[2].roster.set_status(&bob, status, NOW).unwrap();
    assert_eq!(team.members.len(), 3);
    assert_eq!(team, all[0].roster.read().unwrap());
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn write_to_a_deleted_stream_opens_it_again() {
    let server = NatsServer::start("");
    let stores = open(settings(&server));
    stores.mailbox.send(&message("a")).unwrap();
    delete_stream(&server, "crewdeck_main_mail");
    stores.mailbox.send(&message("b")).unwrap();
    assert_eq!(texts(&stores), ["b"]);
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn watch_reports_changes_after_the_state_went_back() {
    let server = NatsServer::start("");
    let (stores, other) = (in_memory(&server), in_memory(&server));
    for text in ["a", "b", "c"] {
        stores.board.create(new(text, &[]), NOW).unwrap();
    }
    let (sender, reports) = mpsc::channel();
    let report = Box::new(move |dirty| drop(sender.send(dirty)));
    let _watch = other.changes.watch(report).unwrap();
    server.restart();
    stores.board.create(new("d", &[]), NOW).unwrap();
    // The watch has started again, and has reported everything.
    std::thread::sleep(Duration::from_secs(3));
    while reports.try_recv().is_ok() {}
    stores.board.create(new("e", &[]), NOW).unwrap();
    let began = Instant::now();
    loop {
        let left = Duration::from_secs(5).saturating_sub(began.elapsed());
        if let Dirty::Board(_) = reports.recv_timeout(left).unwrap() {
            break;
        }
    }
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn reserved_number_survives_a_racing_write() {
    let crew = Crew::new();
    let stores = crew.open();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let other = crew.open();
            let task = other.board.create(new("busy", &[]), NOW).unwrap();
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let edit = crewdeck::domain::graph::TaskEdit {
                    description: Some(uuid::Uuid::now_v7().to_string()),
                    ..Default::default()
                };
                other.board.edit(task.id, &edit, NOW).unwrap();
            }
        });
        let mut results = Vec::new();
        for number in 0..40 {
            let wanted = new(&format!("task {number}"), &[]);
            let reserved = stores.board.reserve(&wanted, NOW).unwrap();
            let created = stores.board.create_as(Some(reserved), wanted, NOW).unwrap();
            results.push((reserved, created.id));
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(results.iter().all(|(a, b)| a == b), "{results:?}");
    });
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn damaged_record_leaves_all_clients_with_the_same_board() {
    let crew = Crew::new();
    let stores = crew.open();
    let first = stores.board.create(new("a", &[]), NOW).unwrap();
    stores.board.create(new("b", &[first.id]), NOW).unwrap();
    // The record of the first task now has the dependencies of the second one.
    let bob = crate::suite::claimer("bob");
    stores.board.claim(Some(first.id), &bob, NOW).unwrap();
    stores.board.complete(first.id, &bob.name, NOW).unwrap();
    stores.board.read().unwrap();
    crew.damage_task(first.id);
    let known = stores.board.read().unwrap();
    let fresh = crew.open().board.read().unwrap();
    assert_eq!(known.graph, fresh.graph);
    assert_eq!(known.notices, fresh.notices);
}
