//! What runs only after the user has approved exactly its content: servers and hooks that a project brings.

use std::fmt;
use std::path::Path;

use super::hook::HookSpec;
use super::mcp::ServerConfig;

/// Why a server or a hook must not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotApproved {
    /// What is not approved, why, and how to approve it, on one line.
    pub why: String,
}

impl fmt::Display for NotApproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Checks immediately before a start whether the user has approved exactly the present content. Reads the metadata of the
/// files concerned, and the files if it has changed: call it where blocking is allowed.
pub trait ApprovalCheck: fmt::Debug + Send + Sync {
    /// # Errors
    /// Returns why the server must not be started.
    fn check_server(&self, server: &ServerConfig) -> Result<(), NotApproved>;

    /// `dir` is the directory in which the hook would run. In a worktree, the files that its command names must be those
    /// that the user has approved in the project directory.
    ///
    /// # Errors
    /// Returns why the hook must not run.
    fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved>;
}
