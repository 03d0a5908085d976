//! The parameters of a crew.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::approvers::Deciders;
use super::merge_service::MergeRule;
use crate::agent::driver::ModelConfig;
use crate::domain::budget::UsageBudgets;
use crate::domain::timestamp::Timestamp;
use crate::domain::usage::Price;
use crate::process::supervisor::Supervisor;
use crate::protocol::EventSender;
use crate::protocol::event::SessionInfo;
use crate::store::Skills;
use crate::tools::policy::Rules;

/// The models that agents call.
pub struct ModelParts {
    /// The model configuration in use.
    pub engine: ModelConfig,
    /// Token prices by model name, where known.
    pub prices: BTreeMap<String, Price>,
    /// Maximum number of concurrent model calls. Only reported here; the model in `engine` enforces it.
    pub calls_max: usize,
}

/// The limits of the teammates.
#[derive(Debug, Clone, Copy)]
pub struct TeamLimits {
    /// Maximum number of teammates at a time.
    pub agents_max: usize,
    /// How long a teammate may be idle before it shuts down; `None` for no limit.
    pub idle_timeout: Option<Duration>,
}

/// The parameters of a crew.
pub struct Parts {
    /// The project directory. Its state folders must exist.
    pub root: PathBuf,
    /// The content of the first event, with the final session, tools and so on.
    pub setup: SessionInfo,
    /// The models that agents call.
    pub models: ModelParts,
    /// The approver of each kind of request.
    pub deciders: Deciders,
    /// The limits of the teammates.
    pub limits: TeamLimits,
    /// The budgets. An agent that reaches one waits for the user.
    pub ceilings: UsageBudgets,
    /// The permission rules for tool calls from the settings.
    pub rules: Rules,
    /// The names of the allowed tools; `None` for all.
    pub tools: Option<Vec<String>>,
    /// The time limit of a program that an agent runs.
    pub tool_timeout: Duration,
    /// The supervisor of the agents' programs; `None` to run them directly.
    pub guard: Option<Arc<Supervisor>>,
    /// The share of the context window, in percent, at which a conversation is compacted.
    pub compact_at: u64,
    /// Whether to start fresh or resume the session in `setup`.
    pub start: Start,
    /// The repository's own instructions: file name and text.
    pub memory: Option<(String, String)>,
    /// The skills that agents can load.
    pub skills: Skills,
    /// When branches are merged; `None` for no worktrees, so that all agents work in the root.
    pub worktrees: Option<MergeRule>,
    /// Sends the events.
    pub publisher: EventSender,
    /// Returns the current time.
    pub clock: fn() -> Timestamp,
    /// Returns a new unique id.
    pub new_id: fn() -> String,
    /// Returns a random number in 0..1.
    pub jitter: fn() -> f64,
}

/// How a crew starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With empty conversations.
    Fresh,
    /// With the conversations of the session, however it ended.
    Resumed,
}
