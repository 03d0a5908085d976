//! Measures how many tasks and events a hub carries with many agents on several hosts. `tests/third_party/hub scale` prints
//! the figures; `CREWDECK_AGENTS` sets the number of agents (100).
//!
//! The agents only claim and complete, so the figures are those of a hub that is never idle.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crewdeck::domain::graph::{PlannedTask, TaskGraph};
use crewdeck::domain::host::{HostInfo, HostKind, HostName};
use crewdeck::domain::ids::Name;
use crewdeck::domain::task::TaskStatus;
use crewdeck::protocol::{AgentEvent, EventKind};
use crewdeck::store::{
    EventStart, HostEvents, HostSession, Hub, HubAddress, HubSettings, StoreError, Stores,
};

use super::NatsServer;
use super::host_round::setting;
use super::latency::summary;
use crate::suite::{NOW, claimer, new};

/// Number of hosts on which the agents run.
const HOSTS: usize = 4;
const AGENTS_MAX: usize = 1000;
/// Maximum number of tasks that one message adds.
const IMPORT: usize = 500;
/// Maximum time of one measurement.
const MEASURED_FOR: Duration = Duration::from_secs(30);
/// Each agent has a thread, which calls little.
const STACK: usize = 512 * 1024;
const BATCH: usize = 50;
const BATCHES: usize = 100;
/// Maximum time until all events have arrived.
const ARRIVE_WITHIN: Duration = Duration::from_secs(60);

fn open(server: &NatsServer, crew: &str) -> Stores {
    let address = format!("{}/{crew}", server.url());
    let settings = HubSettings {
        mail_bytes_max: 1024 * 1024,
        ..HubSettings::new(HubAddress::parse(&address).unwrap())
    };
    Hub::new(settings).stores(&std::env::temp_dir())
}

fn host(number: usize) -> HostInfo {
    HostInfo {
        slots: 256,
        ..HostInfo::new(
            HostName::parse(&format!("host-{number}")).unwrap(),
            HostKind::Worker,
        )
    }
}

fn add_tasks(stores: &Stores, count: usize) {
    let mut left = count;
    while left > 0 {
        let number = left.min(IMPORT);
        let plan = |_: &TaskGraph| -> Result<Vec<PlannedTask>, StoreError> {
            let task = |n: usize| PlannedTask {
                new: new(&format!("task {n}"), &[]),
                ..PlannedTask::default()
            };
            Ok((0..number).map(task).collect())
        };
        stores.board.create_all(plan, NOW).unwrap();
        left -= number;
    }
}

/// Lets `agents` agents claim and complete `tasks` tasks.
fn measure_tasks(server: &NatsServer, agents: usize, tasks: usize) {
    let crew = format!("a{agents}-t{tasks}");
    let stores = open(server, &crew);
    add_tasks(&stores, tasks);
    let (done, busy) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let claims = Mutex::new(Vec::new());
    let began = Instant::now();
    let work = |own: &Stores, number: usize| {
        let who = claimer(&format!("agent-{number}"));
        while began.elapsed() < MEASURED_FOR {
            let claim_began = Instant::now();
            match own.board.claim(None, &who, NOW) {
                Ok(None) => return,
                Ok(Some(task)) => {
                    let took = claim_began.elapsed();
                    claims
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(took);
                    match own.board.complete(task.id, &who.name, NOW) {
                        Ok(_) => done.fetch_add(1, Ordering::Relaxed),
                        Err(_) => busy.fetch_add(1, Ordering::Relaxed),
                    };
                }
                // Too many others have changed the board, or an answer is missing.
                Err(_) => drop(busy.fetch_add(1, Ordering::Relaxed)),
            }
        }
    };
    // Until all agents have ended.
    let mut sessions = Vec::new();
    std::thread::scope(|threads| {
        let work = &work;
        for number in 0..HOSTS {
            let stores = open(server, &crew);
            let session = stores.hosts.as_ref().unwrap().join(&host(number), None);
            let session = Arc::<dyn HostSession>::from(session.unwrap());
            sessions.push(Arc::clone(&session));
            let own = Arc::new(stores.clone().with_host(session));
            for agent in (number..agents).step_by(HOSTS) {
                let own = Arc::clone(&own);
                std::thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(threads, move || work(&own, agent))
                    .unwrap();
            }
        }
    });
    let (took, done) = (began.elapsed(), done.into_inner());
    drop(sessions);
    let graph = stores.board.read().unwrap().graph;
    let completed = graph
        .tasks()
        .filter(|task| task.status == TaskStatus::Completed);
    let completed = completed.count();
    let claims = claims.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (median, high) = summary(claims);
    let rate = rate(done, took);
    println!(
        "{agents:>5} agents {tasks:>6} tasks: {rate:>8.1} tasks/s   claim median {median:>8.2} ms   p99 {high:>8.2} ms   {completed} completed, {} failed attempts",
        busy.into_inner()
    );
    assert!(completed >= done);
}

#[allow(clippy::cast_precision_loss)] // small numbers
fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

/// Lets each host publish events while another process follows them.
fn measure_events(server: &NatsServer) {
    let crew = "events";
    let lead = open(server, crew);
    let own = HostName::parse("laptop").unwrap();
    let (seen, cuts) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, cut) = (Arc::clone(&seen), Arc::clone(&cuts));
    let report = Box::new(move |events: HostEvents| {
        counted.fetch_add(events.events.len(), Ordering::SeqCst);
        cut.fetch_add(usize::from(events.is_cut), Ordering::SeqCst);
    });
    let follow = lead
        .hosts
        .as_ref()
        .unwrap()
        .follow(&own, EventStart::Now, report);
    let follow = follow.unwrap();
    let text = "x".repeat(80);
    let event = EventKind::Agent {
        agent: Name::party("bob").unwrap(),
        event: AgentEvent::AnswerFinished {
            text,
            thinking: String::new(),
            thought_ms: 0,
        },
    };
    let events = vec![event; BATCH];
    let total = HOSTS * BATCH * BATCHES;
    let began = Instant::now();
    std::thread::scope(|threads| {
        for number in 0..HOSTS {
            let (stores, events) = (open(server, crew), &events);
            threads.spawn(move || {
                let hosts = stores.hosts.as_ref().unwrap();
                for _ in 0..BATCHES {
                    hosts.publish(&host(number).name, events).unwrap();
                }
            });
        }
    });
    let published = began.elapsed();
    while seen.load(Ordering::SeqCst) < total && began.elapsed() < ARRIVE_WITHIN {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (arrived, seen) = (began.elapsed(), seen.load(Ordering::SeqCst));
    drop(follow);
    println!(
        "{HOSTS} hosts, batches of {BATCH} events: {:.0} events/s published, {:.0} events/s followed; {seen} of {total} arrived, {} times cut",
        rate(total, published),
        rate(seen, arrived),
        cuts.load(Ordering::SeqCst)
    );
}

#[test]
#[ignore = "needs CREWDECK_NATS_SERVER, see docs/hub.md"]
fn many_agents_work_on_one_hub() {
    let server = NatsServer::start("");
    let agents = usize::try_from(setting("CREWDECK_AGENTS", 100)).unwrap();
    let agents = agents.clamp(1, AGENTS_MAX);
    for part in [10, 3, 1] {
        let agents = (agents / part).max(1);
        for tasks in [agents, agents * 4, agents * 10] {
            measure_tasks(&server, agents, tasks);
        }
    }
    measure_events(&server);
}
