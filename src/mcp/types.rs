//! What the pool returns and reports: tools, results, resources, prompts, events and errors.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::chat::Role;
use crate::domain::mcp::ServerConfig;
pub use crate::domain::mcp::{McpTool, ToolCatalog};

/// Settings of a pool.
#[derive(Clone)]
pub struct PoolOptions {
    /// The project directory: the work directory of servers, and the root that servers get.
    pub project: PathBuf,
    /// The program that runs as the supervisor of servers. `None`: only the process group of a server is killed.
    pub supervisor: Option<PathBuf>,
    /// Maximum time from the start of a server until it has listed its tools.
    pub start_timeout: Duration,
    /// Time before the restart after the first crash. It doubles with each further crash in a row, up to a minute.
    pub restart_delay: Duration,
    /// A server that was ready for at least this time before it crashes starts a new row of crashes.
    pub stable_after: Duration,
    /// Returns whether a server may be started. Called on a blocking thread before each start, also before a restart.
    pub is_approved: Arc<dyn Fn(&ServerConfig) -> bool + Send + Sync>,
    /// How requests of servers for input are answered.
    pub elicitation: ElicitationAnswer,
    /// The folder for the tokens of servers that the user logs in to. `None`: the user cannot log in.
    pub logins: Option<PathBuf>,
}

impl PoolOptions {
    /// Returns the defaults: a start takes at most 30 s, restarts wait 1 s, 2 s, 4 s and so on.
    pub fn new(project: PathBuf) -> PoolOptions {
        PoolOptions {
            project,
            supervisor: None,
            start_timeout: Duration::from_secs(30),
            restart_delay: Duration::from_secs(1),
            stable_after: Duration::from_secs(60),
            is_approved: Arc::new(|_| true),
            elicitation: ElicitationAnswer::Decline,
            logins: None,
        }
    }
}

/// How requests of servers for input of the user (elicitation) are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitationAnswer {
    /// The client does not announce that it supports elicitation. A request that comes nevertheless is declined, and a
    /// notice says so.
    Decline,
    /// A form is accepted with its default values.
    AcceptDefaults,
}

/// Something that happened in the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolEvent {
    /// The state of a server changed; [`super::ServerPool::status`] returns it.
    StateChanged { server: String },
    /// The tools changed; [`super::ServerPool::tools`] returns them.
    ToolsChanged { generation: u64 },
    /// A server said that its resources or prompts changed.
    ListsChanged { server: String },
    /// A message for the user, without control characters: a crash, tools that are left out, a declined request for
    /// input.
    Notice { server: String, text: String },
}

/// The result of a tool call, the content of a resource or a message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpContent {
    /// At most 100 KiB; if more came, the middle is cut, and a mark says how much. A line in brackets stands for each
    /// image and for each content that cannot be shown.
    pub text: String,
    /// At most 8, in the order of their lines in `text`.
    pub images: Vec<McpImage>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
}

/// The content of a resource, in the order in which the server sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceContent {
    /// The texts, joined; each with its URI if there are several. Bounded by the length of a server's message.
    pub text: Option<String>,
    /// At most 8.
    pub images: Vec<McpImage>,
    /// What is neither text nor image, or too large: one line each.
    pub refused: Vec<String>,
}

/// An image as the server sent it. It is not decoded: the media type may be wrong and the data damaged.
#[derive(Clone, PartialEq, Eq)]
pub struct McpImage {
    pub media_type: String,
    /// At most 16 MiB.
    pub bytes: Vec<u8>,
}

/// Prints the media type and the size in bytes, not the data.
impl std::fmt::Debug for McpImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "McpImage({}, {})", self.media_type, self.bytes.len())
    }
}

/// What a server says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerInfo {
    /// Name and version on one line, at most 100 characters.
    pub program: String,
    /// The version of the protocol.
    pub protocol: String,
    /// How models should use the server; at most 2 KiB and a mark if it is cut, empty if there are none.
    pub instructions: String,
}

/// The progress of a call, in a unit that the server chooses.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProgress {
    pub done: f64,
    pub total: Option<f64>,
    /// At most 200 characters on one line, without control characters.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpResource {
    pub uri: String,
    pub name: String,
    pub description: String,
    /// The media type; empty if the server gives none.
    pub media_type: String,
    /// The size in bytes, if the server gives it.
    pub size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPrompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<McpPromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPromptArgument {
    pub name: String,
    pub description: String,
    pub is_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpPromptMessage {
    pub role: Role,
    pub content: McpContent,
}

/// Why a call has no result. The model and the user see the text, which contains no control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("there is no MCP server '{0}'")]
    UnknownServer(String),
    #[error("no MCP server offers the tool '{0}' any more")]
    UnknownTool(String),
    #[error("cannot log in to the MCP server '{server}': {why}")]
    Login { server: String, why: String },
    /// The request did not reach the server.
    #[error("the MCP server '{server}' is not available: {why}")]
    Unavailable { server: String, why: String },
    /// The connection ended while the server handled the call.
    #[error(
        "the MCP server '{server}' ended during the call: {why}. The call may have had an effect: check that before you \
         call it again"
    )]
    Crashed { server: String, why: String },
    #[error("the MCP server '{server}' did not answer within {} s. The call was cancelled", after.as_secs_f32())]
    TimedOut { server: String, after: Duration },
    #[error("the call was cancelled")]
    Cancelled,
    /// The server answered with an error.
    #[error("the MCP server '{server}' answered with an error: {message} (code {code})")]
    Rejected {
        server: String,
        message: String,
        code: i32,
    },
    /// The protocol does not allow the answer to this request, or the answer needs something that crewdeck does not
    /// support.
    #[error("the MCP server '{server}' {what}")]
    Unexpected { server: String, what: String },
}
