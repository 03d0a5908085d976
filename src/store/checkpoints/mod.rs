//! Checkpoints of the files in the work directories of agents, and the way back to them.
//!
//! A checkpoint contains the files of a work directory as they are on disk, also those that are not committed. It leaves
//! out what git ignores, nested repositories, the folders of crewdeck, and files that are too large or cannot be read.
//! The files are stored in a repository of their own: see [`repository`].
//!
//! A snapshot lists all folders and looks at the state of each file, which is right on every file system. Only files whose
//! state has changed are read. In a large directory on a local file system, it looks only at the folders of which the kernel
//! has reported a change.

mod apply;
mod cleanup;
mod directory;
mod error;
mod files;
mod known;
mod meta;
mod plan;
mod project;
mod repository;
mod rescan;
mod restore;
mod rules;
mod scan;
#[cfg(test)]
mod tests;
mod watch;

pub use cleanup::Cleanup;
pub use error::CheckpointError;
pub use project::Checkpoints;
