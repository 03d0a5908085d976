//! Facts about this machine.

use std::thread;

/// Returns the name of this machine; empty if it is unknown.
pub fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_string()
}

/// Returns the number of processor cores that this process can use; 0 if it is unknown.
pub fn core_count() -> u16 {
    let count = thread::available_parallelism().map_or(0, usize::from);
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Returns the average number of processes that wanted to run in the last minute; 0 if it is unknown.
pub fn load_average() -> f32 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|load| load.parse().ok()).unwrap_or_default()
}
