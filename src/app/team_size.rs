//! Determines the default number of teammates for this machine.

use std::path::Path;

use super::supervisor::memory_mb;
use crate::domain::team;

/// Returns the default limit on concurrent teammates, computed from the number of cores and the memory of this machine.
pub fn agents() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    team::default_agents_max(cores, memory_mb(Path::new("/")))
}
