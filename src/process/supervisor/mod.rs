//! The supervisor: a process between crewdeck and a command of an agent. When the command ends or is cancelled, the
//! supervisor kills every process that the command has started.
//!
//! There is one supervisor per command. It runs the program of crewdeck with the hidden verb [`VERB`]. Its standard
//! input is one end of a socket pair; crewdeck uses the other end to send the request and to receive events. When
//! crewdeck cancels the command or is killed, crewdeck's end closes, and the supervisor kills all processes of the
//! command.
//!
//! The standard input of the command is empty, or a pipe that crewdeck passes over the socket.
//!
//! A process that leaves its process group or its parent (`setsid`, double fork) stays a descendant of the supervisor,
//! because the supervisor is a subreaper. The supervisor runs outside the sandbox of the command, so the command cannot
//! send signals to the supervisor.

#[cfg(target_os = "linux")]
mod ancestors;
#[cfg(target_os = "linux")]
mod cgroup;
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

/// Returns whether this process runs under a supervisor: in a command of an agent, a command that the user typed with
/// `!`, a hook, an MCP server or an external agent. Recognizes this by an environment variable that child processes
/// inherit. On Linux, also looks for the supervisor among the ancestors of this process, because a command can remove the
/// variable.
pub fn is_in_agent_command() -> bool {
    std::env::var_os(protocol::MARK).is_some() || has_supervisor()
}

#[cfg(target_os = "linux")]
use ancestors::has_supervisor;

#[cfg(not(target_os = "linux"))]
fn has_supervisor() -> bool {
    false
}

use super::sandbox::Sandbox;
use super::session_variables::SessionVariables;
use crate::domain::sandbox::{CommandLimits, NetworkRules};

/// The hidden command-line verb that runs [`main`].
pub const VERB: &str = "guard";
/// The argument with which crewdeck starts the supervisor. Without it, the supervisor assumes that a user ran the
/// hidden verb, and refuses to work.
const BY_CREWDECK: &str = "--for-crewdeck";
/// The argument with which crewdeck announces that it passes the program's standard input over the socket before it
/// sends the request.
const WITH_STDIN: &str = "--with-stdin";

/// The settings with which a supervisor process is started for each command of an agent. Also used for hooks and for
/// the commands that the user types with `!`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Supervisor {
    /// The program that runs as supervisor when it is started with [`VERB`].
    pub program: PathBuf,
    pub sandbox: Option<Sandbox>,
    pub network: NetworkRules,
    /// Process and memory limits of one command.
    pub limits: CommandLimits,
    /// Variables that hooks have set for the commands of agents. A job with its own [`JobInput`](super::JobInput) does not
    /// get them.
    pub variables: SessionVariables,
}

impl Supervisor {
    /// Returns the supervisor for programs that run with the user's own rights: without a sandbox, and without the
    /// variables for commands of agents. The limits stay.
    #[must_use]
    pub fn for_user(&self) -> Supervisor {
        Supervisor {
            sandbox: None,
            variables: SessionVariables::default(),
            ..self.clone()
        }
    }

    /// Returns a path to the running program that stays valid when an upgrade replaces the file; `None` if this
    /// operating system has no supervisors. The `main` function of the running program must handle [`VERB`].
    pub fn program() -> Option<&'static Path> {
        cfg!(target_os = "linux").then_some(Path::new("/proc/self/exe"))
    }
}
