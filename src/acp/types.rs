//! The data that callers exchange with [`AcpAgent`](super::AcpAgent) and its sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::domain::agent_update::{AgentToolCall, AgentUpdate};
use crate::domain::redact::Redactor;
use crate::domain::usage::Usage;

/// How external agents are run.
#[derive(Debug, Clone)]
pub struct AcpOptions {
    /// The directory in which the programs start. Sessions have their own directory.
    pub project: PathBuf,
    /// The program that runs as the supervisor. `None`: only the process group is killed at the end.
    pub supervisor: Option<PathBuf>,
    pub redactor: Redactor,
    /// Maximum time from the start of a program until it has answered `initialize`.
    pub start_timeout: Duration,
    /// Maximum time for the answer to any other request. A prompt has no limit.
    pub request_timeout: Duration,
    /// Time that a program has to exit after its input was closed. Then its process group is killed.
    pub exit_timeout: Duration,
    /// Delay before the first restart after a crash. It doubles with each further crash in a row, up to 30 s.
    pub restart_delay: Duration,
}

impl AcpOptions {
    /// Returns the usual limits for programs that start in the directory `project`.
    pub fn new(project: PathBuf, supervisor: Option<PathBuf>, redactor: Redactor) -> AcpOptions {
        AcpOptions {
            project,
            supervisor,
            redactor,
            start_timeout: Duration::from_secs(60),
            request_timeout: Duration::from_secs(60),
            exit_timeout: Duration::from_secs(3),
            restart_delay: Duration::from_secs(1),
        }
    }
}

/// Describes the session to open or to load.
#[derive(Debug, Clone, Default)]
pub struct SessionSpec {
    /// The directory in which the agent works; an absolute path.
    pub cwd: PathBuf,
    pub mcp_servers: Vec<StdioServer>,
    /// The mode to set, by its id, for example [`ExternalAgent::ask_mode`].
    ///
    /// [`ExternalAgent::ask_mode`]: crate::domain::external_agent::ExternalAgent::ask_mode
    pub mode: Option<String>,
    /// The model to set, by its id or by the name that the agent shows.
    pub model: Option<String>,
    /// The effort to set, such as `high`.
    pub effort: Option<String>,
    /// The id of an earlier session to load. `None`: opens a new session.
    pub load: Option<String>,
}

/// A property of a session for which the agent can offer several values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionChoice {
    Mode,
    Model,
    Effort,
}

impl SessionChoice {
    /// Returns the choice as a word in a sentence.
    pub fn label(self) -> &'static str {
        match self {
            SessionChoice::Mode => "mode",
            SessionChoice::Model => "model",
            SessionChoice::Effort => "effort",
        }
    }
}

/// A mode, model or effort that could not be set in a session. If it is the mode, the agent may act without asking.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the {} '{value}' is not set: {why}", choice.label())]
pub struct UnsetChoice {
    pub choice: SessionChoice,
    pub value: String,
    pub why: String,
}

/// An MCP server that the agent starts itself, as a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StdioServer {
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// Receives what an agent does in a session.
pub trait SessionHandler: Send + Sync {
    /// Processes an update. Is called in the order of arrival, and must not block.
    fn update(&self, update: AgentUpdate);

    /// Decides a permission request. The future is dropped if the turn is cancelled or the program ends.
    fn ask(&self, request: AskedPermission) -> BoxFuture<'static, PermissionAnswer>;
}

/// A request of an agent for a permission.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedPermission {
    /// The call for which the agent asks, with everything that the agent has reported about the call.
    pub call: AgentToolCall,
    /// Whether the agent offers to allow calls like this one for the rest of the session.
    pub offers_always: bool,
}

/// The decision on a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionAnswer {
    AllowOnce,
    /// Allows this call and others like it. If the agent does not offer this, only this call is allowed.
    AllowAlways,
    Reject,
    /// There is no decision, because the turn ends.
    Cancelled,
}

/// One part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPart {
    Text(String),
    Image {
        media_type: String,
        /// The image in base64.
        data: String,
    },
    /// A file that the agent may read.
    File {
        path: PathBuf,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptEnd {
    pub reason: PromptEndReason,
    /// The tokens of the turn; `None` if the agent does not report them. Some agents report only the last of several
    /// model requests.
    pub usage: Option<Usage>,
    /// The titles of the calls that were refused during the turn, at most 20.
    pub refused: Vec<String>,
    /// Whether the next prompt must name the refused calls, because the agent's model has not learned that they were
    /// refused. See [`PromptEnd::refusal_notice`].
    pub is_refusal_unreported: bool,
}

impl PromptEnd {
    /// Returns the text for the next prompt that tells the agent which calls the user refused; `None` if nothing was
    /// refused or the agent already knows.
    pub fn refusal_notice(&self) -> Option<String> {
        if !self.is_refusal_unreported || self.refused.is_empty() {
            return None;
        }
        let calls: Vec<String> = self
            .refused
            .iter()
            .map(|call| format!("- {call}"))
            .collect();
        Some(format!(
            "In your last turn, permission was refused for:\n{}\nDo not try the same again. Continue without it, or \
             explain what you need.",
            calls.join("\n")
        ))
    }
}

/// Why a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptEndReason {
    EndTurn,
    MaxTokens,
    MaxRequests,
    /// The agent refuses to continue.
    Refusal,
    Cancelled,
    /// A reason that crewdeck does not know.
    Other,
}

/// What an agent can do, according to its answer to `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AcpCapabilities {
    pub loads_sessions: bool,
    pub closes_sessions: bool,
    pub images: bool,
}

/// Why an operation of an external agent failed. The text is for users and has neither control characters nor secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcpError {
    /// The program could not be started, or ended before it was ready.
    #[error("the agent '{agent}' did not start: {why}")]
    CannotStart { agent: String, why: String },
    #[error(
        "the agent '{agent}' speaks version {version} of the Agent Client Protocol, and crewdeck speaks version 1. \
         Update the agent or crewdeck"
    )]
    UnsupportedVersion { agent: String, version: String },
    #[error("the agent '{agent}' demands a login: {why}. Log in with the agent's own program")]
    NeedsLogin { agent: String, why: String },
    /// The program ended, and all its sessions with it.
    #[error("the agent '{agent}' ended: {why}")]
    Ended { agent: String, why: String },
    #[error("the agent '{agent}' did not answer '{method}' within {} s", after.as_secs_f32())]
    TimedOut {
        agent: String,
        method: String,
        after: Duration,
    },
    /// The session cannot be loaded. A new session can be opened instead.
    #[error("the agent '{agent}' cannot load the session '{session}': {why}")]
    LoadFailed {
        agent: String,
        session: String,
        why: String,
    },
    /// The agent answered with an error.
    #[error("the agent '{agent}' answered '{method}' with an error: {message} (code {code})")]
    Rejected {
        agent: String,
        method: String,
        message: String,
        code: i32,
    },
    /// The answer does not fit the request according to the protocol.
    #[error("the agent '{agent}' answered '{method}' with an unexpected result: {what}")]
    Unexpected {
        agent: String,
        method: String,
        what: String,
    },
    /// The session cannot be opened because crewdeck is shutting down, or cannot be used because it still runs an
    /// earlier turn.
    #[error("the session of the agent '{agent}' {why}")]
    NotAvailable { agent: String, why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreported_refusals_become_a_text_for_the_next_prompt() {
        let mut end = PromptEnd {
            reason: PromptEndReason::Cancelled,
            usage: None,
            refused: vec!["rm -r build".into()],
            is_refusal_unreported: true,
        };
        assert!(end.refusal_notice().unwrap().contains("- rm -r build\n"));
        end.is_refusal_unreported = false;
        assert_eq!(end.refusal_notice(), None);
    }
}
