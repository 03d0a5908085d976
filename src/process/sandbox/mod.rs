//! The sandbox of agents' commands: the kernel restricts where they can write. Reading and executing are not
//! restricted, except that some sockets and credentials are hidden.
//!
//! [`Sandbox`] gathers the inputs, [`plan()`] computes a [`SandboxPlan`] from them, and the
//! [supervisor](super::supervisor) enforces it. Two mechanisms are combined:
//!
//! - **Landlock** allows writes below a list of folders. It cannot exclude a subfolder, such as `.tasks` in a writable
//!   root.
//! - **The mount view**, a private mount namespace, makes the subfolders that Landlock cannot exclude read-only: it
//!   mounts each one over itself. Landlock forbids later mount changes, so a command cannot undo this.
//!
//! If the kernel refuses one mechanism, the other is used alone. Without the mount view, Landlock makes the whole git
//! folder of a repository read-only to protect the history. If Landlock is missing or too old for that, no command
//! starts in the repository. [`probe()`] reports what is available.

mod caches;
mod facts;
#[cfg(target_os = "linux")]
pub(super) mod landlock;
#[cfg(target_os = "linux")]
pub(super) mod landlock_only;
#[cfg(target_os = "linux")]
pub(super) mod mounts;
mod note;
mod plan;
mod probe;
mod sockets;

pub use caches::{CacheFolder, cache_folders, writable_folders};
pub use facts::{GitDirs, HistoryReach, Sandbox};
pub use note::{HOOKS_SKIPPED, network_off_note, write_denied_note};
pub use plan::{HistoryProtection, Mount, PlanInputs, SandboxPlan, plan};
pub use probe::{Availability, SandboxReport, probe};
