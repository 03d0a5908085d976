//! The parameters for the start of a crew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::approvers::Approvers;
use super::external_agents::ExternalParts;
use super::first_board::PublishedBoard;
use super::hooks::HookParts;
use super::servers::ServerParts;
use super::shared_parts::SharedParts;
use crate::agent::driver::ModelConfig;
use crate::checks::{AcceptanceCheck, NoAcceptance};
use crate::domain::budget::UsageBudgets;
use crate::domain::checkpoint::CheckpointLimits;
use crate::domain::checks::CheckSpec;
use crate::domain::memory::ProjectMemory;
use crate::domain::named_model::ModelUses;
use crate::domain::team_preset::TeamPreset;
use crate::domain::timestamp::Timestamp;
use crate::domain::usage::Price;
use crate::domain::worktree::{MergePolicy, WorktreeSettings};
use crate::process::supervisor::Supervisor;
use crate::protocol::EventSender;
use crate::protocol::event::SessionInfo;
use crate::store::{Roles, Skills, SpendingFile};
use crate::tools::policy::PermissionRules;

/// The named models of the settings. Connects to a server when [`NamedModels::find`] first returns one of its models.
pub trait NamedModels: Send + Sync {
    /// Returns the names, in the order in which the user sees them.
    fn names(&self) -> Vec<String>;

    /// Returns the configuration of the named model `name`; `None` if there is no such named model.
    ///
    /// # Errors
    /// Fails with the reason if the model's server cannot be used, for example because a key is missing.
    fn find(&self, name: &str) -> Option<Result<ModelConfig, String>>;
}

pub struct ModelParts {
    /// The configuration of the model for all agents without a model of their own. Its server is the crew's server,
    /// which is also called for all models that are not named models.
    pub model_config: ModelConfig,
    /// Whether the user has chosen the lead's model for this start. A resumed session then does not restore the choice
    /// of its earlier run.
    pub is_chosen: bool,
    /// Maximum number of tokens in one answer of a model that is not a named model.
    pub max_tokens: u32,
    /// The known token prices, by model name.
    pub prices: BTreeMap<String, Price>,
    pub named: Arc<dyn NamedModels>,
    /// Which model each kind of agent uses. The entry for the lead has no effect here: `model_config` is already the
    /// lead's model.
    pub uses: ModelUses,
    /// Maximum number of concurrent model calls. The crew only publishes it; the model in `model_config` enforces it.
    pub calls_max: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct TeamLimits {
    /// Maximum number of teammates at the same time.
    pub agents_max: usize,
    /// Time after which an idle teammate shuts down; `None` for no limit.
    pub idle_timeout: Option<Duration>,
    /// How long the checkpoints of agents are kept; `None` if none are recorded.
    pub checkpoints: Option<CheckpointLimits>,
}

/// The limits at which an agent pauses until the user decides whether it continues.
#[derive(Debug, Clone, Default)]
pub struct BudgetParts {
    /// Limits on tokens and cost. An agent that reaches one pauses before its next model call and asks the user to
    /// raise it.
    pub budgets: UsageBudgets,
    /// The file with the usage of all crews by day. `None` if no budget limits a day or a month, or if there is no home
    /// directory.
    pub spending: Option<SpendingFile>,
    /// The number of model calls in a row without progress after which an agent pauses and the user is asked; 0 for no
    /// limit.
    pub calls_without_progress: u32,
}

/// The texts of the user and the project for the agents' system prompts.
pub struct InstructionParts {
    /// The project's instruction files (AGENTS.md or CLAUDE.md).
    pub memory: Arc<ProjectMemory>,
    pub skills: Skills,
    pub roles: Roles,
}

/// The checks that must succeed before a task is completed.
pub struct CheckParts {
    /// The checks of the settings. Checks of a project's settings file that the user has not approved are left out.
    pub specs: Vec<CheckSpec>,
    /// Maximum number of checks that run at the same time.
    pub at_once: usize,
    pub acceptance: Arc<dyn AcceptanceCheck>,
}

impl Default for CheckParts {
    fn default() -> CheckParts {
        CheckParts {
            specs: Vec::new(),
            at_once: 1,
            acceptance: Arc::new(NoAcceptance),
        }
    }
}

/// The user's and the project's MCP servers, hooks, checks and external agents.
#[derive(Default)]
pub struct ExtensionParts {
    pub checks: CheckParts,
    /// The MCP servers; `None` if none is configured.
    pub servers: Option<ServerParts>,
    /// The hooks; `None` if none is configured.
    pub hooks: Option<HookParts>,
    /// What the crew needs to run external agents. With `None`, the crew has no external agents.
    pub external: Option<ExternalParts>,
}

/// How the worktrees of tasks are used.
#[derive(Debug, Clone, Default)]
pub struct WorktreeParts {
    /// The policy that says what triggers merges.
    pub merge: MergePolicy,
    /// The commands for worktrees. Those of the project are included only if the user has approved them.
    pub settings: WorktreeSettings,
    /// Why the project's teardown command does not run, as a sentence for the user; `None` if it runs or there is none.
    pub withheld_teardown: Option<String>,
}

/// The session of a crew, and what of it is already published.
pub struct SessionParts {
    /// The session information.
    pub info: SessionInfo,
    /// The board, if [`publish_session`](super::publish_session) has already published it with `info`. With `None`, the
    /// crew publishes both at its start.
    pub published: Option<PublishedBoard>,
}

pub struct CrewParts {
    pub shared: SharedParts,
    pub session: SessionParts,
    pub models: ModelParts,
    pub approvers: Approvers,
    pub limits: TeamLimits,
    pub budgets: BudgetParts,
    /// The permission rules that the settings define for tool calls.
    pub rules: PermissionRules,
    /// The names of the tools that agents may use; `None` allows all tools.
    pub tools: Option<Vec<String>>,
    /// Maximum run time of a program that an agent's tool call starts.
    pub tool_timeout: Duration,
    /// The supervisor of the programs that agents start. With `None`, programs run without a supervisor.
    pub supervisor: Option<Arc<Supervisor>>,
    /// Percentage of the model's context window. A conversation that fills more is compacted.
    pub compact_at: u64,
    /// Whether the agents continue the conversations of the session. If false, they start with empty
    /// conversations.
    pub resumes: bool,
    pub instructions: InstructionParts,
    /// The team preset with which the crew starts. Ignored if `resumes` is true, since a resumed crew restores its own
    /// team.
    pub preset: Option<TeamPreset>,
    pub extensions: ExtensionParts,
    /// How worktrees are used. With `None`, worktrees are not used and all agents work in the project directory.
    pub worktrees: Option<WorktreeParts>,
    pub event_sender: EventSender,
    pub clock: fn() -> Timestamp,
    pub new_id: fn() -> String,
    /// Returns a random number from 0 to 1. It varies the delays before retries of model calls, so that agents do not
    /// all retry at the same time.
    pub jitter: fn() -> f64,
}
