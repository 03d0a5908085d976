//! The interface of the approval check: whether the user has approved an MCP server or hook of a project, so that the
//! server or hook may run.

use std::fmt;
use std::path::Path;

use super::hook::HookSpec;
use super::mcp::ServerConfig;

/// Why a server or hook must not be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotApproved {
    /// One line that names the server or hook, and says why it does not run and how to approve it.
    pub why: String,
    /// Whether the user has approved the server or hook, but its configuration or a file that it runs has changed since
    /// then.
    pub has_changed: bool,
}

impl fmt::Display for NotApproved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// Checks whether the user has approved a server or hook with exactly its current content. Callers must check
/// immediately before each start. The checks block: they read the metadata of the files on which the server or hook
/// depends, the content of files whose metadata has changed, and, after a new decision of the user, all files that declare
/// servers and hooks.
pub trait ApprovalCheck: fmt::Debug + Send + Sync {
    /// Checks whether `server` may be started, and returns the configuration with which it must be started. That is the
    /// configuration that the user has approved, which differs from `server` if the file that declares the server has
    /// changed since `server` was read.
    ///
    /// # Errors
    /// Returns why the server must not be started, for example because the user has not approved it.
    fn check_server(&self, server: &ServerConfig) -> Result<ServerConfig, NotApproved>;

    /// Checks a hook that would run in the directory `dir`. If `dir` is a worktree, the files in it that the hook's
    /// command names must have the same content as those that the user has approved in the project directory.
    ///
    /// # Errors
    /// Returns why the hook must not run.
    fn check_hook(&self, hook: &HookSpec, dir: &Path) -> Result<(), NotApproved>;

    /// Returns a number that changes with each decision of the user. Does not block: it reads at most the metadata of one
    /// file.
    fn decisions_hash(&self) -> u64 {
        0
    }

    /// Returns whether [`ApprovalCheck::current_hooks`] may return other hooks than those of `version`. Does not block: it
    /// reads at most the metadata of one file.
    fn is_outdated(&self, _version: u64) -> bool {
        false
    }

    /// Returns the hooks that the user has approved, with those that have changed since then and therefore block, and
    /// their version. `None` if the hooks never change. Blocks, like the checks.
    fn current_hooks(&self) -> Option<(u64, Vec<HookSpec>)> {
        None
    }
}
