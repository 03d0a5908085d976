//! The basic components of a crew for tests, in a temporary directory.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock, Weak};

use futures::future::BoxFuture;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::approvers::Approvers;
use super::board_followup::BoardFollowup;
use super::board_view::{BoardObserver, BoardView};
use super::branch_status::BranchStatus;
use super::checks::CrewChecks;
use super::context::CrewContext;
use super::decision_followup::DecisionFollowup;
use super::file_errors::FileErrors;
use super::lead_inbox::LeadInbox;
use super::merge_service::MergeService;
use super::message_delivery::MessageDelivery;
use super::models::ModelSwitch;
use super::parts::{ModelParts, NamedModels};
use super::registry::{AgentHandle, AgentRegistry};
use super::request_broker::{BrokerParts, RequestBroker};
use super::signals::CrewSignals;
use super::team::TeamRoster;
use super::worktrees::TaskWorktrees;
use crate::agent::driver::{AgentModel, Control, FindModel, ModelConfig, ModelOptions};
use crate::checks::{CheckRunner, NoAcceptance, TaskChecks, TaskChecksParts};
use crate::domain::checks::CheckSpec;
use crate::domain::graph::{Claimer, NewTask, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::named_model::ModelUses;
use crate::domain::permission::SettingsPermissions;
use crate::domain::redact::Redactor;
use crate::domain::request::Approver;
use crate::domain::timestamp::Timestamp;
use crate::domain::usage::Price;
use crate::domain::worktree::MergePolicy;
use crate::model::{Delta, Model, ModelError, ModelRequest};
use crate::protocol::EventReceiver;
use crate::protocol::bus::bus;
use crate::protocol::event::{CrewEvent, EventKind, SessionInfo};
use crate::store::{
    Board, Mailbox, NewWorktree, PromptQueue, Requests, Roster, WorktreeCommands, Worktrees,
    prepare,
};

/// Approvers for a crew with a user. The lead decides plans, shutdowns and permissions; the user decides budgets and
/// answers questions.
pub const LEAD_DECIDES: Approvers = Approvers {
    plan: Approver::Lead,
    shutdown: Approver::Lead,
    tool: Approver::Lead,
    budget: Approver::Ask,
    question: Approver::Ask,
};

/// The basic components of a crew, and the receiver of the events that they publish.
pub struct TestCrew {
    pub dir: tempfile::TempDir,
    pub events: EventReceiver,
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub errors: Arc<FileErrors>,
    pub registry: Arc<AgentRegistry>,
    pub lead: Arc<LeadInbox>,
    pub delivery: Arc<MessageDelivery>,
    pub team: Arc<TeamRoster>,
    pub requests: Requests,
}

pub fn bob() -> Name {
    Name::member("bob").unwrap()
}

impl TestCrew {
    pub fn new() -> TestCrew {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        let (event_sender, events) = bus(|| Timestamp(1.0));
        let context = Arc::new(CrewContext {
            root: dir.path().to_path_buf(),
            session: "session".into(),
            event_sender,
            clock: || Timestamp(9.0),
            new_id: || format!("id-{}", IDS.fetch_add(1, Ordering::SeqCst)),
            started: tokio::time::Instant::now(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            hooks: None,
            host: None,
        });
        let signals = Arc::new(CrewSignals::default());
        let errors = Arc::new(FileErrors::new(context.clone()));
        let registry = Arc::new(AgentRegistry::new(signals.clone()));
        let redactor = context.event_sender.redactor();
        let prompts = PromptQueue::open(dir.path(), &context.session, redactor);
        let lead = LeadInbox::new(registry.clone(), Arc::new(prompts));
        let delivery = MessageDelivery::new(
            context.clone(),
            signals.clone(),
            registry.clone(),
            Mailbox::open(dir.path()),
        );
        let team = TeamRoster::new(context.clone(), errors.clone(), Roster::open(dir.path()));
        TestCrew {
            requests: Requests::open(dir.path()),
            lead: Arc::new(lead),
            delivery: Arc::new(delivery),
            team: Arc::new(team),
            dir,
            events,
            context,
            signals,
            errors,
            registry,
        }
    }

    /// Registers an idle agent named `name`. Returns its handle, and the receiver of its commands.
    pub fn agent(&self, name: &Name) -> (AgentHandle, mpsc::Receiver<Control>) {
        let (handle, inbox) = AgentHandle::new(
            Arc::default(),
            silent_agent_model(),
            Vec::new(),
            Arc::default(),
        );
        self.registry.add(name.clone(), handle.clone());
        (handle, inbox)
    }

    /// Returns a view of the board on disk that has published no tasks yet, without an observer.
    pub fn board(&self) -> Arc<BoardView> {
        self.observed_board(Weak::<BoardFollowup>::new())
    }

    pub fn observed_board(&self, observer: Weak<dyn BoardObserver>) -> Arc<BoardView> {
        Arc::new(BoardView::new(
            self.context.clone(),
            self.errors.clone(),
            self.signals.clone(),
            Board::open(self.dir.path()),
            TaskGraph::default(),
            observer,
        ))
    }

    /// Returns the merge service; without `worktrees`, that of a crew in which worktrees are not in use.
    pub fn merges(
        &self,
        board: &Arc<BoardView>,
        worktrees: Option<Worktrees>,
    ) -> Arc<MergeService> {
        let (context, errors) = (self.context.clone(), self.errors.clone());
        let branches = BranchStatus::new(context.clone(), errors, board.clone(), worktrees.clone());
        Arc::new(MergeService::new(
            context,
            board.clone(),
            Arc::new(branches),
            self.lead.clone(),
            worktrees,
            MergePolicy::Asked,
            None,
        ))
    }

    /// Returns the merge service of a crew whose settings have one check, the command `run`.
    pub fn checked_merges(&self, board: &Arc<BoardView>, run: &str) -> Arc<MergeService> {
        let checks = one_check(&self.context.root, run, self.context.clock);
        self.merges_with(board, checks)
    }

    /// Returns the merge service of a crew with these checks.
    pub fn merges_with(&self, board: &Arc<BoardView>, checks: TaskChecks) -> Arc<MergeService> {
        let (context, errors) = (self.context.clone(), self.errors.clone());
        let worktrees = Some(Worktrees::open(&context.root));
        let branches = BranchStatus::new(context.clone(), errors, board.clone(), worktrees.clone());
        Arc::new(MergeService::new(
            context,
            board.clone(),
            Arc::new(branches),
            self.lead.clone(),
            worktrees,
            MergePolicy::Auto,
            Some(Arc::new(checks)),
        ))
    }

    /// Returns the checks of a crew whose settings have none.
    pub fn checks(&self, board: &Arc<BoardView>) -> Arc<CrewChecks> {
        self.checks_of(board, Vec::new())
    }

    /// Returns the checks of a crew without worktrees whose settings have the checks `specs`.
    pub fn checks_of(&self, board: &Arc<BoardView>, specs: Vec<CheckSpec>) -> Arc<CrewChecks> {
        let (context, root) = (&self.context, &self.context.root);
        let redactor = context.event_sender.redactor().clone();
        let checks = TaskChecks::new(TaskChecksParts {
            root: root.clone(),
            specs,
            runner: CheckRunner::new(
                root,
                WorktreeCommands::default(),
                redactor,
                1,
                context.clock,
            ),
            acceptance: Arc::new(NoAcceptance),
            board: board.store().clone(),
            worktrees: None,
        });
        Arc::new(CrewChecks::new(
            context.clone(),
            self.signals.clone(),
            board.clone(),
            self.broker(LEAD_DECIDES),
            self.delivery.clone(),
            Arc::new(checks),
        ))
    }

    /// Returns a [`TaskWorktrees`] without a store, as in a crew that does not use worktrees: no task gets a worktree.
    pub fn worktrees(&self, board: &Arc<BoardView>) -> Arc<TaskWorktrees> {
        let (context, registry) = (self.context.clone(), self.registry.clone());
        Arc::new(TaskWorktrees::new(
            context,
            registry,
            board.clone(),
            None,
            None,
        ))
    }

    pub fn followup(&self) -> Arc<DecisionFollowup> {
        Arc::new(DecisionFollowup::new(
            self.context.clone(),
            self.registry.clone(),
            self.delivery.clone(),
            self.requests.clone(),
        ))
    }

    pub fn broker(&self, approvers: Approvers) -> Arc<RequestBroker> {
        Arc::new(RequestBroker::new(BrokerParts {
            context: self.context.clone(),
            signals: self.signals.clone(),
            errors: self.errors.clone(),
            registry: self.registry.clone(),
            delivery: self.delivery.clone(),
            followup: self.followup(),
            board: self.board(),
            team: self.team.clone(),
            requests: self.requests.clone(),
            approvers,
        }))
    }

    /// Returns a model switch whose model `silent` has no known price and answers calls with nothing. The settings
    /// contain a price only for the model `loud`.
    pub fn models(&self) -> Arc<ModelSwitch> {
        self.models_of(self.model_parts())
    }

    /// Returns the parts from which [`Self::models`] creates its model switch.
    #[allow(clippy::unused_self)] // as the other parts of a crew
    pub fn model_parts(&self) -> ModelParts {
        let price = Price {
            input: 2.0,
            output: 8.0,
            cache_read: None,
            cache_write: None,
        };
        let prices = std::collections::BTreeMap::from([("loud".to_string(), price)]);
        ModelParts {
            model_config: silent_config(),
            is_chosen: false,
            max_tokens: 100,
            prices,
            named: Arc::new(OneNamedModel),
            uses: ModelUses::default(),
            calls_max: 1,
        }
    }

    pub fn models_of(&self, parts: ModelParts) -> Arc<ModelSwitch> {
        let setup = SessionInfo {
            session: self.context.session.clone(),
            root: "here".into(),
            provider: "script".into(),
            model: "silent".into(),
            scripted: true,
            git: false,
            window: None,
            tools: Vec::new(),
            earlier: false,
            allowed: SettingsPermissions::default(),
            checks: false,
        };
        let registry = self.registry.clone();
        Arc::new(ModelSwitch::new(
            self.context.clone(),
            registry,
            parts,
            setup,
        ))
    }

    /// Returns the events that were published since the last call of this function or of [`Self::notices`].
    pub fn take_events(&mut self) -> Vec<EventKind> {
        std::iter::from_fn(|| self.events.try_next().map(|e| e.kind)).collect()
    }

    /// Returns the texts of the notices that were published since the last call of this function or of
    /// [`Self::take_events`]. Discards all other events.
    pub fn notices(&mut self) -> Vec<String> {
        let events = self.take_events().into_iter();
        events
            .filter_map(|e| match e {
                EventKind::Crew(CrewEvent::Notice { text, .. }) => Some(text),
                _ => None,
            })
            .collect()
    }

    /// Waits until all background tasks of the crew have ended.
    pub async fn tasks_end(&self) {
        self.context.tracker.close();
        self.context.tracker.wait().await;
    }
}

/// Returns the checks of a project whose settings have one check, the command `run`.
pub fn one_check(root: &Path, run: &str, clock: fn() -> Timestamp) -> TaskChecks {
    TaskChecks::new(TaskChecksParts {
        root: root.to_path_buf(),
        specs: vec![CheckSpec {
            name: "test".into(),
            ..CheckSpec::acceptance(run)
        }],
        runner: CheckRunner::new(
            root,
            WorktreeCommands::default(),
            Redactor::default(),
            2,
            clock,
        ),
        acceptance: Arc::new(NoAcceptance),
        board: Board::open(root),
        worktrees: Some(Worktrees::open(root)),
    })
}

/// Runs git with a configured user name. Returns its standard output without blanks at both ends. Panics if git fails.
pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=t", "-c", "user.email=t@t"]);
    let out = command.args(args).current_dir(dir).output().unwrap();
    assert!(out.status.success(), "{args:?} {out:?}");
    String::from_utf8_lossy(&out.stdout).trim().to_string()
}

/// Creates a repository in `root` with a completed task for each file, whose branch adds the file. The first task has
/// the number 1. Returns the first 10 characters of the hash of the only commit on `main`.
pub fn repository(root: &Path, files: &[&str]) -> String {
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    git(root, &["commit", "--quiet", "--allow-empty", "-m", "start"]);
    let (board, trees, now) = (Board::open(root), Worktrees::open(root), Timestamp(1.0));
    for (id, file) in (1..).zip(files) {
        let task = TaskId(id);
        let new = NewWorktree {
            task,
            subject: (*file).into(),
            owner: "bob".into(),
            base: None,
            start: None,
            needs: Vec::new(),
            made: None,
            has_setup: false,
        };
        let name = trees.create(&new, now).unwrap().worktree.name;
        let dir = root.join(".worktrees").join(name.as_str());
        std::fs::write(dir.join(file), id.to_string()).unwrap();
        git(&dir, &["add", "."]);
        git(&dir, &["commit", "--quiet", "-m", file]);
        let new = NewTask {
            subject: (*file).into(),
            worktree: name.to_string(),
            ..Default::default()
        };
        board.create(new, now).unwrap();
        let claimer = Claimer {
            name: bob(),
            tags: Vec::new(),
        };
        board.claim(Some(task), &claimer, now).unwrap();
        board.complete(task, &bob(), now).unwrap();
    }
    git(root, &["rev-parse", "--short=10", "HEAD"])
}

fn silent_config() -> ModelConfig {
    ModelConfig {
        model: Arc::new(SilentModel),
        name: "silent".into(),
        window: Some(1000),
        price: None,
        max_tokens: 100,
        options: ModelOptions::default(),
    }
}

/// Returns an agent's model that answers calls with nothing and cannot be changed to another model.
pub fn silent_agent_model() -> Arc<AgentModel> {
    let shared = Arc::new(RwLock::new(silent_config()));
    Arc::new(AgentModel::new(shared, None, None, Arc::new(NoOtherModel)))
}

struct NoOtherModel;

impl FindModel for NoOtherModel {
    fn find(&self, name: &str) -> Result<ModelConfig, String> {
        Err(format!("there is no model {name}"))
    }
}

/// The named models `strong` and `keyless`. The second cannot be used, because its key is missing.
struct OneNamedModel;

impl NamedModels for OneNamedModel {
    fn names(&self) -> Vec<String> {
        vec!["strong".into(), "keyless".into()]
    }

    fn find(&self, name: &str) -> Option<Result<ModelConfig, String>> {
        match name {
            "strong" => Some(Ok(ModelConfig {
                name: "strong-1".into(),
                window: Some(5000),
                ..silent_config()
            })),
            "keyless" => Some(Err("there is no API key".into())),
            _ => None,
        }
    }
}

struct SilentModel;

impl Model for SilentModel {
    fn call(&self, _: ModelRequest) -> BoxStream<'static, Result<Delta, ModelError>> {
        stream::empty().boxed()
    }

    fn list(&self) -> BoxFuture<'static, Result<Vec<String>, ModelError>> {
        async { Ok(vec!["silent".into(), "loud".into()]) }.boxed()
    }

    fn is_remote(&self) -> bool {
        false
    }
}
