//! The MCP client: connects to the servers that the user has configured, and makes their tools, resources and prompts
//! available.
//!
//! [`ServerPool`] is the interface. A crew has one pool, which all its agents share. The pool does not deal with
//! agents, permissions or crewdeck's own tools; it starts servers, restarts them after a crash, and limits the size of
//! what they send. A server runs under a supervisor, outside of the sandbox, and ends with crewdeck.
//!
//! All texts of servers are untrusted and may contain control characters: callers escape them before they show them.

mod call;
mod catalog;
mod connection;
pub(crate) mod content;
mod credentials;
mod handler;
mod line_limit;
mod lists;
mod login;
mod pool;
pub(crate) mod schema;
mod server;
pub(crate) mod tools;
mod types;

pub use credentials::{TOKEN_LABEL, log_out, stored_tokens};
pub use pool::ServerPool;
pub use schema::without_forbidden_nulls;
pub use types::{
    ApprovedConfig, CallError, CallProgress, ElicitationAnswer, McpContent, McpImage, McpPrompt,
    McpPromptArgument, McpPromptMessage, McpResource, McpServerInfo, McpTool, PoolEvent,
    PoolOptions, ResourceContent, ToolCatalog,
};
