//! The client of the Agent Client Protocol (ACP): runs coding agents of other vendors and opens sessions with them.
//!
//! [`AcpAgent`] is the interface: one configured agent, with its program and its sessions. The layer does not deal with
//! teammates, tasks or permission rules; the [`SessionHandler`] of a session receives what the agent does and decides
//! its permission requests. Programs run under a supervisor, outside of the sandbox, and end with crewdeck. They get
//! none of crewdeck's secrets, except the vendor's own login and what the user passes on in the settings.
//!
//! crewdeck offers agents neither files nor terminals: an agent uses its own tools. crewdeck answers permission
//! requests; all other requests of an agent get "method not found". Unknown notifications are ignored.

mod agent;
mod choices;
mod connection;
mod lines;
mod program;
mod route;
mod routes;
mod session;
pub(crate) mod tool_calls;
mod types;
pub(crate) mod update;

pub use agent::AcpAgent;
pub use session::AcpSession;
pub use types::{
    AcpCapabilities, AcpError, AcpOptions, AskedPermission, PermissionAnswer, PromptEnd,
    PromptEndReason, PromptPart, SessionChoice, SessionHandler, SessionSpec, StdioServer,
    UnsetChoice,
};
