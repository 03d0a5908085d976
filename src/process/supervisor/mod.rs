//! The supervisor: a process between crewdeck and each command of an agent that kills everything the command starts.
//!
//! The supervisor is crewdeck itself, run with the hidden verb [`VERB`], one process per command. Its standard input is
//! one end of a socket pair. crewdeck sends the request and receives events over the other end. When that end closes,
//! because crewdeck cancels the command or was killed, the supervisor kills everything. The program's own standard input
//! is empty, or a pipe that crewdeck passes over the socket. Processes that leave their
//! group or parent (`setsid`, double fork) stay descendants of the supervisor, because it is a subreaper. The
//! supervisor itself runs outside the sandbox of the command, so the command cannot send it signals.

mod client;
mod entry;
#[cfg(target_os = "linux")]
mod monitor;
#[cfg(target_os = "linux")]
pub(super) mod network;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // used mostly by the supervisor process
mod process_tree;
mod protocol;
mod stdin_passing;

use std::path::{Path, PathBuf};

pub(super) use client::{JobOutcome, SupervisorClient};
pub use entry::main;

/// Returns whether this process was started by a command of an agent.
pub fn is_in_agent_command() -> bool {
    std::env::var_os(protocol::MARK).is_some()
}

use super::sandbox::Sandbox;
use crate::domain::sandbox::{CommandLimits, NetworkRules};

/// The hidden command-line verb that runs [`main`].
pub const VERB: &str = "guard";
/// The argument with which crewdeck starts the supervisor. Without it, the supervisor assumes that a user ran the
/// command.
const BY_CREWDECK: &str = "--for-crewdeck";
/// The argument that says that crewdeck passes the standard input of the program before the request.
const WITH_STDIN: &str = "--with-stdin";

/// The settings with which a supervisor process is started for each command of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The program that runs as supervisor when it is started with [`VERB`].
    pub program: PathBuf,
    pub sandbox: Option<Sandbox>,
    pub network: NetworkRules,
    /// Process and memory limits of one command.
    pub limits: CommandLimits,
}

impl Supervisor {
    /// Returns a path to the running program that stays valid when an upgrade replaces the file; `None` if this
    /// operating system has no supervisors. The `main` function of the running program must handle [`VERB`].
    pub fn program() -> Option<&'static Path> {
        cfg!(target_os = "linux").then_some(Path::new("/proc/self/exe"))
    }
}
