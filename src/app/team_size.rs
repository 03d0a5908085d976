//! The default number of teammates for this machine.

use crate::domain::team;

/// Returns the default limit on concurrent teammates, from cores and memory.
pub fn agents() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    team::default_agents_max(cores, memory())
}

/// Returns the memory of the machine in MiB; `None` if it is unknown.
#[cfg(target_os = "linux")]
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

/// Always `None`: the memory is not read on this operating system.
#[cfg(not(target_os = "linux"))]
fn memory() -> Option<u64> {
    None
}
