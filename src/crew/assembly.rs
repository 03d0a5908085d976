//! Creates the components of a crew in the order of their dependencies, and connects them.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, RwLock};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::agent_builder::{AgentBuilder, AgentSettings, AgentStores};
use super::base_components::BaseComponents;
use super::board_view::BoardView;
use super::budget::TeamBudget;
use super::checkpoints::CheckpointService;
use super::checks::CrewChecks;
use super::commands::{Commands, DirectoryCommands};
use super::context::CrewContext;
use super::decision_followup::DecisionFollowup;
use super::event_relay;
use super::external_agents::ExternalAgents;
use super::hook_session;
use super::host::CrewHost;
use super::hosts::CrewHosts;
use super::idle_detector::IdleDetector;
use super::inbox_prompts::InboxPrompts;
use super::jobs::JobRunner;
use super::lead::LeadParts;
use super::models::ModelSwitch;
use super::parts::{CheckParts, CrewParts, WorktreeParts};
use super::recovery::Recovery;
use super::registry::AgentRegistry;
use super::request_broker::{BrokerParts, RequestBroker};
use super::request_reminders::RequestReminders;
use super::roles::RoleBook;
use super::servers::CrewServers;
use super::session_permissions::SessionPermissions;
use super::shutdown::Shutdowns;
use super::signals::CrewSignals;
use super::skills::SkillWatch;
use super::subagent::Subagents;
use super::teammate::Teammates;
use super::user_actions::UserActions;
use super::user_shell::UserShell;
use super::watcher::Watcher;
use super::worktree_removal::WorktreeRemoval;
use crate::agent::budget_gate::BudgetGate;
use crate::agent::checkpoint_state::AgentCheckpoints;
use crate::checks::{CheckRunner, TaskChecks, TaskChecksParts};
use crate::domain::environment::Environment;
use crate::domain::graph::TaskGraph;
use crate::domain::team_preset::TeamPreset;
use crate::store::{Board, Checkpoints, WorktreeCommands, Worktrees};
use crate::tools::host::Host;

/// The results of the first steps of a crew's start, as input for [`assemble`].
pub struct StartChecks {
    pub board: Board,
    /// The tasks on the board when it was first published.
    pub graph: TaskGraph,
    /// The worktree store, and how worktrees are used. `None` if they are not in use.
    pub worktrees: Option<(Worktrees, WorktreeParts)>,
    pub environment: Environment,
}

/// The result of [`assemble`]: the components that the following steps of the crew's start call directly. All other
/// components are kept alive by references in these components.
pub struct Components {
    pub context: Arc<CrewContext>,
    pub signals: Arc<CrewSignals>,
    pub registry: Arc<AgentRegistry>,
    pub lead: LeadParts,
    /// The team preset whose teammates are started, unless the session is resumed.
    pub preset: Option<TeamPreset>,
    pub builder: Arc<AgentBuilder>,
    pub teammates: Arc<Teammates>,
    pub host: Arc<dyn Host>,
    pub skills: Arc<SkillWatch>,
    /// The MCP servers of the crew; `None` if no MCP server is configured.
    pub servers: Option<Arc<CrewServers>>,
    pub checks: Arc<CrewChecks>,
    pub budget: Arc<TeamBudget>,
    pub watcher: Watcher,
    pub recovery: Arc<Recovery>,
    pub idle_detector: IdleDetector,
    pub inbox_prompts: Arc<InboxPrompts>,
    /// The other hosts of the crew; `None` if the crew is on this machine only.
    pub hosts: Option<Arc<CrewHosts>>,
    pub commands: Commands,
}

/// The session permissions, and the components that file, decide and carry out requests.
struct RequestGroup {
    broker: Arc<RequestBroker>,
    permissions: Arc<SessionPermissions>,
    shutdowns: Arc<Shutdowns>,
}

impl RequestGroup {
    fn new(
        base: &BaseComponents,
        board: &Arc<BoardView>,
        approvers: super::approvers::Approvers,
        rules: crate::agent::tool_runner::SharedRules,
    ) -> RequestGroup {
        let followup = Arc::new(DecisionFollowup::new(
            base.context.clone(),
            base.registry.clone(),
            base.delivery.clone(),
            base.requests.clone(),
        ));
        let broker = Arc::new(RequestBroker::new(BrokerParts {
            context: base.context.clone(),
            signals: base.signals.clone(),
            errors: base.errors.clone(),
            registry: base.registry.clone(),
            delivery: base.delivery.clone(),
            followup: followup.clone(),
            board: board.clone(),
            team: base.team.clone(),
            requests: base.requests.clone(),
            approvers,
        }));
        let permissions = SessionPermissions::new(base.context.clone(), broker.clone(), rules);
        let shutdowns = Shutdowns::new(
            base.context.clone(),
            base.registry.clone(),
            base.delivery.clone(),
            followup,
            base.requests.clone(),
        );
        RequestGroup {
            broker,
            permissions: Arc::new(permissions),
            shutdowns: Arc::new(shutdowns),
        }
    }
}

/// Creates and connects all components of a crew.
#[allow(clippy::too_many_lines)] // one list, without decisions
pub fn assemble(mut parts: CrewParts, found: StartChecks) -> Components {
    let hooks = hook_session::create(&mut parts);
    let relayed = event_relay::tap(&mut parts);
    let base = BaseComponents::new(
        CrewContext {
            root: parts.shared.root,
            session: parts.session.info.session.clone(),
            event_sender: parts.event_sender,
            hooks,
            clock: parts.clock,
            new_id: parts.new_id,
            started: tokio::time::Instant::now(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            host: parts.shared.host,
        },
        parts.shared.stores.clone(),
    );
    let shared = parts.shared.stores;
    event_relay::start(&base.context, relayed);
    let (store, used) = found.worktrees.unzip();
    let used = used.unwrap_or_default();
    let worktree_commands = WorktreeCommands {
        settings: used.settings,
        supervisor: parts.supervisor.clone(),
        at_once: parts.extensions.checks.at_once,
        withheld: used.withheld_teardown,
    };
    let rules = Arc::new(RwLock::new(parts.rules));
    let checks = task_checks(
        &base.context,
        parts.extensions.checks,
        worktree_commands.clone(),
        (&found.board, store.as_ref()),
    );
    let followup = base.board(
        found.board,
        found.graph,
        store.as_ref(),
        used.merge,
        &checks,
        worktree_commands.clone(),
    );
    let (board, worktrees) = (followup.board.clone(), followup.worktrees.clone());
    let (merges, branches) = (followup.merges.clone(), followup.merges.branches().clone());
    let RequestGroup {
        broker,
        permissions,
        shutdowns,
    } = RequestGroup::new(&base, &board, parts.approvers, rules.clone());
    let BaseComponents {
        context,
        signals,
        errors,
        registry,
        lead,
        delivery,
        team,
        prompts,
        mailbox,
        requests,
        exchange,
    } = base;
    let checks = Arc::new(CrewChecks::new(
        context.clone(),
        signals.clone(),
        board.clone(),
        broker.clone(),
        delivery.clone(),
        checks,
    ));
    let calls_max = parts.models.calls_max;
    let models = Arc::new(ModelSwitch::new(
        context.clone(),
        registry.clone(),
        parts.models,
        parts.session.info,
    ));
    let budget = Arc::new(TeamBudget::new(
        context.clone(),
        broker.clone(),
        models.clone(),
        calls_max,
        parts.budgets.clone(),
    ));
    let roles = Arc::new(RoleBook::new(
        context.clone(),
        parts.instructions.roles,
        parts.instructions.skills.clone(),
    ));
    let skills = Arc::new(SkillWatch::new(
        context.clone(),
        registry.clone(),
        parts.instructions.skills,
        parts.tools.as_deref(),
    ));
    let jobs = Arc::new(JobRunner::new(
        context.clone(),
        signals.clone(),
        registry.clone(),
        parts.supervisor.clone(),
    ));
    let program = parts.supervisor.as_ref().map(|s| s.program.clone());
    let servers = CrewServers::new(context.clone(), parts.extensions.servers, program.clone());
    let checkpoints = parts.limits.checkpoints.map(|limits| AgentCheckpoints {
        store: Checkpoints::open(&context.root),
        session: context.session.clone(),
        limits,
    });
    let directories = DirectoryCommands {
        shell: UserShell::new(
            context.clone(),
            registry.clone(),
            board.clone(),
            worktrees.clone(),
            parts.supervisor.clone(),
        ),
        checkpoints: CheckpointService::new(
            context.clone(),
            registry.clone(),
            board.clone(),
            worktrees.clone(),
            jobs.clone(),
            checkpoints.clone(),
        ),
    };
    let budget_gate: Arc<dyn BudgetGate> = budget.clone();
    let builder = Arc::new(AgentBuilder::new(
        context.clone(),
        models.clone(),
        skills.clone(),
        roles,
        budget_gate,
        AgentSettings {
            tools: parts.tools,
            tool_timeout: parts.tool_timeout,
            supervisor: parts.supervisor,
            rules,
            compact_at: parts.compact_at,
            calls_without_progress: parts.budgets.calls_without_progress,
            memory: parts.instructions.memory,
            environment: found.environment,
            jitter: parts.jitter,
        },
        AgentStores {
            shared: shared.clone(),
            prompts,
            checkpoints,
        },
    ));
    let external = Arc::new(ExternalAgents::new(
        context.clone(),
        team.clone(),
        parts.extensions.external,
        program.clone(),
    ));
    let teammates = Arc::new(Teammates {
        external: external.clone(),
        context: context.clone(),
        signals: signals.clone(),
        registry: registry.clone(),
        delivery: delivery.clone(),
        lead: lead.clone(),
        board: board.clone(),
        worktrees: worktrees.clone(),
        jobs: jobs.clone(),
        broker: broker.clone(),
        budget: budget.clone(),
        team: team.clone(),
        shutdowns: shutdowns.clone(),
        builder: builder.clone(),
        checks: checks.clone(),
        limits: parts.limits,
        is_draining: AtomicBool::new(false),
    });
    let hosts = CrewHosts::new(&teammates, mailbox.clone());
    let subagents = Subagents::new(context.clone(), registry.clone(), builder.clone());
    let host = Arc::new(CrewHost {
        context: context.clone(),
        registry: registry.clone(),
        broker: broker.clone(),
        permissions: permissions.clone(),
        shutdowns: shutdowns.clone(),
        worktrees,
        merges: merges.clone(),
        jobs: jobs.clone(),
        subagents: Arc::new(subagents),
        teammates: teammates.clone(),
        servers: servers.clone(),
        checks: checks.clone(),
    });
    Components {
        watcher: Watcher {
            context: context.clone(),
            signals: signals.clone(),
            errors: errors.clone(),
            board: board.clone(),
            followup,
            team: team.clone(),
            broker: broker.clone(),
            branches: branches.clone(),
            merges: merges.clone(),
            skills: skills.clone(),
            permissions: permissions.clone(),
            mailbox: mailbox.clone(),
            changes: shared.changes,
            exchange,
        },
        recovery: Arc::new(Recovery {
            context: context.clone(),
            signals: signals.clone(),
            errors,
            registry: registry.clone(),
            broker: broker.clone(),
            requests,
            board: board.clone(),
            team: team.clone(),
        }),
        idle_detector: IdleDetector {
            context: context.clone(),
            signals: signals.clone(),
            registry: registry.clone(),
            delivery: delivery.clone(),
            lead: lead.clone(),
            jobs: jobs.clone(),
            reminders: RequestReminders::new(context.clone(), broker.clone(), lead.clone()),
            broker: broker.clone(),
            board: board.clone(),
            branches: branches.clone(),
            hosts: hosts.clone(),
        },
        hosts,
        inbox_prompts: Arc::new(InboxPrompts {
            context: context.clone(),
            signals: signals.clone(),
            registry: registry.clone(),
            delivery: delivery.clone(),
            mailbox: mailbox.clone(),
            host: host.clone(),
            running: Mutex::default(),
        }),
        lead: LeadParts {
            context: context.clone(),
            signals: signals.clone(),
            registry: registry.clone(),
            inbox: lead.clone(),
            delivery: delivery.clone(),
            board: board.clone(),
        },
        commands: Commands {
            directories,
            user_actions: UserActions::new(
                context.clone(),
                signals.clone(),
                board.clone(),
                team.store().clone(),
                mailbox,
                store,
                checks.clone(),
            ),
            removal: WorktreeRemoval::new(
                context.clone(),
                board,
                branches,
                merges.clone(),
                worktree_commands,
            ),
            context: context.clone(),
            signals: signals.clone(),
            registry: registry.clone(),
            lead,
            delivery,
            team,
            jobs,
            broker,
            permissions,
            shutdowns,
            merges,
            models,
            budget: budget.clone(),
            teammates: teammates.clone(),
            host: host.clone(),
            servers: servers.clone(),
            waits: super::prompt_waits::PromptWaits::default(),
        },
        context,
        signals,
        registry,
        preset: parts.preset,
        builder,
        teammates,
        host,
        skills,
        servers,
        checks,
        budget,
    }
}

/// Creates the checks of tasks. They run under the supervisor of the agents' commands, in checkouts that are prepared as
/// `commands` says.
fn task_checks(
    context: &CrewContext,
    parts: CheckParts,
    commands: WorktreeCommands,
    (board, worktrees): (&Board, Option<&Worktrees>),
) -> Arc<TaskChecks> {
    let redactor = context.event_sender.redactor().clone();
    let (root, clock) = (&context.root, context.clock);
    Arc::new(TaskChecks::new(TaskChecksParts {
        root: root.clone(),
        specs: parts.specs,
        runner: CheckRunner::new(root, commands, redactor, parts.at_once, clock),
        acceptance: parts.acceptance,
        board: board.clone(),
        worktrees: worktrees.cloned(),
    }))
}
