//! A process that takes part in a crew as a host: two that want to be the lead, and workers.
//!
//! The test binary starts itself again with a role in the environment. Each process records what it does, so that a test can
//! check the records of all processes against each other. It obeys two files in its folder: after `healed` exists, it starts
//! nothing new; after `stop` exists, it ends.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crewdeck::domain::graph::GraphError;
use crewdeck::domain::host::{HostInfo, HostKind, HostName, HostPresence};
use crewdeck::domain::ids::{MessageId, Name, TaskId};
use crewdeck::domain::mail::{MailKind, MailMessage};
use crewdeck::domain::request::{Decision, Verdict};
use crewdeck::domain::task::{Task, TaskStatus};
use crewdeck::domain::timestamp::Timestamp;
use crewdeck::store::{HostSession, HostStore, Hub, HubAddress, HubSettings, StoreError, Stores};

use super::records::{milliseconds, record, records_of};
use crate::suite::{claimer, name, new};

/// The variables of a process: role, folder, address, lease life in milliseconds, copies of the state, and how many seconds
/// its clock is ahead.
pub const ROLE: &str = "CREWDECK_HOST_ROLE";
pub const ROOT: &str = "CREWDECK_HOST_ROOT";
pub const URL: &str = "CREWDECK_HOST_URL";
pub const LIFE: &str = "CREWDECK_HOST_LIFE";
pub const REPLICAS: &str = "CREWDECK_HOST_REPLICAS";
pub const SKEW: &str = "CREWDECK_HOST_SKEW";

/// The roles, by the number of their host.
pub const ROLES: [&str; super::network::HOSTS] =
    ["lead-a", "lead-b", "worker-1", "worker-2", "worker-3"];
/// Names the test that runs a role.
pub const ENTRY: &str = "hub::host_process::role";
/// The files that the processes obey.
pub const HEALED: &str = "healed";
pub const STOP: &str = "stop";
/// The record of a process that is about to create a task, and those of how that ended.
pub const CREATING: &str = "creating";
pub const CREATED: &str = "created";
pub const NOT_CREATED: &str = "not-created";

/// The lead creates tasks while fewer are open.
const OPEN_TASKS: usize = 12;
const PAUSE: Duration = Duration::from_millis(20);
/// Pause between two looks at whether the session is valid.
const VALID_POLL: Duration = Duration::from_millis(10);
/// A process that was stopped for this long may have missed the end of its lease.
const STALL: Duration = Duration::from_millis(200);

pub fn open(url: &str, root: &Path, life: Duration, replicas: usize) -> Stores {
    let settings = HubSettings {
        replicas,
        lease_life: life,
        mail_bytes_max: 16 * 1024 * 1024,
        ..HubSettings::new(HubAddress::parse(url).unwrap())
    };
    Hub::new(settings).stores(root)
}

#[derive(Clone)]
pub struct HostProcess {
    pub stores: Stores,
    hosts: Arc<dyn HostStore>,
    pub root: PathBuf,
    pub role: String,
    /// Seconds that the clock of this process is ahead.
    skew: f64,
}

/// Whether an answer is missing or a right is held by another process, so that the work may succeed later.
fn is_temporary(error: &StoreError) -> bool {
    !error.is_lost_lease()
        && matches!(
            error,
            StoreError::Hub(_)
                | StoreError::BeingRead { .. }
                | StoreError::HostInUse(_)
                | StoreError::LeadInUse { .. }
        )
}

impl HostProcess {
    pub fn record(&self, event: &str, arguments: &[&str]) {
        record(&self.root, &self.role, event, arguments);
    }

    pub fn has(&self, file: &str) -> bool {
        self.root.join(file).exists()
    }

    #[allow(clippy::cast_precision_loss)] // far below 2^52
    pub fn now(&self) -> Timestamp {
        Timestamp(milliseconds() as f64 / 1000.0 + self.skew)
    }

    fn is_lead(&self) -> bool {
        self.role.starts_with("lead")
    }

    fn info(&self) -> HostInfo {
        let kind = if self.is_lead() {
            HostKind::Lead
        } else {
            HostKind::Worker
        };
        HostInfo {
            slots: u16::from(!self.is_lead()),
            started_at: self.now(),
            ..HostInfo::new(HostName::parse(&self.role).unwrap(), kind)
        }
    }

    /// Repeats `work` until the hub answers. Returns `None` when the process must end. An error that is no outage is
    /// recorded, and fails the test.
    pub fn until_answered<T>(&self, mut work: impl FnMut() -> Result<T, StoreError>) -> Option<T> {
        while !self.has(STOP) {
            match work() {
                Ok(done) => return Some(done),
                Err(error) if is_temporary(&error) || error.is_lost_lease() => {}
                Err(error) => {
                    self.record("error", &[&error.to_string()]);
                    return None;
                }
            }
            std::thread::sleep(PAUSE);
        }
        None
    }

    /// Joins as a host again and again, and works while the session is valid.
    fn run(&self) {
        let joined = |line: &super::records::RecordLine| line.event == "joined";
        let earlier = records_of(&self.root, &self.role);
        let mut joins = earlier.iter().filter(|line| joined(line)).count();
        // An earlier process may have been killed while it created a task.
        self.record(NOT_CREATED, &[]);
        // The earlier process was killed, so its session has certainly ended.
        let last = earlier.into_iter().rev().find(joined);
        let mut previous = last.map(|line| line.argument(0).to_string());
        while !self.has(STOP) {
            // Both ways to return are needed: to take over the own session, and to wait until it has expired.
            let replaced = previous.clone().filter(|_| joins % 2 == 1);
            let session = match self.hosts.join(&self.info(), replaced.as_deref()) {
                Ok(session) => Arc::<dyn HostSession>::from(session),
                Err(error) => {
                    if !is_temporary(&error) {
                        self.record("error", &[&error.to_string()]);
                    }
                    std::thread::sleep(PAUSE * 5);
                    continue;
                }
            };
            joins += 1;
            let id = session.claim().session;
            self.record("joined", &[&id]);
            self.watch_validity(&session);
            let own = self.stores.clone().with_host(Arc::clone(&session));
            if let Some(old) = replaced.filter(|_| joins.is_multiple_of(4)) {
                self.adopt(&own, &old);
            }
            while session.is_valid() && !self.has(STOP) {
                if self.is_lead() {
                    self.lead(&own);
                } else {
                    self.work(&own, &session);
                }
                std::thread::sleep(PAUSE);
            }
            if session.is_valid() {
                self.record("left", &[&id]);
            } else {
                // The thread that watches the session may not have noticed it yet.
                self.record("invalid", &[&id]);
                self.probe(&own, &session);
            }
            session.leave();
            previous = Some(id);
        }
    }

    fn adopt(&self, own: &Stores, old: &str) {
        match own.board.adopt(old, self.now()) {
            Ok(tasks) => {
                for task in tasks {
                    self.record("adopted", &[&task.id.0.to_string(), old]);
                }
            }
            Err(error) if is_temporary(&error) || error.is_lost_lease() => {}
            Err(error) => self.record("error", &[&error.to_string()]),
        }
    }

    /// Records when the session becomes invalid, and when this process was stopped for so long that it may be late.
    fn watch_validity(&self, session: &Arc<dyn HostSession>) {
        let (process, session) = (self.clone(), Arc::downgrade(session));
        std::thread::spawn(move || {
            let mut last = Instant::now();
            while let Some(session) = session.upgrade() {
                let id = session.claim().session;
                if last.elapsed() > STALL {
                    process.record("stalled", &[&id]);
                }
                last = Instant::now();
                if !session.is_valid() {
                    process.record("invalid", &[&id]);
                    return;
                }
                drop(session);
                std::thread::sleep(VALID_POLL);
            }
        });
    }

    /// Acts as the owner after the session has ended. The store must reject it.
    fn probe(&self, own: &Stores, session: &Arc<dyn HostSession>) {
        let id = session.claim().session;
        let (from, text) = (name(&self.role), format!("[late-{id}]"));
        let message = MailMessage::new(
            MessageId(text.clone()),
            MailKind::Message,
            &from,
            &name(ROLES[0]),
            &text,
            self.now(),
        );
        match own.mailbox.send(&message) {
            Err(error) if error.is_lost_lease() => {}
            Err(error) => self.record("unclear", &[&id, &error.to_string()]),
            Ok(()) => self.record("accepted-late", &[&id, &text]),
        }
        while !self.has(STOP) {
            match own.board.claim(None, &claimer(&self.role), self.now()) {
                Ok(Some(task)) => {
                    return self.record("accepted-late", &[&id, &task.id.0.to_string()]);
                }
                // Without a task to claim, there is nothing to refuse.
                Ok(None) => return self.record("refused", &[&id]),
                Err(error) if error.is_lost_lease() => return self.record("refused", &[&id]),
                Err(error) if is_temporary(&error) => std::thread::sleep(PAUSE),
                Err(error) => return self.record("unclear", &[&id, &error.to_string()]),
            }
        }
        self.record("stopped", &[&id]);
    }

    /// Claims a task, works on it and completes it.
    fn work(&self, own: &Stores, session: &Arc<dyn HostSession>) {
        let who = claimer(&self.role);
        let id = session.claim().session;
        let is_own = |task: &Task| task.claim.as_ref().is_some_and(|claim| claim.session == id);
        let task = match own.board.claim(None, &who, self.now()) {
            Ok(Some(task)) => task,
            Ok(None) => return,
            // Either the answer to a claim was lost, or the task belongs to an earlier session and is released later.
            Err(StoreError::Graph(GraphError::Busy { open, .. })) => match own.board.get(open) {
                Ok(task) if is_own(&task) => (*task).clone(),
                Ok(_) | Err(_) => return,
            },
            Err(error) => return self.note(&error, &id),
        };
        let number = task.id.0.to_string();
        self.record("claimed", &[&number, &id]);
        // The answer may have come so late that the task has a new owner.
        if !session.is_valid() {
            return;
        }
        self.record("begin", &[&number, &id]);
        let (began, lasts) = (
            Instant::now(),
            Duration::from_millis(20 + task.id.0 % 7 * 30),
        );
        let mut last = Instant::now();
        while began.elapsed() < lasts {
            if last.elapsed() > STALL {
                self.record("stalled", &[&id]);
            }
            last = Instant::now();
            if !session.is_valid() {
                self.record("end", &[&number, &id]);
                return;
            }
            std::thread::sleep(VALID_POLL);
        }
        self.record("end", &[&number, &id]);
        self.complete(own, session, task.id);
    }

    fn complete(&self, own: &Stores, session: &Arc<dyn HostSession>, task: TaskId) {
        let (number, id) = (task.0.to_string(), session.claim().session);
        while session.is_valid() {
            let Err(error) = own.board.complete(task, &name(&self.role), self.now()) else {
                return self.record("completed", &[&number, &id]);
            };
            if error.is_lost_lease() {
                return self.record("lost", &[&id]);
            }
            // The change may have been stored, now or by an earlier attempt that came late. The board tells, also after
            // the session has ended.
            let found = self.until_answered(|| self.stores.board.get(task));
            let Some(found) = found else {
                return;
            };
            let is_own = found
                .claim
                .as_ref()
                .is_some_and(|claim| claim.session == id);
            if found.status == TaskStatus::Completed && is_own {
                return self.record("completed", &[&number, &id]);
            }
            if !is_own {
                return self.record("taken", &[&number, &id]);
            }
            if !is_temporary(&error) {
                return self.record("error", &[&error.to_string()]);
            }
        }
    }

    /// Records an error of a change that this process made as the owner.
    fn note(&self, error: &StoreError, session: &str) {
        if error.is_lost_lease() {
            self.record("lost", &[session]);
        } else if !is_temporary(error) {
            self.record("error", &[&error.to_string()]);
        }
    }

    /// Creates tasks, releases those of lost hosts, and decides requests.
    fn lead(&self, own: &Stores) {
        for result in [self.create(own), self.release(own), self.decide(own)] {
            if let Err(error) = result
                && !is_temporary(&error)
                && !error.is_lost_lease()
            {
                self.record("error", &[&error.to_string()]);
            }
        }
    }

    fn create(&self, own: &Stores) -> Result<(), StoreError> {
        if self.has(HEALED) {
            return Ok(());
        }
        let graph = own.board.read()?.graph;
        let is_open = |task: &&Task| task.status != TaskStatus::Completed;
        if graph.tasks().filter(is_open).count() >= OPEN_TASKS {
            return Ok(());
        }
        // The number follows from the board, so a task whose creation got no answer is not created again.
        let next = graph.len() + 1;
        let on = graph
            .tasks()
            .next_back()
            .filter(is_open)
            .map(|task| task.id);
        let on: Vec<TaskId> = on.filter(|_| next.is_multiple_of(4)).into_iter().collect();
        // The round must not end while a task is being created. In this order: `healed` can appear at any time.
        self.record(CREATING, &[]);
        if self.has(HEALED) {
            self.record(NOT_CREATED, &[]);
            return Ok(());
        }
        let created = own
            .board
            .create(new(&format!("task {next}"), &on), self.now());
        match &created {
            Ok(task) => self.record(CREATED, &[&task.id.0.to_string()]),
            Err(_) => self.record(NOT_CREATED, &[]),
        }
        match created {
            // A blocker was completed in between.
            Ok(_) | Err(StoreError::Graph(GraphError::CompletedBlocker(_))) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn release(&self, own: &Stores) -> Result<(), StoreError> {
        // In this order: a claim that is on the board belongs to a host that has joined before.
        let graph = own.board.read()?.graph;
        let hosts = self.hosts.hosts()?;
        for task in graph.tasks() {
            let Some(claim) = task.claim.as_ref() else {
                continue;
            };
            let is_present = hosts.iter().any(|host| {
                host.presence == HostPresence::Present && host.session == claim.session
            });
            if task.status == TaskStatus::Completed || is_present {
                continue;
            }
            if own
                .board
                .release_lost(task.id, claim, self.now())?
                .is_some()
            {
                self.record("released", &[&task.id.0.to_string(), &claim.session]);
            }
        }
        Ok(())
    }

    fn decide(&self, own: &Stores) -> Result<(), StoreError> {
        let by = if self.role == ROLES[0] {
            Name::lead()
        } else {
            Name::user()
        };
        for request in own.requests.read_all()?.requests {
            if !request.is_pending() {
                continue;
            }
            let comment = format!("{}-{}", self.role, uuid::Uuid::now_v7().simple());
            let verdict = if milliseconds().is_multiple_of(2) {
                Verdict::Approve
            } else {
                Verdict::Reject
            };
            let decision = Decision::on(&request, verdict, by.clone(), comment.clone());
            match own.requests.decide(&decision, self.now()) {
                Ok(_) => self.record("decided", &[&request.id.0, &comment]),
                Err(StoreError::Request(_)) => {}
                Err(error) => {
                    self.record("undecided", &[&request.id.0, &comment]);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Does the work of one process. Does nothing in a normal test run.
#[test]
fn role() {
    let variable = |name: &str| std::env::var(name);
    let Ok(role) = variable(ROLE) else {
        return;
    };
    let root = PathBuf::from(variable(ROOT).unwrap());
    let life = Duration::from_millis(variable(LIFE).unwrap().parse().unwrap());
    let replicas = variable(REPLICAS).unwrap().parse().unwrap();
    // The first use of the hub must find it. Afterwards it may be cut.
    let stores = open(&variable(URL).unwrap(), &root, life, replicas);
    let process = HostProcess {
        hosts: stores.hosts.clone().unwrap(),
        stores,
        root,
        role,
        skew: variable(SKEW).unwrap().parse().unwrap(),
    };
    std::thread::scope(|threads| {
        threads.spawn(|| process.send());
        threads.spawn(|| process.read());
        process.run();
    });
}
