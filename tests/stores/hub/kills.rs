//! Processes that work on one hub while they and its server are killed at random moments: no task is lost, done twice or
//! owned twice, and each message is in the conversation once.
//!
//! The test binary starts itself again with a role in the environment. More kills: `CREWDECK_ROUNDS=10`. With
//! `CREWDECK_NATS_URL`, only the processes are killed, and another program may kill the servers meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crewdeck::domain::chat::{Block, Message};
use crewdeck::domain::conversation::LogRecord;
use crewdeck::domain::graph::GraphError;
use crewdeck::domain::ids::{MessageId, Name, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::task::TaskStatus;
use crewdeck::store::{Hub, HubAddress, HubSettings, StoreError, Stores, TranscriptFile};

use super::{Crew, replicas};
use crate::suite::{NOW, claimer, name, new};

const ROLE: &str = "CREWDECK_KILLS_ROLE";
const ROOT: &str = "CREWDECK_KILLS_ROOT";
const URL: &str = "CREWDECK_KILLS_URL";
const TASKS: usize = 500;
/// Number of messages of each sender.
const MESSAGES: usize = 400;
/// Pause of each process after a change, so that the work lasts as long as the kills.
const PAUSE: Duration = Duration::from_millis(5);
const SENDERS: [&str; 2] = ["sender-1", "sender-2"];
const WORKERS: [&str; 3] = ["worker-1", "worker-2", "worker-3"];
/// Number of kills in one round.
const KILLS: u64 = 20;
/// A killed reader keeps its lease for 15 seconds, so few are killed.
const READER_KILLS: u64 = 2;
/// Maximum time for the work after the last kill.
const ENDS_WITHIN: Duration = Duration::from_secs(180);

fn open(url: &str, root: &Path) -> Stores {
    let settings = HubSettings {
        replicas: replicas(),
        ..HubSettings::new(HubAddress::parse(url).unwrap())
    };
    Hub::new(settings).stores(root)
}

/// Records a line that survives a kill of this process.
fn record(root: &Path, role: &str, line: &str) {
    let path = root.join(format!("{role}.txt"));
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.unwrap()
        .write_all(format!("{line}\n").as_bytes())
        .unwrap();
}

fn recorded(root: &Path, role: &str) -> Vec<String> {
    let path = root.join(format!("{role}.txt"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_string).collect()
}

/// Repeats `work` until the hub answers. `work` looks at the state before it changes anything.
fn until_answered<T>(mut work: impl FnMut() -> Result<T, StoreError>) -> T {
    loop {
        match work() {
            Ok(done) => return done,
            Err(StoreError::Hub(error)) => eprintln!("{error}"),
            Err(StoreError::BeingRead { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn create(stores: &Stores) {
    loop {
        let is_complete = until_answered(|| {
            let graph = stores.board.read()?.graph;
            let next = graph.len();
            if next == TASKS {
                return Ok(true);
            }
            // Every third task waits for the two before it, if they are not done yet.
            let waits = |back: usize| {
                let task = graph.tasks().nth(next.checked_sub(back)?)?;
                (task.status != TaskStatus::Completed).then_some(task.id)
            };
            let on: Vec<TaskId> = match next % 3 {
                2 => [waits(1), waits(2)].into_iter().flatten().collect(),
                _ => Vec::new(),
            };
            match stores.board.create(new(&format!("task {next}"), &on), NOW) {
                // A blocker was completed in between.
                Err(StoreError::Graph(GraphError::CompletedBlocker(_))) | Ok(_) => Ok(false),
                Err(error) => Err(error),
            }
        });
        if is_complete {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

fn work(stores: &Stores, root: &Path, role: &str) {
    let who = claimer(role);
    loop {
        let task = until_answered(|| match stores.board.claim(None, &who, NOW) {
            // The task that this worker had before it was killed.
            Err(StoreError::Graph(GraphError::Busy { open, .. })) => {
                Ok(Some((*stores.board.get(open)?).clone()))
            }
            other => other,
        });
        let Some(task) = task else {
            let graph = until_answered(|| Ok(stores.board.read()?.graph));
            if graph.len() == TASKS && !graph.has_open() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        record(root, role, &format!("claimed {}", task.id.0));
        std::thread::sleep(PAUSE);
        until_answered(|| {
            let is_done = stores.board.get(task.id)?.status == TaskStatus::Completed;
            if !is_done {
                stores.board.complete(task.id, &who.name, NOW)?;
                record(root, role, &format!("completed {}", task.id.0));
            }
            Ok(())
        });
    }
}

fn send(stores: &Stores, root: &Path, role: &str) {
    let (kind, from) = (MailKind::Message, Name::lead());
    for n in recorded(root, role).len()..MESSAGES {
        let text = format!("[{role} {n}]");
        let id = MessageId(format!("{role}-{n}"));
        let message = MailMessage::new(id, kind.clone(), &from, &name("bob"), &text, NOW);
        until_answered(|| stores.mailbox.send(&message));
        record(root, role, "sent");
        std::thread::sleep(PAUSE);
    }
}

fn read(stores: &Stores, root: &Path) {
    let bob = name("bob");
    let log = TranscriptFile::open(root, "session", &bob);
    loop {
        let is_sent = SENDERS.iter().all(|s| recorded(root, s).len() == MESSAGES);
        let count = until_answered(|| {
            let reader = stores.mailbox.reader(&bob, Duration::from_millis(200))?;
            let pending = reader.read_pending()?;
            if pending.messages.is_empty() {
                return Ok(0);
            }
            reader.announce(&log, &pending.upto)?;
            let texts = pending.messages.iter().map(|m| m.content.as_str());
            let text: Vec<&str> = texts.collect();
            log.append(&LogRecord::Delivery {
                message: Message::user(vec![Block::text(text.join(" "))]),
                inbox: Some(pending.upto.offset),
                ended: Vec::new(),
                prompts: Vec::new(),
            })?;
            reader.acknowledge(&pending.upto)?;
            Ok(pending.messages.len())
        });
        if count == 0 && is_sent {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Does the work of one process. Does nothing in a normal test run.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let root = PathBuf::from(std::env::var_os(ROOT).unwrap());
    let stores = open(&std::env::var(URL).unwrap(), &root);
    match role.as_str() {
        "creator" => create(&stores),
        "reader" => read(&stores, &root),
        role if role.starts_with("sender") => send(&stores, &root, role),
        role => work(&stores, &root, role),
    }
}

fn start(role: &str, url: &str, root: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hub::kills::role", "--nocapture"])
        .env(ROLE, role)
        .env(ROOT, root)
        .env(URL, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn killed_processes_and_servers_lose_and_double_nothing() {
    let rounds = std::env::var("CREWDECK_ROUNDS").ok();
    let rounds: u64 = rounds.and_then(|n| n.parse().ok()).unwrap_or(1);
    for _ in 0..rounds {
        round();
    }
}

fn round() {
    let crew = Crew::alone();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    std::fs::create_dir(root.join(".transcripts")).unwrap();
    let url = &crew.address();
    let roles: Vec<&str> = [&["creator", "reader"][..], &SENDERS, &WORKERS].concat();
    let start_all = roles.iter().map(|role| (*role, start(role, url, root)));
    let mut running: Vec<(&str, Child)> = start_all.collect();
    let random = |n: u64| RandomState::new().hash_one(n);
    let (mut kills, mut reader_kills) = (0, 0);
    while kills < KILLS {
        std::thread::sleep(Duration::from_millis(20 + random(kills) % 200));
        let victim = usize::try_from(random(kills) % (roles.len() as u64 + 1)).unwrap();
        if victim == roles.len() {
            crew.restart_server();
            kills += 1;
            continue;
        }
        let (role, child) = &mut running[victim];
        if *role == "reader" {
            if reader_kills == READER_KILLS {
                continue;
            }
            reader_kills += 1;
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        *child = start(role, url, root);
        kills += 1;
    }
    let began = Instant::now();
    for (role, child) in &mut running {
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{role}");
                break;
            }
            if began.elapsed() > ENDS_WITHIN {
                let _ = child.kill();
                panic!("{role} does not end");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    check(&open(url, root), root);
    println!("{kills} kills, {} s", began.elapsed().as_secs());
}

fn check(stores: &Stores, root: &Path) {
    let graph = stores.board.read().unwrap().graph;
    let subjects: BTreeSet<&str> = graph.tasks().map(|t| t.subject.as_str()).collect();
    assert_eq!((graph.len(), subjects.len()), (TASKS, TASKS));
    assert_eq!((graph.done(), graph.find_cycle()), (TASKS, None));
    let mut owners: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut completed = BTreeSet::new();
    for role in WORKERS {
        for line in recorded(root, role) {
            match line.split_once(' ').unwrap() {
                ("claimed", id) => drop(owners.entry(id.into()).or_default().insert(role)),
                (_, id) => assert!(completed.insert(id.to_string()), "{id} was completed twice"),
            }
        }
    }
    for (id, owners) in &owners {
        let task = graph.get(TaskId(id.parse().unwrap())).unwrap();
        let expected = BTreeSet::from([task.owner.as_str()]);
        assert_eq!(owners, &expected, "owners of {id}");
    }
    assert!(graph.tasks().all(|task| task.attempts == 1));
    let mut log = String::new();
    for entry in std::fs::read_dir(root.join(".transcripts"))
        .unwrap()
        .flatten()
    {
        log.push_str(&std::fs::read_to_string(entry.path()).unwrap());
    }
    for sender in SENDERS {
        for n in 0..MESSAGES {
            let found = log.matches(&format!("[{sender} {n}]")).count();
            assert_eq!(found, 1, "message {n} of {sender}");
        }
    }
    assert_eq!(stores.mailbox.count_unread().unwrap(), []);
}
