//! The parameters of a crew.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::approvers::Approvers;
use super::hooks::HookParts;
use super::servers::ServerParts;
use crate::agent::driver::ModelConfig;
use crate::domain::budget::UsageBudgets;
use crate::domain::memory::ProjectMemory;
use crate::domain::team_preset::TeamPreset;
use crate::domain::timestamp::Timestamp;
use crate::domain::usage::Price;
use crate::domain::worktree::MergePolicy;
use crate::process::supervisor::Supervisor;
use crate::protocol::EventSender;
use crate::protocol::event::SessionInfo;
use crate::store::{Roles, Skills};
use crate::tools::policy::PermissionRules;

pub struct ModelParts {
    /// The shared model configuration, for all agents without a model of their own.
    pub model_config: ModelConfig,
    /// Token prices by model name, where known.
    pub prices: BTreeMap<String, Price>,
    /// Maximum number of concurrent model calls. Only published by the crew; the model in `model_config` enforces it.
    pub calls_max: usize,
}

#[derive(Debug, Clone, Copy)]
pub struct TeamLimits {
    /// Maximum number of teammates at a time.
    pub agents_max: usize,
    /// How long a teammate may be idle before it shuts down; `None` for no limit.
    pub idle_timeout: Option<Duration>,
}

/// What agents read besides crewdeck's own prompts.
pub struct InstructionParts {
    /// The project's instruction files.
    pub memory: Arc<ProjectMemory>,
    pub skills: Skills,
    pub roles: Roles,
}

/// Programs of the user and the project that agents use or that are called at events.
#[derive(Default)]
pub struct ExtensionParts {
    /// The MCP servers; `None` if none is configured.
    pub servers: Option<ServerParts>,
    /// The hooks; `None` if none is configured.
    pub hooks: Option<HookParts>,
}

pub struct CrewParts {
    /// The project directory. Its state folders must exist.
    pub root: PathBuf,
    /// The session information, which the crew publishes as its first event.
    pub setup: SessionInfo,
    pub models: ModelParts,
    pub approvers: Approvers,
    pub limits: TeamLimits,
    /// The budgets. An agent that reaches a budget waits until the user raises it.
    pub budgets: UsageBudgets,
    /// The permission rules that the settings define for tool calls.
    pub rules: PermissionRules,
    /// The names of the allowed tools; `None` allows all.
    pub tools: Option<Vec<String>>,
    /// Maximum run time of a program that an agent starts.
    pub tool_timeout: Duration,
    /// The supervisor of the agents' programs. With `None`, programs run directly.
    pub supervisor: Option<Arc<Supervisor>>,
    /// The share of the context window, in percent, at which a conversation is compacted.
    pub compact_at: u64,
    /// Whether the agents continue the conversations of the session in `setup`, no matter how that session ended.
    /// Otherwise they start with empty conversations.
    pub resumes: bool,
    pub instructions: InstructionParts,
    /// The team that is there from the start. A resumed crew restores its own team instead.
    pub preset: Option<TeamPreset>,
    pub extensions: ExtensionParts,
    /// What triggers merges. With `None`, worktrees are not used and all agents work in the project directory.
    pub worktrees: Option<MergePolicy>,
    pub publisher: EventSender,
    pub clock: fn() -> Timestamp,
    pub new_id: fn() -> String,
    /// Returns a random number in 0..1. It varies the delays of retries, so that agents do not retry all at once.
    pub jitter: fn() -> f64,
}
