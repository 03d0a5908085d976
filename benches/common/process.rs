//! Reads CPU time, memory and wake-ups of a process from `/proc`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Sampling interval of the threads. Wake-ups of a thread that ends between two samples are lost.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(200);

fn stat(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// Returns the user and system CPU time of all threads in milliseconds, with a resolution of 10 ms; 0 if the process has
/// ended.
pub fn cpu_ms(pid: u32) -> u64 {
    let text = stat(pid, "stat");
    let behind = text.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = behind.split_whitespace().collect();
    // utime and stime are fields 14 and 15, counted from 1. The first field after the name is field 3.
    let ticks = |at: usize| fields.get(at - 3).and_then(|f| f.parse::<u64>().ok());
    (ticks(14).unwrap_or(0) + ticks(15).unwrap_or(0)) * 10
}

/// Returns the proportional set size (PSS) in MiB; 0 if the process has ended.
pub fn pss_mib(pid: u32) -> f64 {
    let text = stat(pid, "smaps_rollup");
    let line = text.lines().find(|l| l.starts_with("Pss:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

/// Returns the memory in MiB that no other process shares; 0 if the process has ended.
pub fn private_mib(pid: u32) -> f64 {
    let text = stat(pid, "smaps_rollup");
    let private = text.lines().filter(|line| line.starts_with("Private_"));
    let kib = private.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kib.sum::<f64>() / 1024.0
}

/// Returns the program and the arguments, separated by spaces; empty if the process has ended.
pub fn command_line(pid: u32) -> String {
    stat(pid, "cmdline").replace('\0', " ")
}

/// Returns the process `pid` and its descendants.
pub fn family(pid: u32) -> Vec<u32> {
    let parent = |pid: u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        text.rsplit(')')
            .next()?
            .split_whitespace()
            .nth(1)?
            .parse::<u32>()
            .ok()
    };
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(u32, Option<u32>)> = all.map(|pid| (pid, parent(pid))).collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        let children = all.iter().filter(|(_, of)| *of == Some(parent));
        found.extend(children.map(|(pid, _)| *pid));
        at += 1;
    }
    found
}

/// Formats the load average and the number of cores.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("load {} on {cores} cores", words.join(" "))
}

/// Returns the number of context switches so far, by thread.
fn switches(pid: u32) -> HashMap<String, u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let count = |text: &str, name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let of = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("status")).ok()?;
        let all =
            count(&text, "voluntary_ctxt_switches:") + count(&text, "nonvoluntary_ctxt_switches:");
        Some((task.file_name().to_string_lossy().into_owned(), all))
    };
    tasks
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(of)
        .collect()
}

/// Counts the wake-ups of all threads during `time`, measured as context switches, including threads that start
/// meanwhile. A thread that ends counts as one more wake-up.
pub fn wake_ups(pid: u32, time: Duration) -> u64 {
    let until = Instant::now() + time;
    let mut before = switches(pid);
    let mut all = 0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return all;
        }
        std::thread::sleep(left.min(SAMPLE_INTERVAL));
        let now = switches(pid);
        all += now
            .iter()
            .map(|(thread, n)| n - before.get(thread).unwrap_or(&0))
            .sum::<u64>();
        // A thread must wake up to end.
        all += before.keys().filter(|t| !now.contains_key(*t)).count() as u64;
        before = now;
    }
}
