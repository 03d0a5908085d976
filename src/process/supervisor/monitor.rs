//! Enforces the process and memory limits of one command while it runs.
//!
//! A scan of all processes takes a millisecond or more, so not every check includes a scan. A check scans if the last
//! scan is long ago, or if the machine has many more tasks or much less available memory than when the command began.
//! Reading these two values takes microseconds.

use std::fs;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use super::process_tree;
use crate::domain::sandbox::CommandLimits;

/// Interval between two checks during the first seconds of a command ([`YOUNG_PERIOD`]). It is short because most fork
/// and memory bombs act right away.
const YOUNG_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 25_000_000,
};
/// Interval between two checks after `YOUNG_PERIOD`.
const INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Time after the start of a command during which the monitor checks it more often.
const YOUNG_PERIOD: Duration = Duration::from_secs(2);
/// Maximum time between two scans of a command's processes.
const FORCED_SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// The fraction of a limit that triggers a scan of the command's processes, as a divisor: 4 means a quarter. A scan
/// runs if, since the command began, the machine's task count has risen by this fraction of the process limit, or its
/// available memory has fallen by this fraction of the memory limit.
const SCAN_FRACTION: u64 = 4;
/// Ratio of the process limit that the kernel enforces to the lower limit that the monitor enforces.
const KERNEL_LIMIT_FACTOR: u64 = 4;
const MIB: u64 = 1024 * 1024;

/// Checks at intervals whether one command exceeds its process or memory limit.
pub struct Monitor {
    limits: CommandLimits,
    began: Instant,
    last_scan: Instant,
    /// The machine's task count and its available memory in bytes when the command began.
    baseline: (u64, u64),
}

impl Monitor {
    /// Starts to watch a command that begins now; `None` if no limit is set.
    pub fn new(limits: CommandLimits) -> Option<Monitor> {
        let has_any = limits.processes.is_some() || limits.memory_mb.is_some();
        let now = Instant::now();
        has_any.then(|| Monitor {
            limits,
            began: now,
            last_scan: now,
            baseline: (tasks(), available()),
        })
    }

    pub fn poll_interval(&self) -> Timespec {
        if self.began.elapsed() < YOUNG_PERIOD {
            YOUNG_INTERVAL
        } else {
            INTERVAL
        }
    }

    /// Returns the limit that the command has exceeded, as a sentence for the model; `None` if it has exceeded none.
    pub fn exceeded(&mut self) -> Option<String> {
        if !self.should_scan() {
            return None;
        }
        self.last_scan = Instant::now();
        let all = process_tree::descendants();
        if let Some(most) = self.limits.processes
            && all.len() > most as usize
        {
            return Some(format!(
                "the command had more than {most} processes, the limit for one command (setting processes_max)"
            ));
        }
        let most = self.limits.memory_mb?.saturating_mul(MIB);
        // This sum is cheaper to read, and never too low: memory that processes share is counted once for each of them.
        let resident: u64 = all.iter().map(|pid| resident(*pid)).sum();
        if resident <= most {
            return None;
        }
        let used: u64 = all.iter().map(|pid| proportional(*pid)).sum();
        (used > most).then(|| {
            format!(
                "the command used more than {} MiB of memory, the limit for one command (setting memory_max_mb)",
                most / MIB
            )
        })
    }

    fn should_scan(&self) -> bool {
        let (tasks, available) = (tasks(), available());
        let more = tasks.saturating_sub(self.baseline.0);
        let less = self.baseline.1.saturating_sub(available);
        let processes = self.limits.processes.map(u64::from);
        let memory = self.limits.memory_mb.map(|mb| mb.saturating_mul(MIB));
        self.last_scan.elapsed() >= FORCED_SCAN_INTERVAL
            || processes.is_some_and(|most| more >= most / SCAN_FRACTION)
            || memory.is_some_and(|most| less >= most / SCAN_FRACTION)
    }
}

/// Sets a kernel limit on processes against fork bombs, in addition to the limit of the monitor. The kernel counts all
/// threads of the user in the user namespace. Outside of a user namespace that contains only the command, this count
/// would include other programs, so the function then does nothing. The limit does not apply to root.
pub fn limit_processes(limits: CommandLimits) {
    let is_own = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().nth(2) == Some("1"));
    if let Some(most) = limits.processes.filter(|_| is_own) {
        let most = Some(u64::from(most).saturating_mul(KERNEL_LIMIT_FACTOR));
        // On an error the monitor alone enforces the limit.
        let _ = setrlimit(
            Resource::Nproc,
            Rlimit {
                current: most,
                maximum: most,
            },
        );
    }
}

/// Makes the kernel's OOM killer prefer the command over crewdeck.
pub fn raise_oom_score(pid: Pid) {
    // On an error the OOM killer chooses by size alone.
    let _ = fs::write(
        format!("/proc/{}/oom_score_adj", pid.as_raw_nonzero()),
        "500",
    );
}

/// Returns the machine's number of tasks, including threads, from `/proc/loadavg` (345 in `0.10 0.20 0.30 2/345 678`).
fn tasks() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let part = text.split_whitespace().nth(3).unwrap_or_default();
    part.split('/')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// Returns the machine's available memory in bytes.
fn available() -> u64 {
    kilobytes(
        &fs::read_to_string("/proc/meminfo").unwrap_or_default(),
        "MemAvailable:",
    )
}

/// Returns the resident anonymous and shared memory of a process, in bytes. Shared pages count fully for each process.
fn resident(pid: Pid) -> u64 {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let text = fs::read_to_string(path).unwrap_or_default();
    kilobytes(&text, "RssAnon:") + kilobytes(&text, "RssShmem:")
}

/// Like [`resident`], but shared pages are divided among the processes that share them.
fn proportional(pid: Pid) -> u64 {
    let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
    match fs::read_to_string(path) {
        Ok(text) => kilobytes(&text, "Pss_Anon:") + kilobytes(&text, "Pss_Shmem:"),
        Err(_) => resident(pid),
    }
}

/// Returns the value of a line `NAME   123 kB`, in bytes; 0 if there is no such line.
fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn proc_values_are_parsed() {
        assert_eq!(
            kilobytes("A: 1 kB\nPss_Anon:    12 kB\n", "Pss_Anon:"),
            12 * 1024
        );
        assert_eq!(kilobytes("", "Pss_Anon:"), 0);
        assert!(tasks() > 0 && available() > 0);
        assert!(resident(rustix::process::getpid()) > 0);
    }
}
