//! One round of a test with hosts: starts servers and processes, lets the test disturb them, and checks their records when
//! the work has ended.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crewdeck::domain::task::TaskStatus;
use crewdeck::store::Stores;

use super::host_process::{
    self, CREATED, CREATING, ENTRY, HEALED, LIFE, NOT_CREATED, REPLICAS, ROLE, ROLES, ROOT, SKEW,
    STOP, URL,
};
use super::network::{HOSTS, Network};
use super::proof::{self, PARENT, RoundReport};
use super::records::{BoardHistory, milliseconds, record, records_of};

const CREW: &str = "proof";
/// Maximum time until all workers have joined.
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// Maximum time for the rest of the work after the last disturbance.
const ENDS_WITHIN: Duration = Duration::from_secs(180);
const STOPS_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(200);
/// Clocks differ by up to this many seconds in both directions.
const SKEW_MAX: u64 = 600;

/// Random numbers that a seed determines (splitmix64), so that a round can be repeated.
pub struct SeededRandom(pub u64);

impl SeededRandom {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    pub fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let range = most.saturating_sub(least).as_millis().max(1);
        let range = u64::try_from(range).unwrap();
        least + Duration::from_millis(self.next() % range)
    }
}

/// Returns a number from the environment.
pub fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

/// Runs `CREWDECK_ROUNDS` rounds and prints a line for each. `CREWDECK_SEED` repeats a round.
pub fn run_rounds(what: &str, default: u64, mut round: impl FnMut(u64) -> (String, RoundReport)) {
    let seed = setting("CREWDECK_SEED", milliseconds());
    let rounds = setting("CREWDECK_ROUNDS", default);
    let began = Instant::now();
    let mut total = RoundReport::default();
    for number in 0..rounds {
        let (seed, round_began) = (seed + number, Instant::now());
        println!("{what}, round {}: CREWDECK_SEED={seed}", number + 1);
        let (disturbances, report) = round(seed);
        let seconds = round_began.elapsed().as_secs();
        println!("  {disturbances}: {report}, {seconds} s");
        let problems = report.problems.join("\n");
        total.add(report);
        assert!(problems.is_empty(), "seed {seed}:\n{problems}");
    }
    let seconds = began.elapsed().as_secs();
    println!("{what}, {rounds} rounds: {total}, {seconds} s");
}

pub struct HostRound {
    pub network: Network,
    root: Option<tempfile::TempDir>,
    life: Duration,
    /// Seconds that the clock of each host is ahead.
    skews: Vec<String>,
    running: Vec<Child>,
    history: Option<BoardHistory>,
    /// The state over a connection that is not disturbed.
    stores: Stores,
}

impl HostRound {
    /// Starts servers and all processes, and waits until the workers have joined.
    pub fn start(servers: usize, life: Duration, random: &mut SeededRandom) -> HostRound {
        let network = Network::start(servers);
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join(".transcripts")).unwrap();
        let direct = network.direct_urls();
        let url = format!("{}/{CREW}", direct.join(","));
        let stores = host_process::open(&url, root.path(), life, servers);
        // Creates the streams.
        stores.board.read().unwrap();
        stores.mailbox.count_unread().unwrap();
        stores.requests.read_all().unwrap();
        stores.hosts.as_ref().unwrap().hosts().unwrap();
        let mut skew = || {
            let seconds = random.next() % (2 * SKEW_MAX);
            format!("{}", seconds.cast_signed() - SKEW_MAX.cast_signed())
        };
        let mut round = HostRound {
            skews: (0..HOSTS).map(|_| skew()).collect(),
            history: Some(BoardHistory::start(direct, CREW)),
            root: Some(root),
            running: Vec::new(),
            network,
            life,
            stores,
        };
        for host in 0..HOSTS {
            let child = round.start_process(host);
            round.running.push(child);
        }
        let began = Instant::now();
        while !round.have_workers_joined() {
            assert!(began.elapsed() < STARTS_WITHIN, "the workers do not join");
            std::thread::sleep(POLL);
        }
        round
    }

    fn root(&self) -> &Path {
        self.root.as_ref().unwrap().path()
    }

    fn start_process(&self, host: usize) -> Child {
        let role = ROLES[host];
        let url = self.network.url_for(host, CREW);
        let life = self.life.as_millis().to_string();
        let replicas = self.network.servers.len().to_string();
        let log = self.root().join(format!("{role}.log"));
        let variables = [
            (ROLE, role),
            (ROOT, self.root().to_str().unwrap()),
            (URL, &url),
            (LIFE, &life),
            (REPLICAS, &replicas),
            (SKEW, &self.skews[host]),
            ("CREWDECK_HOST_LOG", log.to_str().unwrap()),
        ];
        self.network.start_role(host, ENTRY, &variables)
    }

    /// Kills the process of a host with SIGKILL, and starts it again.
    pub fn kill(&mut self, host: usize) {
        let child = &mut self.running[host];
        let ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(status) = ended {
            let text = format!("{} had ended with {status}", ROLES[host]);
            record(self.root(), PARENT, "error", &[&text]);
        }
        record(self.root(), PARENT, "killed", &[ROLES[host]]);
        self.running[host] = self.start_process(host);
    }

    /// Returns whether each worker has a session that has not ended.
    fn have_workers_joined(&self) -> bool {
        let mut workers = ROLES.iter().filter(|role| role.starts_with("worker"));
        workers.all(|role| {
            let lines = records_of(self.root(), role);
            let sessions = ["joined", "invalid", "left"];
            let mut events = lines.iter().map(|line| line.event.as_str());
            events.rfind(|event| sessions.contains(event)) == Some("joined")
        })
    }

    fn is_creating(&self, role: &str) -> bool {
        let lines = records_of(self.root(), role);
        let mut events = lines.iter().map(|line| line.event.as_str());
        let creation = [CREATING, CREATED, NOT_CREATED];
        events.rfind(|event| creation.contains(event)) == Some(CREATING)
    }

    /// Returns what is not done yet; `None` if all is done.
    fn rest(&self, healed_at: u64) -> Option<String> {
        if !self.have_workers_joined() {
            return Some("a worker that was lost has not joined again".into());
        }
        for role in ROLES {
            let lines = records_of(self.root(), role);
            let is_last = |line: &super::records::RecordLine| {
                line.event == "all-sent" && line.at >= healed_at
            };
            if !lines.iter().any(is_last) {
                return Some(format!("{role} has not sent all messages"));
            }
        }
        if let Some(role) = ROLES.iter().find(|role| self.is_creating(role)) {
            return Some(format!("{role} is creating a task"));
        }
        let graph = match self.stores.board.read() {
            Ok(snapshot) => snapshot.graph,
            Err(error) => return Some(error.to_string()),
        };
        let is_open = |status: TaskStatus| status != TaskStatus::Completed;
        if let Some(task) = graph.tasks().find(|task| is_open(task.status)) {
            let (id, status, claim) = (task.id, task.status, &task.claim);
            return Some(format!("task {id} is {status}, claimed for {claim:?}"));
        }
        match self.stores.mailbox.count_unread() {
            Ok(unread) if unread.is_empty() => {}
            Ok(unread) => return Some(format!("unread messages: {unread:?}")),
            Err(error) => return Some(error.to_string()),
        }
        match self.stores.requests.read_all() {
            Ok(all) => {
                let pending = all.requests.iter().find(|request| request.is_pending());
                pending.map(|request| format!("request {} is pending", request.id))
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Waits until all work is done, ends the processes and checks their records.
    pub fn finish(mut self, may_double: bool) -> RoundReport {
        self.network.heal(false);
        let healed_at = milliseconds();
        std::fs::write(self.root().join(HEALED), "").unwrap();
        let began = Instant::now();
        let mut problems = Vec::new();
        while let Some(rest) = self.rest(healed_at) {
            if began.elapsed() > ENDS_WITHIN {
                problems.push(format!("the work does not end: {rest}"));
                break;
            }
            std::thread::sleep(POLL);
        }
        std::fs::write(self.root().join(STOP), "").unwrap();
        let began = Instant::now();
        for (role, child) in ROLES.iter().zip(&mut self.running) {
            loop {
                match child.try_wait().unwrap() {
                    Some(status) if status.success() => break,
                    Some(status) => {
                        problems.push(format!("{role} ended with {status}"));
                        break;
                    }
                    None if began.elapsed() > STOPS_WITHIN => {
                        problems.push(format!("{role} does not end"));
                        break;
                    }
                    None => std::thread::sleep(POLL),
                }
            }
        }
        let history = self
            .history
            .take()
            .map(BoardHistory::end)
            .unwrap_or_default();
        let mut report = proof::check(&self.stores, self.root(), &history, may_double);
        report.problems.extend(problems);
        if !report.problems.is_empty()
            && let Some(root) = self.root.take()
        {
            println!("  the records are in {}", root.keep().display());
        }
        report
    }
}

impl Drop for HostRound {
    fn drop(&mut self) {
        for child in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
