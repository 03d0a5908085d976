//! What crewdeck and a guard say to one another: one JSON value a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::sandbox::CommandLimits;
use crate::process::NetworkReach;
use crate::process::confine::SandboxPlan;

/// Most bytes of one line: as long as a command may be for the system.
pub const LINE_MAX: u64 = 4 * 1024 * 1024;
/// The variable that marks a program and all that it starts, so that they are found when the guard is gone.
pub const MARK: &str = "CREWDECK_JOB";

/// What a guard is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRequest {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where.
    pub dir: PathBuf,
    /// Where it may write; `None`: everywhere.
    pub plan: Option<SandboxPlan>,
    /// The value of [`MARK`].
    pub mark: String,
    /// Whether it reaches the network.
    #[serde(default)]
    pub network: NetworkReach,
    /// How much it may use; `None`: as much as it can.
    #[serde(default)]
    pub limits: Option<CommandLimits>,
}

/// What a guard tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SupervisorEvent {
    /// The program runs, at the head of the group with this number.
    Started {
        /// Its process id.
        pid: i32,
        /// The first places where it may write, where its view could not be made and its git folder is read-only.
        #[serde(default)]
        git_is_read_only: Option<Vec<PathBuf>>,
    },
    /// The program could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// The program and all that it had started have ended.
    Ended {
        /// Its exit code, where it had one.
        code: Option<i32>,
        /// The signal that ended it, where one did.
        signal: Option<i32>,
        /// Whether others still ran when it had ended.
        left: bool,
        /// The limit for which it was ended.
        limit: Option<String>,
    },
}
