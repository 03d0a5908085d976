//! Requests to a server, and the errors of those that fail.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, ServerResult};
use tokio_util::sync::CancellationToken;

use super::{Server, StartCause};
use crate::domain::mcp::{ServerState, ServerTransport};
use crate::mcp::call::{self, Link, LinkError};
use crate::mcp::types::{CallError, CallProgress};

/// How long a failed call waits for the reason of a crash.
const REASON_TIMEOUT: Duration = Duration::from_secs(5);

impl Server {
    /// Sends a request, and starts the server before if necessary.
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
        let idle = self.config.call_timeout.unwrap_or(call::CALL_TIMEOUT);
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

    /// Returns the connection of a server that is or becomes ready.
    pub async fn link(self: &Arc<Self>) -> Result<Link, CallError> {
        self.start(StartCause::Demand);
        let timeout = self.context.options.start_timeout;
        let state = self.settled(timeout, true).await;
        let link = self.lock().link.clone();
        match link {
            Some(link) if state == ServerState::Ready => Ok(link),
            _ => Err(CallError::Unavailable {
                server: self.config.name.clone(),
                why: state_text(&state),
            }),
        }
    }

    /// Returns the error of a failed request for the caller.
    pub async fn call_error(&self, error: LinkError) -> CallError {
        let server = self.config.name.clone();
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
                what: "sent an answer that does not belong to the request".into(),
            },
            LinkError::NeedsLogin(challenge) => {
                self.lock().challenge = Some(challenge);
                self.disconnect.notify_waiters();
                CallError::Unavailable {
                    server,
                    why: state_text(&ServerState::NeedsLogin),
                }
            }
            LinkError::NotSent {
                why,
                is_unreachable,
            } => {
                if is_unreachable && matches!(self.config.transport, ServerTransport::Http { .. }) {
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

    /// Returns why the connection has ended, as the server's task finds out.
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

/// Returns why a server in this state cannot be called.
fn state_text(state: &ServerState) -> String {
    match state {
        ServerState::WaitsForApproval => "the user has not approved its configuration".into(),
        ServerState::Disabled => "the user has disabled it".into(),
        ServerState::Idle => "it has been ended".into(),
        ServerState::Starting => "it is still starting".into(),
        ServerState::Ready => "its connection is being closed".into(),
        ServerState::NeedsLogin => "the user must log in to it".into(),
        ServerState::Restarting { why, .. } => format!("{why}; it is started again soon"),
        ServerState::Failed { why } => why.clone(),
    }
}
