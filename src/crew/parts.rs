//! The parameters of a crew, and who approves each kind of request.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::trees::MergeRule;
use crate::agent::driver::Engine;
use crate::domain::ceiling::Ceilings;
use crate::domain::request::{Decider, RequestKind};
use crate::domain::stamp::Stamp;
use crate::domain::usage::Price;
use crate::process::guard::Guard;
use crate::protocol::Publisher;
use crate::protocol::event::Setup;
use crate::store::Skills;
use crate::tools::policy::Rules;

/// The approver of each kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deciders {
    /// Decides plan approvals.
    pub plan: Decider,
    /// Decides shutdowns.
    pub shutdown: Decider,
    /// Decides tool calls for which the policy requires permission.
    pub tool: Decider,
    /// Decides whether a budget is raised: the user or no one (`Deny`), since no agent may raise its own budget.
    pub ceiling: Decider,
    /// Answers questions to the user: `Ask` if a user is present, else `Deny`.
    pub question: Decider,
}

impl Deciders {
    pub(super) fn of(self, kind: RequestKind) -> Decider {
        match kind {
            RequestKind::Plan => self.plan,
            RequestKind::Shutdown => self.shutdown,
            RequestKind::Permission => self.tool,
            RequestKind::Ceiling => self.ceiling,
            RequestKind::Question => self.question,
        }
    }
}

/// The parameters of a crew.
pub struct Parts {
    /// The project directory. Its state folders must exist.
    pub root: PathBuf,
    /// The content of the first event, with the final session, tools and so on.
    pub setup: Setup,
    /// The model configuration.
    pub engine: Engine,
    /// Token prices by model name, where known.
    pub prices: BTreeMap<String, Price>,
    /// The approver of each kind of request.
    pub deciders: Deciders,
    /// Most model calls in flight. Only reported here; the model in `engine` enforces it.
    pub calls_max: usize,
    /// Most teammates at a time.
    pub agents_max: usize,
    /// The budgets. An agent that reaches one waits for the user.
    pub ceilings: Ceilings,
    /// The permission rules for tool calls from the settings.
    pub rules: Rules,
    /// The names of the allowed tools; `None` for all.
    pub tools: Option<Vec<String>>,
    /// The time limit of a program that an agent runs.
    pub tool_timeout: Duration,
    /// The supervisor of the agents' programs; `None` to run them directly.
    pub guard: Option<Arc<Guard>>,
    /// The share of the context window, in percent, at which a conversation is compacted.
    pub compact_at: u64,
    /// Whether to start fresh or resume the session in `setup`.
    pub start: Start,
    /// How long a teammate may be idle before it shuts down; `None` for no limit.
    pub idle_timeout: Option<Duration>,
    /// The repository's own instructions: file name and text.
    pub memory: Option<(String, String)>,
    /// The skills that agents can load.
    pub skills: Skills,
    /// When branches are merged; `None` for no worktrees, so that all agents work in the root.
    pub worktrees: Option<MergeRule>,
    /// Sends the events.
    pub publisher: Publisher,
    /// Returns the current time.
    pub clock: fn() -> Stamp,
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
