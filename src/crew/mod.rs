//! The crew: receives commands, runs the lead and its teammates, and publishes events.

mod branches;
mod ceilings;
mod chore;
mod clerk;
mod commands;
mod host;
mod jobs;
mod late;
mod lead;
mod mailbox;
mod mate;
mod obey;
mod outfit;
mod parting;
mod parts;
mod person;
mod removal;
mod rest;
mod roll;
mod rules;
mod skills;
mod start;
mod subagent;
mod trees;
mod troubles;
mod undecided;
mod viewer;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::agent::calls::RuleBook;
use crate::agent::desk::Desk;
use crate::agent::driver::{Control, EngineSlot};
use crate::domain::conversation::TurnState;
use crate::domain::environment::Environment;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::skill::SkillBook;
use crate::domain::stamp::Stamp;
use crate::domain::team::Team;
use crate::domain::usage::Price;
use crate::domain::worktree::CheckedOut;
use crate::process::guard::Guard;
use crate::protocol::event::{EventKind, Level, Setup};
use crate::protocol::{Command, Publisher};
use crate::store::{Board, Post, PromptQueue, Requests, Roster, Skills, StoreError};
pub use parts::{Deciders, Parts, Start};
pub use trees::MergeRule;
pub use undecided::REMINDERS_MAX;
pub use viewer::{Runner, Viewer, ViewerParts};

/// Most commands that may be queued for the crew.
const COMMANDS_MAX: usize = 256;
/// Most texts and interrupts that may be queued for one agent.
const CONTROL_MAX: usize = 64;
/// How long agents may take to end when the crew stops.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// The state of an agent as the crew sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Idle: waits for input, a message or a task.
    Resting,
    /// Paused: waits for input or a message only, because its model failed, it was interrupted, or it is stuck.
    Held,
    /// In a turn.
    Working,
}

/// Connects the crew to a running agent.
#[derive(Clone)]
struct Handle {
    control: mpsc::Sender<Control>,
    desk: Arc<Desk>,
    standing: Arc<Mutex<Standing>>,
    tags: Vec<String>,
    /// Stops the agent immediately.
    force: CancellationToken,
}

/// The state that all parts of a crew share.
struct Shared {
    root: PathBuf,
    setup: Mutex<Setup>,
    agents_max: usize,
    engine: EngineSlot,
    prices: BTreeMap<String, Price>,
    deciders: Deciders,
    rules: RuleBook,
    session: Mutex<rules::Session>,
    tools: Option<Vec<String>>,
    tool_timeout: Duration,
    guard: Option<Arc<Guard>>,
    compact_at: u64,
    idle_timeout: Option<Duration>,
    memory: Option<(String, String)>,
    /// The machine and the project, as they were at the start.
    environment: Environment,
    skills: Skills,
    skill_book: RwLock<Arc<SkillBook>>,
    publisher: Publisher,
    board: Board,
    post: Post,
    requests: Requests,
    /// The user's prompts that wait for the lead.
    prompts: Arc<PromptQueue>,
    roster: Roster,
    /// The worktrees; `None` if all agents work in the root.
    trees: Option<trees::Trees>,
    /// The checked-out commit that was last published. Locked while it is read and published.
    head: tokio::sync::Mutex<Option<CheckedOut>>,
    /// The board that was last published.
    graph: RwLock<Arc<TaskGraph>>,
    troubles: troubles::Troubles,
    /// Locked while the board is read and published.
    board_turn: tokio::sync::Mutex<()>,
    /// The user's tasks whose worktree is being created, or could not be created since the crew started.
    placed: Mutex<BTreeSet<TaskId>>,
    mailbox: mailbox::Mailbox,
    /// Locked during the user's merges and worktree removals, which run one at a time.
    merge_turn: tokio::sync::Mutex<()>,
    team: Mutex<Team>,
    agents: Mutex<BTreeMap<Name, Handle>>,
    clerk: clerk::Clerk,
    spending: ceilings::Spending,
    jobs: jobs::Jobs,
    /// The number of subagents started so far.
    subagents: AtomicU64,
    /// The running subagents; cancelling a token interrupts one.
    errands: Mutex<BTreeMap<Name, CancellationToken>>,
    /// Incremented when something on disk changes, so that idle agents check for work.
    changes: watch::Sender<u64>,
    /// Incremented when the state of an agent or of the crew changes.
    pulse: watch::Sender<u64>,
    /// How often an agent started to work; the idle detector compares two readings.
    begun: AtomicU64,
    /// Texts from the crew that are queued for the lead.
    queued: AtomicUsize,
    /// The number of tasks that keep the crew itself busy.
    chores: AtomicUsize,
    /// News of teammates for which the lead was not woken yet.
    news: AtomicUsize,
    tracker: TaskTracker,
    stop: CancellationToken,
    clock: fn() -> Stamp,
    /// The start of the crew on the monotonic clock, for measuring waits.
    began: tokio::time::Instant,
    new_id: fn() -> String,
    jitter: fn() -> f64,
}

/// A running crew.
pub struct Crew {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    resumed: TurnState,
}

impl Crew {
    /// Starts the lead and the watcher. First closes the members and requests that an ended crew left behind, and puts
    /// their tasks back on the board.
    ///
    /// # Errors
    /// When the state folders cannot be read or written.
    pub async fn start(parts: Parts) -> Result<Crew, StoreError> {
        let board = Board::open(&parts.root);
        // Git runs concurrently, since it takes longer than everything before the first screen.
        let asked = start::ask_git(&parts);
        let seen = start::look_around(&parts);
        let graph = start::first_look(&parts, &board).await;
        let heard = start::heard_of_git(asked).await;
        let environment = start::environment(seen).await;
        let shared = Arc::new(Shared {
            head: tokio::sync::Mutex::default(),
            trees: heard.trees,
            board,
            post: Post::open(&parts.root),
            requests: Requests::open(&parts.root),
            prompts: Arc::new(PromptQueue::open(
                &parts.root,
                &parts.setup.session,
                parts.publisher.redactor(),
            )),
            roster: Roster::open(&parts.root),
            root: parts.root,
            setup: Mutex::new(parts.setup),
            agents_max: parts.agents_max,
            engine: Arc::new(RwLock::new(parts.engine)),
            prices: parts.prices,
            deciders: parts.deciders,
            rules: Arc::new(RwLock::new(parts.rules)),
            session: Mutex::default(),
            tools: parts.tools,
            tool_timeout: parts.tool_timeout,
            guard: parts.guard,
            compact_at: parts.compact_at,
            idle_timeout: parts.idle_timeout,
            memory: parts.memory,
            environment,
            skills: parts.skills,
            skill_book: RwLock::default(),
            publisher: parts.publisher,
            graph: RwLock::new(Arc::new(graph)),
            troubles: troubles::Troubles::default(),
            board_turn: tokio::sync::Mutex::default(),
            placed: Mutex::default(),
            mailbox: mailbox::Mailbox::default(),
            merge_turn: tokio::sync::Mutex::default(),
            team: Mutex::default(),
            agents: Mutex::default(),
            clerk: clerk::Clerk::default(),
            spending: ceilings::Spending::new(parts.calls_max, parts.ceilings),
            jobs: jobs::Jobs::default(),
            subagents: AtomicU64::new(0),
            errands: Mutex::default(),
            changes: watch::Sender::new(0),
            pulse: watch::Sender::new(0),
            begun: AtomicU64::new(0),
            queued: AtomicUsize::new(0),
            chores: AtomicUsize::new(0),
            news: AtomicUsize::new(0),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            clock: parts.clock,
            began: tokio::time::Instant::now(),
            new_id: parts.new_id,
            jitter: parts.jitter,
        });
        for (level, text) in heard.notices {
            shared.notice(level, text).await;
        }
        shared.tell_limits().await;
        shared.tell_of_unknown_price().await;
        let (back, team) = roll::call(&shared, parts.start).await?;
        shared.read_skills().await;
        let lead = lead::start(&shared, parts.start).await?;
        let mut resumed = lead.turn;
        let mut mates = Vec::new();
        for member in back {
            let member = mate::back(&shared, member, &team).await?;
            if member.turn == TurnState::Open {
                resumed = TurnState::Open;
            }
            mates.push(member);
        }
        let has_left = shared.lead_has_news().await || shared.has_requests_left().await;
        if parts.start == Start::Resumed && has_left {
            // Counts as having worked, so that the lead is woken when the crew becomes idle.
            shared.begun.fetch_add(1, Ordering::SeqCst);
            shared.beat();
            resumed = TurnState::Open;
        }
        // All agents are registered before any of them acts, so that decisions made in the meantime reach them.
        shared.let_begin(lead, mates);
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        shared.tracker.spawn(obey::obey(Arc::clone(&shared), inbox));
        Ok(Crew {
            shared,
            commands,
            resumed,
        })
    }

    /// Whether a turn, task or message was unfinished when the resumed session ended; the crew then continues without
    /// input.
    pub fn resumed(&self) -> TurnState {
        self.resumed
    }

    /// Queues a command without waiting.
    ///
    /// # Errors
    /// Returns the command if the queue is full or the crew has stopped.
    pub fn submit(&self, command: Command) -> Result<(), Command> {
        self.commands.try_send(command).map_err(|e| match e {
            mpsc::error::TrySendError::Full(c) | mpsc::error::TrySendError::Closed(c) => c,
        })
    }

    /// Stops all agents and their programs, marks the members as gone and puts their tasks back on the board.
    ///
    /// # Errors
    /// When the state folders cannot be written.
    pub async fn stop(self) -> Result<(), StoreError> {
        self.shared.stop.cancel();
        self.shared.tracker.close();
        // Agents end by cancellation. One that does not end in time stops with the process.
        let _ = tokio::time::timeout(STOP_WITHIN, self.shared.tracker.wait()).await;
        roll::close(&self.shared).await
    }
}

impl Shared {
    /// Starts the crew's background tasks and then the agents.
    fn let_begin(self: &Arc<Self>, lead: lead::Lead, mates: Vec<mate::Back>) {
        // The crew counts as busy until all agents have started and pending requests are handed over again.
        let (agents, chore) = (Arc::clone(self), self.chore());
        let begin = move || {
            let _chore = chore;
            lead.begin(&agents);
            for member in mates {
                member.begin(&agents);
            }
        };
        let watch = watcher::watch(Arc::clone(self), begin);
        self.tracker.spawn(watch);
        self.tracker.spawn(roll::beat(Arc::clone(self)));
        self.tracker.spawn(rest::detect(Arc::clone(self)));
    }

    async fn publish(&self, kind: EventKind) {
        self.publisher.publish(kind).await;
    }

    async fn notice(&self, level: Level, text: impl Into<String>) {
        self.publish(EventKind::notice(level, text)).await;
    }

    fn now(&self) -> Stamp {
        (self.clock)()
    }

    /// Returns how long the crew has been running.
    fn ran(&self) -> Duration {
        self.began.elapsed()
    }

    fn graph(&self) -> Arc<TaskGraph> {
        Arc::clone(&self.graph.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the handle of a running agent.
    fn handle(&self, name: &Name) -> Option<Handle> {
        lock(&self.agents)
            .iter()
            .find(|(n, _)| n.same(name))
            .map(|(_, h)| h.clone())
    }

    fn enroll(&self, name: Name, handle: Handle) {
        lock(&self.agents).insert(name, handle);
        self.beat();
    }

    fn dismiss(&self, name: &Name) {
        lock(&self.agents).remove(name);
        self.beat();
    }

    /// Sets the state of an agent and wakes the idle detector.
    fn set_standing(&self, handle: &Handle, standing: Standing) {
        if standing == Standing::Working {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        *lock(&handle.standing) = standing;
        self.beat();
    }

    fn beat(&self) {
        self.pulse.send_modify(|n| *n += 1);
    }

    /// Signals that something on disk has changed.
    fn changed(&self) {
        self.changes.send_modify(|n| *n += 1);
        self.beat();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
