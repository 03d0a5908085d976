//! The check that the user has approved a server or a hook of a project before it runs.

use std::fmt;
use std::path::Path;

use super::hook::HookSpec;
use super::mcp::ServerConfig;

/// Why a server or a hook must not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotApproved {
    /// Names the server or hook, and says why it does not run and how to approve it, on one line.
    pub why: String,
    /// Whether the user approved it, and it or a file that it runs has changed since.
    pub has_changed: bool,
}

impl fmt::Display for NotApproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Checks immediately before a start that the user has approved exactly the current content of a server or hook. Reads
/// the metadata of the files on which it depends, and the files themselves if their metadata has changed, so it must be
/// called where blocking is allowed.
pub trait ApprovalCheck: fmt::Debug + Send + Sync {
    /// # Errors
    /// Returns why the server must not be started.
    fn check_server(&self, server: &ServerConfig) -> Result<(), NotApproved>;

    /// `dir` is the directory in which the hook would run. If that is a worktree, the files in it that the hook's
    /// command names must have the same content as those that the user has approved in the project directory.
    ///
    /// # Errors
    /// Returns why the hook must not run.
    fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved>;
}
