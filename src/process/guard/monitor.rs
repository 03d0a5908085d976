//! Limits of one command: how many processes it has and how much memory they hold, looked at while it runs.
//!
//! A look at all processes costs a millisecond or more, so it is taken when two figures of the whole machine, which cost
//! some microseconds, have changed by a part of a limit since the command began, and now and then.

use std::fs;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use super::process_tree;
use crate::domain::sandbox::CommandLimits;

/// Between two looks while a command is young: most bombs go off at once.
const OFTEN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 25_000_000,
};
/// Later.
const SELDOM: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// How long a command is young.
const YOUNG: Duration = Duration::from_secs(2);
/// Between two looks at all processes that nothing has caused.
const ANYWAY: Duration = Duration::from_secs(5);
/// A change of this part of a limit on the whole machine causes a look at all processes.
const PART: u64 = 4;
const MIB: u64 = 1024 * 1024;

/// Watches one command.
pub struct Monitor {
    limits: CommandLimits,
    began: Instant,
    looked: Instant,
    /// The tasks of the machine, and its available memory in bytes, at the start.
    before: (u64, u64),
}

impl Monitor {
    /// Begins to watch; `None`: there is no limit.
    pub fn new(limits: CommandLimits) -> Option<Monitor> {
        let has_any = limits.processes.is_some() || limits.memory_mb.is_some();
        let now = Instant::now();
        has_any.then(|| Monitor {
            limits,
            began: now,
            looked: now,
            before: (tasks(), available()),
        })
    }

    /// How long to wait until the next look.
    pub fn pause(&self) -> Timespec {
        if self.began.elapsed() < YOUNG {
            OFTEN
        } else {
            SELDOM
        }
    }

    /// Which limit the command has exceeded, as a line for the model.
    pub fn exceeded(&mut self) -> Option<String> {
        if !self.is_worth_a_look() {
            return None;
        }
        self.looked = Instant::now();
        let all = process_tree::descendants();
        if let Some(most) = self.limits.processes
            && all.len() > most as usize
        {
            return Some(format!(
                "the command had more than {most} processes, the limit for one command (setting processes_max)"
            ));
        }
        let most = self.limits.memory_mb?.saturating_mul(MIB);
        // The cheap sum can only be too large.
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

    fn is_worth_a_look(&self) -> bool {
        let (tasks, available) = (tasks(), available());
        let more = tasks.saturating_sub(self.before.0);
        let less = self.before.1.saturating_sub(available);
        let processes = self.limits.processes.map(u64::from);
        let memory = self.limits.memory_mb.map(|mb| mb.saturating_mul(MIB));
        self.looked.elapsed() >= ANYWAY
            || processes.is_some_and(|most| more >= most / PART)
            || memory.is_some_and(|most| less >= most / PART)
    }
}

/// Lets the kernel hold a user's fork bomb at some point. It counts threads, and in a user namespace only those in
/// there; it does not hold the superuser.
pub fn hold_back(limits: CommandLimits) {
    let is_own = fs::read_to_string("/proc/self/uid_map")
        .is_ok_and(|map| map.split_whitespace().nth(2) == Some("1"));
    if let Some(most) = limits.processes.filter(|_| is_own) {
        let most = Some(u64::from(most).saturating_mul(PART));
        // Without it the monitor holds it alone.
        let _ = setrlimit(
            Resource::Nproc,
            Rlimit {
                current: most,
                maximum: most,
            },
        );
    }
}

/// Has the kernel choose the command before crewdeck when memory runs out.
pub fn offer_to_the_kernel(pid: Pid) {
    // Where it fails the kernel chooses by size alone.
    let _ = fs::write(
        format!("/proc/{}/oom_score_adj", pid.as_raw_nonzero()),
        "500",
    );
}

/// The tasks of the machine, threads included: `0.10 0.20 0.30 2/345 678`.
fn tasks() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let part = text.split_whitespace().nth(3).unwrap_or_default();
    part.split('/')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// The memory of the machine that can be had, in bytes.
fn available() -> u64 {
    kilobytes(
        &fs::read_to_string("/proc/meminfo").unwrap_or_default(),
        "MemAvailable:",
    )
}

/// The memory that is neither a file's nor swapped out, in bytes. Pages that processes share count for each of them.
fn resident(pid: Pid) -> u64 {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let text = fs::read_to_string(path).unwrap_or_default();
    kilobytes(&text, "RssAnon:") + kilobytes(&text, "RssShmem:")
}

/// The same with this process's part only of what it shares, in bytes.
fn proportional(pid: Pid) -> u64 {
    let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
    match fs::read_to_string(path) {
        Ok(text) => kilobytes(&text, "Pss_Anon:") + kilobytes(&text, "Pss_Shmem:"),
        Err(_) => resident(pid),
    }
}

/// The value in bytes of a line `NAME   123 kB`.
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
    fn figures_of_the_system_are_read() {
        assert_eq!(
            kilobytes("A: 1 kB\nPss_Anon:    12 kB\n", "Pss_Anon:"),
            12 * 1024
        );
        assert_eq!(kilobytes("", "Pss_Anon:"), 0);
        assert!(tasks() > 0 && available() > 0);
        assert!(resident(rustix::process::getpid()) > 0);
    }
}
