//! What the machine can hold.

use crate::domain::team;

/// Most teammates at a time where no setting says it.
pub fn agents() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    team::agents_for(cores, memory())
}

/// The memory of the machine in MiB; `None`: the system does not say.
#[cfg(target_os = "linux")]
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

/// The memory of the machine: not asked on this operating system.
#[cfg(not(target_os = "linux"))]
fn memory() -> Option<u64> {
    None
}
