//! What the parts of an external agent share: the agent, its settings, its errors and the channel to the driver.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::permission::ExternalPermissions;
use crate::acp::{AcpAgent, AcpError, StdioServer};
use crate::domain::ids::Name;
use crate::domain::team::ExternalSession;
use crate::model::{Delta, ErrorKind, ModelError};

/// Remembers the session of an external agent, so that it can be loaded after a restart.
pub trait SessionMemory: Send + Sync {
    /// Returns the session that was remembered last; `None` if there is none.
    fn last(&self) -> Option<ExternalSession>;

    fn remember<'a>(&'a self, id: &'a str, dir: &'a Path) -> BoxFuture<'a, ()>;
}

/// Factor by which the limit for a silent agent is longer while a tool call runs: [`ExternalShared::call_limit`]
/// divided by [`ExternalShared::idle_limit`].
const CALL_LIMIT_FACTOR: u32 = 6;

/// An external agent and the properties of its teammate.
pub struct ExternalShared {
    pub agent: Arc<AcpAgent>,
    pub permissions: ExternalPermissions,
    pub memory: Arc<dyn SessionMemory>,
    /// The model that the teammate was started with; empty for the agent's default.
    pub model: String,
    /// Maximum time without any activity of the agent while no tool call runs.
    pub idle_limit: Duration,
    /// crewdeck's own MCP server, through which the agent reaches the crew. Must be set before the first prompt.
    pub server: OnceLock<StdioServer>,
    /// The id of a session that must not be loaded: its turn may still run, or its program has crashed or hung when it
    /// loaded the session.
    pub unloadable: Mutex<Option<String>>,
}

impl ExternalShared {
    /// Returns the maximum time without any activity while a tool call of the agent runs. It is long, because agents
    /// report no progress of a call.
    pub fn call_limit(&self) -> Duration {
        self.idle_limit.saturating_mul(CALL_LIMIT_FACTOR)
    }

    /// Excludes a session from loading. Replaces the session that was excluded before.
    pub fn never_load(&self, session: &str) {
        let unloadable = self.unloadable.lock();
        *unloadable.unwrap_or_else(PoisonError::into_inner) = Some(session.to_string());
    }

    /// Returns whether a session may be loaded. False only for the session that was passed to
    /// [`ExternalShared::never_load`] last.
    pub fn may_load(&self, session: &str) -> bool {
        let unloadable = self.unloadable.lock();
        unloadable
            .unwrap_or_else(PoisonError::into_inner)
            .as_deref()
            != Some(session)
    }

    pub fn teammate(&self) -> &Name {
        &self.permissions.agent
    }

    /// Returns a text for the user that says which mode of the agent is missing; `None` if none is missing. See
    /// `OwnTools::problem`.
    pub fn mode_problem(&self) -> Option<String> {
        let permissions = &self.permissions;
        let own_tools = permissions.own_tools;
        own_tools.problem(self.agent.agent(), permissions.gate())
    }

    pub fn check_mode(&self) -> Result<(), PromptError> {
        let Some(why) = self.mode_problem() else {
            return Ok(());
        };
        Err(PromptError {
            error: permanent(ErrorKind::BadRequest, why, ""),
            session: SessionState::Unusable,
        })
    }
}

pub type Deltas = mpsc::Sender<Result<Delta, ModelError>>;

/// Sends a delta to the driver. Does nothing if the driver no longer receives deltas, because the turn was interrupted.
pub async fn send(deltas: &Deltas, delta: Delta) {
    let _ = deltas.send(Ok(delta)).await;
}

/// Why a prompt failed.
pub struct PromptError {
    pub error: ModelError,
    pub session: SessionState,
}

/// What a failed prompt means for its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    Usable,
    /// The session cannot be used any more.
    Unusable,
    /// The turn has not ended, or the program does not answer.
    Hung,
}

impl From<AcpError> for PromptError {
    fn from(error: AcpError) -> PromptError {
        let (kind, hint) = match &error {
            AcpError::CannotStart { .. } => (
                ErrorKind::Unreachable,
                "crewdeck agents list shows how the agent is installed.",
            ),
            AcpError::NeedsLogin { .. } => (ErrorKind::Auth, ""),
            AcpError::UnsupportedVersion { .. } => (ErrorKind::BadRequest, ""),
            AcpError::Ended { .. }
            | AcpError::TimedOut { .. }
            | AcpError::LoadFailed { .. }
            | AcpError::Rejected { .. }
            | AcpError::Unexpected { .. }
            | AcpError::NotAvailable { .. } => (
                ErrorKind::Server,
                "Write to the teammate to start it again: it continues with its session if it can.",
            ),
        };
        PromptError {
            session: match &error {
                AcpError::Rejected { .. } => SessionState::Usable,
                AcpError::TimedOut { .. } | AcpError::NotAvailable { .. } => SessionState::Hung,
                _ => SessionState::Unusable,
            },
            error: permanent(kind, error.to_string(), hint),
        }
    }
}

/// Returns an error after which the prompt is not sent again. If it were, the agent would repeat what it did before the
/// failure.
pub fn permanent(kind: ErrorKind, text: String, hint: &str) -> ModelError {
    ModelError {
        retry: Some(false),
        ..ModelError::new(kind, text, hint)
    }
}
