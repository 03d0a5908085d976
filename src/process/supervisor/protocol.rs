//! The protocol between crewdeck and a supervisor: one JSON value per line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::sandbox::CommandLimits;
use crate::process::NetworkReach;
use crate::process::sandbox::SandboxPlan;

/// Maximum size of a request, in bytes. A request is one line.
pub const LINE_MAX: u64 = 4 * 1024 * 1024;
/// The environment variable that marks a program and its descendants, so that they can be found if the supervisor is
/// killed.
pub const MARK: &str = "CREWDECK_JOB";

/// The request to run a program, which crewdeck sends to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRequest {
    /// The program, followed by its arguments.
    pub argv: Vec<String>,
    pub dir: PathBuf,
    pub plan: Option<SandboxPlan>,
    /// The value of the environment variable [`MARK`], unique for each program.
    pub mark: String,
    #[serde(default)]
    pub network: NetworkReach,
    #[serde(default)]
    pub limits: Option<CommandLimits>,
    /// Variables that are added to the environment of the program.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisorEvent {
    Started {
        /// The process id of the program, which is also its process group id.
        pid: i32,
        /// The first 16 writable paths of the sandbox plan, if the git folder is read-only because the mount view could
        /// not be created. Otherwise `None`.
        #[serde(default)]
        git_is_read_only: Option<Vec<PathBuf>>,
    },
    /// The program could not be started, for the reason `why`. No other event follows.
    NotStarted { why: String },
    /// The program and everything it started have ended.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        /// Whether processes that the program had started were still running 100 ms after it exited by itself. The
        /// supervisor has killed them. False if a limit was exceeded.
        left: bool,
        /// The limit that the program exceeded and for which it was killed, as a clause for the model that begins with
        /// "the command". `None` if it exceeded no limit.
        limit: Option<String>,
    },
}
