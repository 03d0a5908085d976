//! Sends requests to an MCP server, and explains why a request failed.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, ServerResult};
use tokio_util::sync::CancellationToken;

use super::{Server, StartCause};
use crate::domain::mcp::{ServerState, ServerTransport};
use crate::mcp::call::{self, Link, LinkError};
use crate::mcp::types::{CallError, CallProgress};

/// Maximum time that a call waits after a crash until the reason of the crash is known. Then the error says only that
/// the connection was closed.
const REASON_TIMEOUT: Duration = Duration::from_secs(5);

impl Server {
    /// Starts the server if necessary, and sends it a request. If the request fails, stores the error as the server's
    /// last error. Does not store [`CallError::Cancelled`], nor the error if the server could not be started.
    ///
    /// # Errors
    /// Fails if the server is not available, rejects the request or does not answer in time, or if `cancel` is
    /// cancelled.
    pub async fn request(
        self: &Arc<Self>,
        request: ClientRequest,
        cancel: &CancellationToken,
        on_progress: impl FnMut(CallProgress) + Send,
    ) -> Result<ServerResult, CallError> {
        let link = tokio::select! {
            link = self.link() => link?,
            () = cancel.cancelled() => return Err(CallError::Cancelled),
        };
        let idle = self.config().call_timeout.unwrap_or(call::CALL_TIMEOUT);
        let result = call::send(&link, request, idle, cancel, on_progress).await;
        let error = match result {
            Ok(result) => return Ok(result),
            Err(error) => self.call_error(error).await,
        };
        if error != CallError::Cancelled {
            self.lock().last_error = error.to_string();
        }
        Err(error)
    }

    /// Starts the server if necessary, waits until it is ready, and returns the connection.
    ///
    /// # Errors
    /// Fails with [`CallError::Unavailable`] if the server is not ready within its maximum start time.
    pub async fn link(self: &Arc<Self>) -> Result<Link, CallError> {
        self.start(StartCause::Demand);
        let timeout = self.start_timeout();
        let state = self.wait_until_settled(timeout, true).await;
        let link = self.lock().link.clone();
        match link {
            Some(link) if state == ServerState::Ready => Ok(link),
            _ => Err(CallError::Unavailable {
                server: self.name.clone(),
                why: unavailable_reason(&self.name, &state),
            }),
        }
    }

    /// Converts the error of a request to an error for models and users. If the server can no longer be reached or
    /// demands a login, also ends the connection.
    pub async fn call_error(&self, error: LinkError) -> CallError {
        let server = self.name.clone();
        match error {
            LinkError::Cancelled => CallError::Cancelled,
            LinkError::TimedOut(after) => CallError::TimedOut { server, after },
            LinkError::Rejected { message, code } => CallError::Rejected {
                server,
                message,
                code,
            },
            LinkError::Unexpected => CallError::Unexpected {
                server,
                what: "sent an answer of the wrong type".into(),
            },
            LinkError::NeedsLogin(challenge) => {
                self.lock().challenge = Some(challenge);
                self.disconnect.notify_waiters();
                CallError::Unavailable {
                    server,
                    why: unavailable_reason(&self.name, &ServerState::NeedsLogin),
                }
            }
            LinkError::NotSent {
                why,
                is_unreachable,
            } => {
                if is_unreachable && matches!(self.config().transport, ServerTransport::Http { .. })
                {
                    self.disconnect.notify_waiters();
                }
                CallError::Unavailable { server, why }
            }
            LinkError::Closed => CallError::Crashed {
                server,
                why: self.crash_reason().await,
            },
        }
    }

    /// Waits, at most [`REASON_TIMEOUT`], until the server's task knows why the connection ended. Returns the reason,
    /// or a general text if the reason is not known.
    async fn crash_reason(&self) -> String {
        let mut state = self.state.subscribe();
        let is_known = |state: &ServerState| *state != ServerState::Ready;
        let _ = tokio::time::timeout(REASON_TIMEOUT, state.wait_for(is_known)).await;
        let state = self.state();
        match state {
            ServerState::Restarting { why, .. } | ServerState::Failed { why } => why,
            ServerState::Disabled => "it was disabled".into(),
            ServerState::Idle
            | ServerState::Starting
            | ServerState::Ready
            | ServerState::NeedsLogin
            | ServerState::WaitsForApproval => "the connection was closed".into(),
        }
    }
}

/// Returns why the server `name` cannot be called in this state.
fn unavailable_reason(name: &str, state: &ServerState) -> String {
    match state {
        ServerState::WaitsForApproval => format!(
            "the user has not approved its configuration: run crewdeck mcp approve {name} in a shell"
        ),
        ServerState::Disabled => "the user has disabled it".into(),
        ServerState::Idle => "it was stopped".into(),
        ServerState::Starting => "it is still starting: try again in a few seconds".into(),
        ServerState::Ready => {
            "its connection has just been closed: try again in a few seconds".into()
        }
        ServerState::NeedsLogin => "the user must log in to it".into(),
        ServerState::Restarting { why, .. } => format!("{why}; it will be restarted soon"),
        ServerState::Failed { why } => why.clone(),
    }
}
