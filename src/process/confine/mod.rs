//! Where a program of an agent may write, held by the kernel: Landlock, and a private view of the mounts.
//!
//! [`SandboxPlan`] says it as plain data and is pure; what it depends on is gathered by [`Confinement`]. The
//! [guard](super::guard) carries it out. Reading and running stay free. Two means, because one is not enough:
//!
//! - **Landlock** lists where may be written. It is a list of folders with all that is below them, so it can not
//!   except `.tasks` from a root that may be written.
//! - **The view** is a mount namespace of the command's own, in which such folders are mounted read-only over
//!   themselves. Landlock forbids every later change of mounts, so a command can not undo it.
//!
//! Where the kernel refuses one of them the other one is used alone. In a git repository Landlock then keeps the whole git
//! folder read-only, so that the history stays protected; where it cannot, no command starts. [`probe()`] tells which
//! there are.

#[cfg(target_os = "linux")]
pub(super) mod landlock_only;
mod facts;
#[cfg(target_os = "linux")]
pub(super) mod landlock;
mod note;
mod plan;
mod probe;
mod sockets;
#[cfg(target_os = "linux")]
pub(super) mod mounts;

pub use facts::{Confinement, GitDirs, HistoryReach, own_folders};
pub use note::{HOOKS_SKIPPED, network_is_off, where_it_may_write};
pub use plan::{PlanInputs, KeepsHistory, Mount, SandboxPlan, plan};
pub use probe::{SandboxReport, Works, probe};
