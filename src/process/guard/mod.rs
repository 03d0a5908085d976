//! The guard: a process of its own between crewdeck and each program of an agent, so that all that the program
//! starts has a certain end.
//!
//! It is crewdeck itself with the verb [`VERB`], alone with one program. Its standard input is one end of a
//! socket pair whose other end only crewdeck holds: crewdeck writes the order and hears of the end through it,
//! and when it closes (crewdeck gave up, or is gone by kill -9) the guard ends everything. Programs that leave
//! their group or their parent (`setsid`, a double fork) stay its descendants, since it is their subreaper.
//! The guard itself stays outside the confinement that it puts the program into, where no signal of the program
//! reaches it.

mod entry;
mod client;
#[cfg(target_os = "linux")]
mod monitor;
#[cfg(target_os = "linux")]
pub(super) mod network;
mod protocol;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))] // only the guard uses most of it
mod process_tree;

use std::path::{Path, PathBuf};

pub use entry::main;
pub(super) use client::{SupervisorClient, JobOutcome};

use super::confine::Confinement;
use crate::domain::sandbox::{CommandLimits, NetworkRules};

/// The hidden verb of the command line behind which [`main`] stands.
pub const VERB: &str = "guard";
/// The argument that tells a guard that it was started by crewdeck, and not by a curious person.
const BY_CREWDECK: &str = "--for-crewdeck";

/// How programs of agents are guarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The program that has the verb.
    pub program: PathBuf,
    /// Where they may write; `None`: everywhere.
    pub confinement: Option<Confinement>,
    /// Who has the network.
    pub network: NetworkRules,
    /// How much one command may use.
    pub limits: CommandLimits,
}

impl Guard {
    /// The running program itself, also after an upgrade has put another one in its place; `None`: there is
    /// no guard on this operating system. Only for a program whose `main` knows the verb.
    pub fn program() -> Option<&'static Path> {
        cfg!(target_os = "linux").then_some(Path::new("/proc/self/exe"))
    }
}
