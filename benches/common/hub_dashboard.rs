//! Measures the dashboard of the lead of a crew on a hub: 1,000 agents on 50 hosts, beside 100 agents on 50 hosts and 20
//! agents on one host. The server is a real one on loopback, whose program is the path in `CREWDECK_NATS_SERVER`.
//!
//! The hosts are in this process, each with its own connection. Their agents only publish events, in batches as
//! `crewdeck worker` does, and claim and complete tasks.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crewdeck::domain::graph::{Claimer, NewTask, PlannedTask, TaskGraph};
use crewdeck::domain::host::{HostInfo, HostKind, HostName, SLOTS_MAX};
use crewdeck::domain::ids::{Name, TaskId};
use crewdeck::domain::team::{Activity, Member, MemberStatus};
use crewdeck::domain::text::count_noun;
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::protocol::{AgentEvent, EventKind};
use crewdeck::store::{HostSession, Hub, HubAddress, HubSecret, HubSettings, StoreError, Stores};
use serde_json::Value;

use crate::common::process::{cpu_ms, pss_mib};
use crate::common::pty::Screen;
use crate::common::{SIZE, crewdeck, median, ms, report, repository, script};

const CREW: &str = "bench";
const SECRET: &str = "the secret of a crew in a benchmark";
const TEAMS: [HubTeam; 3] = [
    HubTeam {
        hosts: 1,
        agents_per_host: 20,
    },
    HubTeam {
        hosts: 50,
        agents_per_host: 2,
    },
    HubTeam {
        hosts: 50,
        agents_per_host: 20,
    },
];
/// Number of tasks on the board before the measurement.
const TASKS: usize = 300;
const TASKS_PER_SECOND: usize = 2;
/// Duration of the load, in seconds. Each agent publishes one event per second.
const SECONDS: usize = 20;
const MEASURED_FOR: Duration = Duration::from_secs(SECONDS as u64);
/// Time for which a worker collects events before it publishes them.
const COLLECT: Duration = Duration::from_millis(100);
/// Maximum number of batches of a host per second.
const BATCHES: usize = 10;
const TASK_PAUSE: Duration = Duration::from_millis(500);
/// Number of times that an activity is published to measure when it is on the screen.
const MARKERS: u32 = 10;
/// The agent whose activities are timed. It publishes nothing else and claims no task.
const TIMED: &str = "n01-01";
/// Maximum time until the server is ready, or until the dashboard shows the first events.
const START_WITHIN: Duration = Duration::from_secs(20);
/// Pause between two looks at what is not ready yet.
const POLL: Duration = Duration::from_millis(50);
/// Maximum time of an answer of the server about its connections.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Maximum memory with the largest team, as a multiple of that with the smallest one.
const MEMORY_GOAL: f64 = 3.0;

struct HubTeam {
    hosts: usize,
    agents_per_host: usize,
}

impl HubTeam {
    fn agents(&self) -> usize {
        self.hosts * self.agents_per_host
    }
}

/// What the dashboard of the lead needed.
struct DashboardFigures {
    /// In percent of a core.
    cpu: f64,
    /// In MiB (PSS), after the load.
    memory: f64,
    /// Median time from the publishing of an activity until it was on the screen, in milliseconds.
    delay: f64,
    /// Bytes per second that the dashboard received from the server.
    received: f64,
    /// Bytes per second that the dashboard sent to the server.
    sent: f64,
    /// Events of agents per second, from the first one until the dashboard had shown the last one.
    events: f64,
    /// Completed tasks per second.
    tasks: f64,
}

pub fn print() {
    let Some(program) = std::env::var_os("CREWDECK_NATS_SERVER") else {
        println!(
            "dashboard of a crew on a hub: skipped, because CREWDECK_NATS_SERVER is not set. Set it to the path of nats-server 2.11 or newer."
        );
        return;
    };
    let [small, _, large] = TEAMS.map(|team| {
        let agents = team.agents();
        let figures = measure(&program, &team);
        println!(
            "dashboard of {agents} agents on {}: {:.1} % of a core, {:.1} MiB (PSS), an activity is shown after {:.0} ms",
            count_noun(team.hosts, "host"),
            figures.cpu,
            figures.memory,
            figures.delay
        );
        println!(
            "  {:.1} events and {:.1} completed tasks per second; {:.1} KiB received and {:.1} KiB sent per second",
            figures.events,
            figures.tasks,
            figures.received / 1024.0,
            figures.sent / 1024.0
        );
        (agents, figures)
    });
    let ((few, small), (many, large)) = (small, large);
    println!(
        "dashboard of {many} agents on a hub: x{:.2} CPU and x{:.2} time to the screen of that with {few}",
        large.cpu / small.cpu,
        large.delay / small.delay
    );
    let ratio = large.memory / small.memory;
    report(
        "memory of the dashboard of a crew on a hub",
        &format!(
            "{:.1} MiB with {few} agents, {:.1} MiB with {many}, ratio {ratio:.2}",
            small.memory, large.memory
        ),
        &format!("ratio <= {MEMORY_GOAL:.0}"),
        ratio <= MEMORY_GOAL,
    );
}

fn measure(program: &OsStr, team: &HubTeam) -> DashboardFigures {
    let folder = tempfile::tempdir().unwrap();
    let server = NatsProcess::start(program, folder.path());
    let address = format!("{}/{CREW}", server.url);
    let hosts = create_crew(&address, team, folder.path());
    let others = server.connections();
    let mut screen = start_dashboard(&address, folder.path());
    show_timed_agent(&mut screen, team);
    wait_for_events(&screen, &hosts[0]);
    let figures = measure_load(&screen, &server, &others, &hosts);
    screen.send("\u{3}\u{3}\u{3}");
    let (status, is_clean) = screen.wait_for_exit();
    assert!(
        status.success() && is_clean,
        "{status:?}, terminal restored: {is_clean}"
    );
    figures
}

/// Lets all agents work, and measures the dashboard until it shows the last event. `others` are the connections that do not
/// belong to it.
#[allow(clippy::cast_precision_loss)] // small numbers
fn measure_load(
    screen: &Screen,
    server: &NatsProcess,
    others: &HashMap<u64, Traffic>,
    hosts: &[SimulatedHost],
) -> DashboardFigures {
    let traffic = || server.traffic_besides(others);
    let (published, completed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (traffic_before, cpu_before) = (traffic(), cpu_ms(screen.pid()));
    let began = Instant::now();
    let delays: Vec<f64> = std::thread::scope(|threads| {
        let mut start = began;
        for host in hosts {
            let published = &published;
            threads.spawn(move || publish_events(host, start, published));
            // Otherwise all hosts publish at the same instant.
            start += COLLECT / u32::try_from(hosts.len()).unwrap();
        }
        let completed = &completed;
        threads.spawn(move || work_on_tasks(hosts, began, completed));
        let timed = (1..=MARKERS).map(|number| {
            sleep_until(began + MEASURED_FOR * number / (MARKERS + 1));
            time_to_screen(screen, &hosts[0], number)
        });
        timed.collect()
    });
    // The hub delivers the events of all hosts in one order, so the dashboard then has all of them.
    time_to_screen(screen, &hosts[0], MARKERS + 1);
    let seconds = began.elapsed().as_secs_f64();
    let cpu = cpu_ms(screen.pid()) - cpu_before;
    let (before, after) = (traffic_before, traffic());
    let per_second = |count: u64| count as f64 / seconds;
    let rate = |count: AtomicUsize| count.into_inner() as f64 / seconds;
    DashboardFigures {
        cpu: cpu as f64 / 10.0 / seconds,
        memory: pss_mib(screen.pid()),
        delay: median(delays),
        received: per_second(after.received.saturating_sub(before.received)),
        sent: per_second(after.sent.saturating_sub(before.sent)),
        events: rate(published),
        tasks: rate(completed),
    }
}

/// Joins the hosts, and adds their agents to the team and the tasks to the board.
fn create_crew(address: &str, team: &HubTeam, root: &Path) -> Vec<SimulatedHost> {
    let join = |number| SimulatedHost::join(address, number, team.agents_per_host, root);
    let hosts: Vec<SimulatedHost> = (1..=team.hosts).map(join).collect();
    let user = open(address, root);
    for host in &hosts {
        for agent in &host.agents {
            let mut member = Member::new(agent.clone(), "teammate");
            member.host = host.name.to_string();
            member.status = MemberStatus::Working;
            let most = usize::from(SLOTS_MAX);
            user.roster.add_member(member, most).unwrap();
        }
    }
    let plan = |_: &TaskGraph| -> Result<Vec<PlannedTask>, StoreError> {
        let task = |number: usize| PlannedTask {
            new: NewTask {
                subject: format!("Subject {number} of many"),
                description: "What is to be done, in a few lines of text. ".repeat(5),
                ..NewTask::default()
            },
            ..PlannedTask::default()
        };
        Ok((0..TASKS).map(task).collect())
    };
    user.board.create_all(plan, now()).unwrap();
    hosts
}

fn start_dashboard(address: &str, folder: &Path) -> Screen {
    let root = repository(folder, "project", 0);
    let home = folder.join("home");
    std::fs::create_dir(&home).unwrap();
    let provider = script(folder, 100, "fine");
    let args = ["--hub", address, "--provider", &provider];
    let environment = [
        ("CREWDECK_HUB_SECRET", SECRET),
        ("HOME", home.to_str().unwrap()),
    ];
    let screen = Screen::start_program(crewdeck(), &root, SIZE.0, SIZE.1, &args, &environment);
    screen.wait("the crew's own window", |text| {
        text.contains(" to lead ") && text.contains("scripted")
    });
    screen
}

/// Goes to the Team pane, waits until it shows the whole team, and expands the first host if it is collapsed.
fn show_timed_agent(screen: &mut Screen, team: &HubTeam) {
    screen.send("\u{1b}4");
    // The host of the lead is one more.
    let size = format!("{} teammates on {} hosts", team.agents(), team.hosts + 1);
    if !screen.wait_for(&size).contains(TIMED) {
        // The host of the lead is the first one.
        screen.send("gj\r");
        screen.wait_for(TIMED);
    }
}

/// Publishes an activity until the dashboard shows it. It does not show what was published before it followed the events.
fn wait_for_events(screen: &Screen, host: &SimulatedHost) {
    let (marker, began) = (marker(0), Instant::now());
    while !screen.text().contains(&marker) {
        assert!(began.elapsed() < START_WITHIN, "no events are shown");
        host.publish(&[marker_event(&marker)]);
        std::thread::sleep(POLL);
    }
}

/// Returns the milliseconds from the publishing of an activity until it is on the screen.
fn time_to_screen(screen: &Screen, host: &SimulatedHost, number: u32) -> f64 {
    let marker = marker(number);
    let began = Instant::now();
    host.publish(&[marker_event(&marker)]);
    screen.wait_for(&marker);
    ms(began.elapsed())
}

/// Returns the name of a tool, which the Team pane shows as the state of the agent.
fn marker(number: u32) -> String {
    format!("mark-{number:02}")
}

fn marker_event(tool: &str) -> EventKind {
    let activity = Activity::Tool {
        tool: tool.into(),
        on: String::new(),
    };
    AgentEvent::ActivityChanged { activity }.of(Name::member(TIMED).unwrap())
}

/// Publishes one event per second of each agent of a host but the timed one, and counts them.
fn publish_events(host: &SimulatedHost, began: Instant, published: &AtomicUsize) {
    let agents = host.agents.iter().filter(|name| name.as_str() != TIMED);
    let agents: Vec<&Name> = agents.collect();
    let mut due = began;
    for second in 0..SECONDS {
        for slot in 0..BATCHES {
            sleep_until(due);
            due += COLLECT;
            // If the hub is too slow, fewer events are published.
            if began.elapsed() > MEASURED_FOR {
                return;
            }
            let batch = agents.iter().skip(slot).step_by(BATCHES);
            let batch: Vec<EventKind> = batch.map(|agent| event(agent, second)).collect();
            host.publish(&batch);
            published.fetch_add(batch.len(), Ordering::Relaxed);
        }
    }
}

/// Returns the event of an agent in a second of the measurement.
fn event(agent: &Name, second: usize) -> EventKind {
    let event = match second % 10 {
        9 => AgentEvent::TextDelta {
            text: "some words of an answer ".repeat(4),
        },
        n if n.is_multiple_of(2) => AgentEvent::ActivityChanged {
            activity: Activity::Thinking,
        },
        _ => AgentEvent::ActivityChanged {
            activity: Activity::Tool {
                tool: "bash".into(),
                on: format!("cargo test part-{second}"),
            },
        },
    };
    event.of(agent.clone())
}

/// Claims tasks for agents of all hosts in turn, and completes each when the next one is claimed.
fn work_on_tasks(hosts: &[SimulatedHost], began: Instant, completed: &AtomicUsize) {
    let mut due = began;
    let mut claimed: Option<(&SimulatedHost, &Name, TaskId)> = None;
    for number in 0..SECONDS * TASKS_PER_SECOND {
        sleep_until(due);
        due += TASK_PAUSE;
        if began.elapsed() > MEASURED_FOR {
            return;
        }
        if let Some((host, agent, task)) = claimed.take() {
            host.stores.board.complete(task, agent, now()).unwrap();
            completed.fetch_add(1, Ordering::Relaxed);
        }
        let host = &hosts[number % hosts.len()];
        // The first agent may be the timed one.
        let agent = &host.agents[1 + number % (host.agents.len() - 1)];
        let claimer = Claimer {
            name: agent.clone(),
            tags: Vec::new(),
        };
        let task = host.stores.board.claim(None, &claimer, now()).unwrap();
        claimed = Some((host, agent, task.expect("a ready task").id));
    }
}

fn sleep_until(at: Instant) {
    std::thread::sleep(at.saturating_duration_since(Instant::now()));
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since.unwrap().as_secs_f64())
}

/// Returns the shared state over a new connection.
fn open(address: &str, root: &Path) -> Stores {
    let settings = HubSettings {
        secret: Some(HubSecret::new(SECRET).unwrap()),
        ..HubSettings::new(HubAddress::parse(address).unwrap())
    };
    Hub::new(settings).stores(root)
}

/// A host of the crew in this process. It leaves the crew when it is dropped.
struct SimulatedHost {
    name: HostName,
    agents: Vec<Name>,
    stores: Stores,
}

impl SimulatedHost {
    fn join(address: &str, number: usize, agents: usize, root: &Path) -> SimulatedHost {
        let name = HostName::parse(&format!("node-{number:02}")).unwrap();
        let info = HostInfo {
            slots: u16::try_from(agents).unwrap(),
            version: env!("CARGO_PKG_VERSION").into(),
            cores: 16,
            load: 4.25,
            started_at: now(),
            ..HostInfo::new(name.clone(), HostKind::Worker)
        };
        let stores = open(address, root);
        let session = stores.hosts.as_ref().unwrap().join(&info, None).unwrap();
        let session = Arc::<dyn HostSession>::from(session);
        let agent = |agent| Name::member(&format!("n{number:02}-{agent:02}")).unwrap();
        SimulatedHost {
            name,
            agents: (1..=agents).map(agent).collect(),
            // The handles hold the session.
            stores: stores.with_host(session),
        }
    }

    fn publish(&self, events: &[EventKind]) {
        let hosts = self.stores.hosts.as_ref().unwrap();
        hosts.publish(&self.name, events).unwrap();
    }
}

/// The bytes of one or several connections so far, as their client sees them.
#[derive(Default)]
struct Traffic {
    received: u64,
    sent: u64,
}

/// A NATS server on loopback, which is killed when it is dropped.
struct NatsProcess {
    process: Child,
    url: String,
    /// Host and port at which the server describes its connections.
    monitoring: String,
}

impl NatsProcess {
    /// Starts a server that keeps its state in `folder`, and waits until it is ready.
    fn start(program: &OsStr, folder: &Path) -> NatsProcess {
        let process = Command::new(program)
            .args(["--addr", "127.0.0.1", "--port", "-1", "--jetstream"])
            .args(["--http_port", "-1"])
            .arg("--store_dir")
            .arg(folder.join("store"))
            .arg("--ports_file_dir")
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut server = NatsProcess {
            process,
            url: String::new(),
            monitoring: String::new(),
        };
        let ports = folder.join(format!("nats-server_{}.ports", server.process.id()));
        let began = Instant::now();
        loop {
            let text = std::fs::read_to_string(&ports).unwrap_or_default();
            let json: Value = serde_json::from_str(&text).unwrap_or_default();
            let address = |name: &str| json[name][0].as_str();
            if let (Some(url), Some(monitoring)) = (address("nats"), address("monitoring")) {
                server.url = url.into();
                server.monitoring = monitoring.trim_start_matches("http://").into();
                return server;
            }
            assert!(began.elapsed() < START_WITHIN, "nats-server is not ready");
            std::thread::sleep(POLL);
        }
    }

    /// Returns the traffic of each connection, by its number.
    fn connections(&self) -> HashMap<u64, Traffic> {
        let mut stream = TcpStream::connect(&self.monitoring).unwrap();
        stream.set_read_timeout(Some(ANSWER_WITHIN)).unwrap();
        let request = b"GET /connz?limit=1024 HTTP/1.0\r\n\r\n";
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let json: Value = serde_json::from_str(body).unwrap();
        let connections = json["connections"].as_array().unwrap().iter();
        let described = connections.map(|connection| {
            let number = |name: &str| connection[name].as_u64().unwrap();
            let traffic = Traffic {
                received: number("out_bytes"),
                sent: number("in_bytes"),
            };
            (number("cid"), traffic)
        });
        described.collect()
    }

    /// Returns the traffic of all connections but `others`.
    fn traffic_besides(&self, others: &HashMap<u64, Traffic>) -> Traffic {
        let mut all = Traffic::default();
        for (number, traffic) in self.connections() {
            if !others.contains_key(&number) {
                all.received += traffic.received;
                all.sent += traffic.sent;
            }
        }
        all
    }
}

impl Drop for NatsProcess {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
