//! What the pool of MCP servers returns and reports: results, resources, prompts, events and errors.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::chat::Role;
use crate::domain::mcp::ServerConfig;
pub use crate::domain::mcp::{McpTool, ToolCatalog};
use crate::domain::redact::Redactor;

/// Maximum wait before a crashed server is restarted, and before crewdeck subscribes to changes of a server's lists
/// again.
const RESTART_DELAY_MAX: Duration = Duration::from_secs(60);

/// Looks up the approved configuration of a server. See [`PoolOptions::approved_config`].
pub type ApprovedConfig = Arc<dyn Fn(&ServerConfig) -> Option<ServerConfig> + Send + Sync>;

/// Settings of a pool of MCP servers.
#[derive(Clone)]
pub struct PoolOptions {
    /// The project directory: the work directory of servers, and the root that crewdeck reports to them.
    pub project: PathBuf,
    /// The program that runs as the supervisor of servers. With `None`, servers run without a supervisor, and only a
    /// server's process group is killed.
    pub supervisor: Option<PathBuf>,
    /// Maximum time from the start of a server until it has sent its list of tools, unless the server's configuration
    /// sets another time.
    pub start_timeout: Duration,
    /// Wait before the restart after the first crash. It doubles with each further consecutive crash, up to one minute.
    pub restart_delay: Duration,
    /// Time for which a server must have been ready before a crash, so that earlier crashes no longer count as
    /// consecutive.
    pub stable_after: Duration,
    /// Returns the approved configuration of a server, with which it is started; `None` if the server must not be started.
    /// The argument is the configuration of the last start, or the one with which the pool was created. Called on a
    /// blocking thread before each start, also before a restart.
    pub approved_config: ApprovedConfig,
    /// How crewdeck answers when a server requests input from the user.
    pub elicitation: ElicitationAnswer,
    /// The folder for the tokens of servers to which the user logs in. With `None`, the user cannot log in.
    pub logins: Option<PathBuf>,
    /// The redactor to which all tokens of servers are added: those of a login, and renewed ones.
    pub redactor: Redactor,
}

impl PoolOptions {
    /// Returns the defaults: a start takes at most 30 s, restarts wait 1 s, 2 s, 4 s and so on, every server is
    /// approved, servers run without a supervisor, and the user cannot log in.
    pub fn new(project: PathBuf) -> PoolOptions {
        PoolOptions {
            project,
            supervisor: None,
            start_timeout: Duration::from_secs(30),
            restart_delay: Duration::from_secs(1),
            stable_after: Duration::from_secs(60),
            approved_config: Arc::new(|config| Some(config.clone())),
            elicitation: ElicitationAnswer::Decline,
            logins: None,
            redactor: Redactor::default(),
        }
    }
}

impl PoolOptions {
    /// Returns how long to wait before the next attempt after `failures` consecutive failures: `restart_delay`, doubled
    /// with each failure after the first one, but at most one minute.
    pub(super) fn delay_after(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.restart_delay
            .saturating_mul(factor)
            .min(RESTART_DELAY_MAX)
    }
}

/// How crewdeck answers when a server requests input from the user (elicitation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElicitationAnswer {
    /// crewdeck does not announce support for elicitation. If a server still requests input, crewdeck declines the
    /// request and shows the user a notice.
    Decline,
    /// A request for a form is accepted with the form's default values.
    AcceptDefaults,
}

/// A change or a message that the pool of MCP servers reports to its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoolEvent {
    /// The state of a server changed; [`super::ServerPool::status`] returns the new state.
    StateChanged { server: String },
    /// The tools of a server changed; [`super::ServerPool::tools`] returns the new list. `generation` is the number of
    /// this list, which increases with each change.
    ToolsChanged { generation: u64 },
    /// A server reported that its resources or prompts changed.
    ListsChanged { server: String },
    /// A message for the user, without control characters: a crash, tools that are left out, a declined request for
    /// input.
    Notice { server: String, text: String },
}

/// The result of a tool call, or a message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct McpContent {
    /// The text, at most 100 KiB. If the server sent more, the middle is cut, and a note says how much. Each image, and
    /// each content that cannot be shown, is represented by a line in brackets.
    pub text: String,
    /// The images, at most 8, in the order of the lines in `text` that represent them.
    pub images: Vec<McpImage>,
    /// Whether the server says that the tool failed.
    pub is_error: bool,
}

/// The content of a resource, with each kind of content in the order in which the server sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceContent {
    /// All texts of the resource, joined. If there are several, each is preceded by its URI. The text is not shortened;
    /// only the size of a server's message limits it. `None` if there is no text.
    pub text: Option<String>,
    /// The images of the resource, at most 8.
    pub images: Vec<McpImage>,
    /// One line for each part of the resource that is not used, with the reason: it is neither text nor an image, is
    /// too large, is damaged, is not UTF-8, or is an image after the first 8.
    pub refused: Vec<String>,
}

/// An image as the server sent it. It is not decoded: the media type may be wrong and the data damaged.
#[derive(Clone, PartialEq, Eq)]
pub struct McpImage {
    pub media_type: String,
    /// The data of the image, at most 16 MiB.
    pub bytes: Vec<u8>,
}

/// Prints the media type and the size in bytes, not the data.
impl std::fmt::Debug for McpImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "McpImage({}, {})", self.media_type, self.bytes.len())
    }
}

/// What a server reports about itself when crewdeck connects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerInfo {
    /// The name and the version of the server's program on one line, at most 100 characters.
    pub program: String,
    /// The version of the protocol that crewdeck and the server use.
    pub protocol: String,
    /// The server's instructions for models; empty if there are none. At most 2 KiB, with a note at the end if they
    /// were cut.
    pub instructions: String,
}

/// The progress of a call, in a unit that the server chooses.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProgress {
    pub done: f64,
    pub total: Option<f64>,
    /// The server's text about the progress: one line of at most 200 characters, without control characters.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpResource {
    pub uri: String,
    pub name: String,
    pub description: String,
    /// The media type of the content; empty if the server does not report it.
    pub media_type: String,
    /// The size of the content in bytes; `None` if the server does not report it.
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

/// Why a request to an MCP server has no result. The error's text is for models and users and has no control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("there is no MCP server '{0}'")]
    UnknownServer(String),
    #[error("no MCP server offers the tool '{0}' any more")]
    UnknownTool(String),
    #[error("cannot log in to the MCP server '{server}': {why}")]
    Login { server: String, why: String },
    #[error("cannot log out of the MCP server '{server}': {why}")]
    Logout { server: String, why: String },
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
    /// The answer does not fit the request according to the protocol, or needs something that crewdeck does not
    /// support.
    #[error("the MCP server '{server}' {what}")]
    Unexpected { server: String, what: String },
}
