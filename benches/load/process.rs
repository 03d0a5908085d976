//! What the system knows of a process.

use std::time::Duration;

fn read(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// CPU time of the process so far, all its threads, user and system (the kernel tells it in ticks of 10 ms).
pub fn cpu(pid: u32) -> Duration {
    let text = read(pid, "stat");
    // The name of the program, in brackets, may hold anything.
    let behind = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    // Fields 14 and 15 of the line, counted from 1; the first behind the name is field 3.
    let ticks = |at: usize| fields.get(at - 3).and_then(|f| f.parse::<u64>().ok());
    Duration::from_millis((ticks(14).unwrap_or(0) + ticks(15).unwrap_or(0)) * 10)
}

/// Its memory, in MiB: pages that others share are counted in part.
pub fn pss_mib(pid: u32) -> f64 {
    let text = read(pid, "smaps_rollup");
    let line = text.lines().find(|l| l.starts_with("Pss:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// How many programs want to run, on average of one, five and fifteen minutes, and how many can.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{} on {cores} cores", words.join(" "))
}
