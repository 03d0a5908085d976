//! What a crew is made of: everything that the roof gathers for it, and who decides what.

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

/// Who decides each kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deciders {
    /// Plans.
    pub plan: Decider,
    /// Shutdowns.
    pub shutdown: Decider,
    /// Tool calls that the policy asks about.
    pub tool: Decider,
    /// Ceilings: the person, or nobody. No agent lifts its own.
    pub ceiling: Decider,
    /// What only the person can answer: `Ask` where one is there, else `Deny`.
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

/// Everything that a crew is made of; the roof gathers it.
pub struct Parts {
    /// The directory; here lie the state folders, which exist.
    pub root: PathBuf,
    /// What the first event says. Session, tools and the like are final here.
    pub setup: Setup,
    /// The model.
    pub engine: Engine,
    /// What tokens cost, by the model's name, where known.
    pub prices: BTreeMap<String, Price>,
    /// Who decides what.
    pub deciders: Deciders,
    /// Most calls of the model in flight; the model in `engine` keeps to it.
    pub calls_max: usize,
    /// Most teammates at a time.
    pub agents_max: usize,
    /// How much the agents may use before the person is asked.
    pub ceilings: Ceilings,
    /// The standing rules for tool calls.
    pub rules: Rules,
    /// The tools by name; `None`: all.
    pub tools: Option<Vec<String>>,
    /// How long a program of an agent may run.
    pub tool_timeout: Duration,
    /// What stands between crewdeck and a program of an agent; `None`: nothing.
    pub guard: Option<Arc<Guard>>,
    /// The share of the model's window, in percent, at which a conversation is summarised.
    pub compact_at: u64,
    /// Whether the lead goes on from the conversation of the session that `setup` names.
    pub start: Start,
    /// How long a teammate may rest before it leaves; `None`: for ever.
    pub idle_timeout: Option<Duration>,
    /// The repository's own instructions: file name and text.
    pub memory: Option<(String, String)>,
    /// What the agents can load.
    pub skills: Skills,
    /// Who merges what is completed; `None`: no worktrees, everybody works in the root.
    pub worktrees: Option<MergeRule>,
    /// Where events go.
    pub publisher: Publisher,
    /// The time.
    pub clock: fn() -> Stamp,
    /// New ids, each another.
    pub new_id: fn() -> String,
    /// Random numbers in 0..1.
    pub jitter: fn() -> f64,
}

/// How a crew begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With empty conversations.
    Fresh,
    /// With the lead's conversation as it stood when the session ended, however it ended.
    Resumed,
}
