//! What the parts of an external agent share: the agent, its settings, its errors and the channel to the driver.

use std::path::Path;
use std::sync::{Arc, OnceLock};
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

/// An external agent and the properties of its teammate.
pub struct ExternalShared {
    pub agent: Arc<AcpAgent>,
    pub permissions: ExternalPermissions,
    pub memory: Arc<dyn SessionMemory>,
    /// The model that the teammate was started with; empty for the agent's default.
    pub model: String,
    /// Maximum time without any activity of the agent.
    pub idle_limit: Duration,
    /// crewdeck's own MCP server. Set before the first call.
    pub server: OnceLock<StdioServer>,
}

impl ExternalShared {
    /// Returns the name of the teammate.
    pub fn teammate(&self) -> &Name {
        &self.permissions.agent
    }

    /// Returns why the agent has no mode in which it keeps its limits and the plan gate; `None` if it has one.
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
            lost_session: true,
        })
    }
}

pub type Deltas = mpsc::Sender<Result<Delta, ModelError>>;

/// Sends a delta to the driver. The driver no longer listens if the turn was interrupted; then the caller is dropped too.
pub async fn send(deltas: &Deltas, delta: Delta) {
    let _ = deltas.send(Ok(delta)).await;
}

/// Why a prompt failed.
pub struct PromptError {
    pub error: ModelError,
    /// Whether the session can no longer be used.
    pub lost_session: bool,
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
            lost_session: !matches!(error, AcpError::Rejected { .. }),
            error: permanent(kind, error.to_string(), hint),
        }
    }
}

/// Returns an error after which the prompt is not sent again: what the agent has done before it failed would be done
/// twice.
pub fn permanent(kind: ErrorKind, text: String, hint: &str) -> ModelError {
    ModelError {
        retry: Some(false),
        ..ModelError::new(kind, text, hint)
    }
}
