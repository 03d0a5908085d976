//! The protocol between crewdeck and a supervisor: one JSON value per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::sandbox::CommandLimits;
use crate::process::NetworkReach;
use crate::process::sandbox::SandboxPlan;

/// Maximum bytes of one line.
pub const LINE_MAX: u64 = 4 * 1024 * 1024;
/// The environment variable that marks a program and its descendants, to find them if the supervisor is killed.
pub const MARK: &str = "CREWDECK_JOB";

/// A request to run a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRequest {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The working directory.
    pub dir: PathBuf,
    /// The sandbox plan. `None`: the program is not sandboxed.
    pub plan: Option<SandboxPlan>,
    /// The value of [`MARK`].
    pub mark: String,
    /// Network access.
    #[serde(default)]
    pub network: NetworkReach,
    /// Process and memory limits. `None`: no limits.
    #[serde(default)]
    pub limits: Option<CommandLimits>,
}

/// An event of a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisorEvent {
    /// The program was started.
    Started {
        /// Its process id, which is also its process group id.
        pid: i32,
        /// The first writable paths, if the mount view failed and the git folder is read-only.
        #[serde(default)]
        git_is_read_only: Option<Vec<PathBuf>>,
    },
    /// The program could not be started.
    NotStarted {
        /// The error.
        why: String,
    },
    /// The program and everything it started have ended.
    Ended {
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// The signal that killed it, if one did.
        signal: Option<i32>,
        /// Whether other processes were still running and were killed.
        left: bool,
        /// The limit that it exceeded, if it was killed for that.
        limit: Option<String>,
    },
}
