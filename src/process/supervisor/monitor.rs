//! Enforces the process and memory limits of one command while it runs.
//!
//! Where the kernel limits the memory through a [`Cgroup`] that the command cannot leave, the monitor only reads what
//! the kernel has refused, and counts the processes. Otherwise it measures both.
//!
//! A scan of all processes takes a millisecond or more, so not every check includes a scan. A check scans if the last
//! scan was at least `FORCED_SCAN_INTERVAL` ago, or if the machine has many more tasks or much less available memory
//! than when the command began. Reading these two values takes microseconds.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::fs::statvfs;
use rustix::process::{Pid, Resource, Rlimit, setrlimit};

use super::cgroup::{Cgroup, Refused};
use super::process_tree;
use crate::domain::sandbox::CommandLimits;
use crate::process::sandbox::mounts;

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
/// The kernel's limit on processes, as a multiple of the monitor's limit. The kernel's limit must be higher, because
/// the kernel counts threads too.
pub const KERNEL_LIMIT_FACTOR: u64 = 4;
pub const MIB: u64 = 1024 * 1024;
/// The beginning of a link in `/proc/PID/fd` that leads to a file made by `memfd_create`.
const MEMORY_FILE: &str = "/memfd:";
/// The unit in which the kernel reports the allocated size of a file, in bytes.
const BLOCK: u64 = 512;

/// Checks at intervals whether one command exceeds its process or memory limit.
pub struct Monitor {
    limits: CommandLimits,
    /// The control group of the command; `None` if it could not be created or entered.
    cgroup: Option<Cgroup>,
    /// Whether the processes of the command can write the files of control groups, and so leave their group.
    can_leave_cgroup: bool,
    began: Instant,
    last_scan: Instant,
    /// The machine's task count and its available memory in bytes when the command began.
    baseline: (u64, u64),
    /// Whether the folder of shared memory belongs to the command alone.
    has_shared_memory: bool,
}

impl Monitor {
    /// Starts to watch a command that begins now; `None` if no limit is set. `can_leave_cgroup` is true if the command
    /// has no mount view. In a mount view, the files of control groups are read-only, so the command cannot leave its
    /// group.
    pub fn new(
        limits: CommandLimits,
        cgroup: Option<Cgroup>,
        can_leave_cgroup: bool,
    ) -> Option<Monitor> {
        let has_any = limits.processes.is_some() || limits.memory_mb.is_some();
        let now = Instant::now();
        has_any.then(|| Monitor {
            limits,
            cgroup,
            can_leave_cgroup,
            began: now,
            last_scan: now,
            baseline: (tasks(), available()),
            has_shared_memory: mounts::is_shared_memory_private(),
        })
    }

    pub fn poll_interval(&self) -> Timespec {
        if self.began.elapsed() < YOUNG_PERIOD {
            YOUNG_INTERVAL
        } else {
            INTERVAL
        }
    }

    /// Calls `start`, which starts the command, so that the limits of the kernel apply to the command from its first
    /// instruction. If the kernel has no limits for the command or refuses the membership in its group, the monitor
    /// alone enforces the limits.
    pub fn start_command<T>(&mut self, mut start: impl FnMut() -> T) -> T {
        let cgroup = self.cgroup.as_ref();
        if let Some(Ok(started)) = cgroup.map(|cgroup| cgroup.with_membership(&mut start)) {
            return started;
        }
        // The kernel has refused the membership, so the monitor measures.
        self.cgroup = None;
        start()
    }

    /// Returns a text for the model that names the memory limit, if the kernel has killed a process of the command
    /// because of this limit. Otherwise returns `None`. The text is a clause that begins with "the command".
    pub fn killed_for_memory(&self) -> Option<String> {
        let is_memory = self.cgroup.as_ref()?.refused() == Some(Refused::Memory);
        self.limits
            .memory_mb
            .filter(|_| is_memory)
            .map(memory_exceeded)
    }

    fn refused_by_kernel(&self) -> Option<String> {
        match self.cgroup.as_ref()?.refused()? {
            Refused::Memory => self.limits.memory_mb.map(memory_exceeded),
            Refused::Process => {
                let most = u64::from(self.limits.processes?).saturating_mul(KERNEL_LIMIT_FACTOR);
                Some(format!(
                    "the command had more than {most} processes and threads, the limit for one command \
                     ({KERNEL_LIMIT_FACTOR} times the setting processes_max, because threads count too)"
                ))
            }
        }
    }

    /// Checks the limits. If the command has exceeded one, returns a text for the model that names it, as a clause that
    /// begins with "the command". Otherwise returns `None`. A check that does not scan the processes finds only what
    /// the kernel has refused.
    pub fn exceeded_limit(&mut self) -> Option<String> {
        if let Some(why) = self.refused_by_kernel() {
            return Some(why);
        }
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
        if self.is_memory_limited_by_kernel() {
            return None;
        }
        let most_mb = self.limits.memory_mb?;
        let most = most_mb.saturating_mul(MIB);
        // This sum is cheaper to read, and never too low: memory that processes share is counted once for each of them.
        let resident: u64 = all.iter().map(|pid| resident(*pid)).sum();
        // Files in memory are part of the machine's shared memory, which is cheaper to read than all open files.
        if resident.saturating_add(machine_memory("Shmem:")) <= most {
            return None;
        }
        let open = open_memory_files(&all);
        let folder = self.has_shared_memory.then(shared_memory_used);
        let files = open.values().sum::<u64>() + folder.unwrap_or(0);
        if resident.saturating_add(files) <= most {
            return None;
        }
        let counted = CountedFiles {
            inodes: open.keys().map(|(_, inode)| *inode).collect(),
            has_shared_memory: self.has_shared_memory,
        };
        let used: u64 = all
            .iter()
            .map(|pid| proportional(&counted, |name| proc_file(*pid, name)))
            .sum();
        (used + files > most).then(|| memory_exceeded(most_mb))
    }

    fn is_memory_limited_by_kernel(&self) -> bool {
        let has_limit = self.cgroup.as_ref().is_some_and(Cgroup::limits_memory);
        has_limit && !self.can_leave_cgroup
    }

    fn should_scan(&self) -> bool {
        let (tasks, available) = (tasks(), available());
        let more = tasks.saturating_sub(self.baseline.0);
        let less = self.baseline.1.saturating_sub(available);
        let processes = self.limits.processes.map(u64::from);
        let is_measured = !self.is_memory_limited_by_kernel();
        let memory = self.limits.memory_mb.filter(|_| is_measured);
        let memory = memory.map(|mb| mb.saturating_mul(MIB));
        self.last_scan.elapsed() >= FORCED_SCAN_INTERVAL
            || processes.is_some_and(|most| more >= most / SCAN_FRACTION)
            || memory.is_some_and(|most| less >= most / SCAN_FRACTION)
    }
}

fn memory_exceeded(most_mb: u64) -> String {
    format!(
        "the command used more than {most_mb} MiB of memory, the limit for one command (setting memory_max_mb)"
    )
}

/// Sets a kernel limit on processes against fork bombs, in addition to the limit of the monitor. Does nothing outside
/// of a user namespace that contains only the command: the kernel counts all threads of the user in the user namespace,
/// so the count would include other programs. The limit does not apply to root.
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

/// Returns the machine's number of tasks, including threads, from `/proc/loadavg` (345 in `0.10 0.20 0.30 2/345 678`);
/// 0 if unknown.
fn tasks() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let part = text.split_whitespace().nth(3).unwrap_or_default();
    part.split('/')
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(0)
}

/// Returns the machine's available memory in bytes; 0 if unknown.
fn available() -> u64 {
    machine_memory("MemAvailable:")
}

/// Returns the value of `name`, such as `MemAvailable:`, from `/proc/meminfo`, in bytes; 0 if it is missing.
fn machine_memory(name: &str) -> u64 {
    kilobytes(
        &fs::read_to_string("/proc/meminfo").unwrap_or_default(),
        name,
    )
}

/// The in-memory files whose sizes are counted separately. Their pages are not counted again in the processes that map
/// them.
struct CountedFiles {
    inodes: HashSet<u64>,
    has_shared_memory: bool,
}

impl CountedFiles {
    /// Returns whether `header`, the first line of a mapping in `/proc/PID/smaps`, names one of the files.
    fn contains(&self, header: &str) -> bool {
        let mut parts = header.split_whitespace().skip(4);
        let inode = parts.next().and_then(|inode| inode.parse().ok());
        let path = parts.next().unwrap_or_default();
        (path.starts_with(MEMORY_FILE) && inode.is_some_and(|n| self.inodes.contains(&n)))
            || (self.has_shared_memory && path.starts_with("/dev/shm/"))
    }
}

/// Returns the allocated sizes, in bytes, of the files that `memfd_create` has made and that the processes `all` have
/// open. The key is the device number and the inode number, so each file is contained once.
fn open_memory_files(all: &[Pid]) -> HashMap<(u64, u64), u64> {
    let folders = all
        .iter()
        .map(|pid| format!("/proc/{}/fd", pid.as_raw_nonzero()));
    let entries = folders.filter_map(|folder| fs::read_dir(folder).ok());
    let files = entries.flatten().flatten().filter_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?;
        if !target.to_str()?.starts_with(MEMORY_FILE) {
            return None;
        }
        let meta = fs::metadata(entry.path()).ok()?;
        Some(((meta.dev(), meta.ino()), meta.blocks() * BLOCK))
    });
    files.collect()
}

/// Returns the bytes that the files in the folder of shared memory use; 0 if the folder does not exist.
fn shared_memory_used() -> u64 {
    statvfs(mounts::SHARED_MEMORY).map_or(0, |fs| (fs.f_blocks - fs.f_bfree) * fs.f_frsize)
}

/// Returns the resident anonymous and shared memory of a process, in bytes; 0 if the process has ended. Shared pages
/// count fully for each process.
fn resident(pid: Pid) -> u64 {
    resident_in(&proc_file(pid, "status").unwrap_or_default())
}

fn resident_in(status: &str) -> u64 {
    kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:")
}

/// Like [`resident`], but shared pages are divided among the processes that share them, and pages of `counted` files
/// are left out. `read` returns a file of the process in `/proc`, or `None` if it cannot be read.
fn proportional(counted: &CountedFiles, read: impl Fn(&str) -> Option<String>) -> u64 {
    // Read before the total: if the process ends between the two, the total is 0. In the other order, the pages of
    // counted files would be counted twice.
    let mapped = if counted.inodes.is_empty() && !counted.has_shared_memory {
        0
    } else {
        mapped_bytes(&read("smaps").unwrap_or_default(), counted)
    };
    let all = match read("smaps_rollup") {
        Some(all) => kilobytes(&all, "Pss_Anon:") + kilobytes(&all, "Pss_Shmem:"),
        None => resident_in(&read("status").unwrap_or_default()),
    };
    all.saturating_sub(mapped)
}

/// Returns the text of a file of the process in `/proc`; `None` if the process has ended.
fn proc_file(pid: Pid, name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{}/{name}", pid.as_raw_nonzero())).ok()
}

/// Returns how many bytes of `counted` files are mapped according to `smaps`, the text of `/proc/PID/smaps`.
fn mapped_bytes(smaps: &str, counted: &CountedFiles) -> u64 {
    let mut is_counted = false;
    let mut sum = 0_u64;
    for line in smaps.lines() {
        // The lines of a mapping after the first one begin with a name and a colon.
        let name = line.split_whitespace().next().unwrap_or_default();
        if !name.ends_with(':') {
            is_counted = counted.contains(line);
        } else if is_counted && name == "Pss:" {
            sum += kilobytes(line, "Pss:");
        } else if is_counted && name == "Anonymous:" {
            // Pages that a process has changed in a private mapping belong to the process.
            sum = sum.saturating_sub(kilobytes(line, "Anonymous:"));
        }
    }
    sum
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

    #[test]
    fn mapped_pages_of_counted_files_are_summed() {
        let smaps = "\
7f00-7f01 rw-s 00000000 00:01 7 /memfd:a (deleted)
Size:   8 kB
Pss:    8 kB
Anonymous:    0 kB
7f01-7f02 rw-p 00000000 00:01 7 /memfd:a (deleted)
Pss:    4 kB
Anonymous:    4 kB
7f02-7f03 rw-s 00000000 00:01 9 /memfd:b (deleted)
Pss:    16 kB
7f03-7f04 rw-s 00000000 00:30 2 /dev/shm/x
Pss:    32 kB
7f04-7f05 rw-p 00000000 00:00 0
Pss:    64 kB
";
        let counted = |has_shared_memory| CountedFiles {
            inodes: [7].into(),
            has_shared_memory,
        };
        assert_eq!(mapped_bytes(smaps, &counted(false)), 8 * 1024);
        assert_eq!(mapped_bytes(smaps, &counted(true)), 40 * 1024);
    }

    #[test]
    fn process_that_ends_during_a_scan_is_not_counted_twice() {
        let counted = CountedFiles {
            inodes: [7].into(),
            has_shared_memory: false,
        };
        let smaps = "7f00-7f01 rw-s 00000000 00:01 7 /memfd:a (deleted)\nPss:    160 kB\n";
        let rollup = "Pss_Anon:    10 kB\nPss_Shmem:    160 kB\n";
        // The number of files that can be read before the process ends.
        for (readable, expected) in [(0, 0), (1, 0), (2, 10 * 1024)] {
            let reads = std::cell::Cell::new(0);
            let used = proportional(&counted, |name| {
                reads.set(reads.get() + 1);
                let text = match name {
                    "smaps" => smaps,
                    "smaps_rollup" => rollup,
                    _ => "RssAnon:    10 kB\nRssShmem:    160 kB\n",
                };
                (reads.get() <= readable).then(|| text.to_owned())
            });
            assert_eq!(used, expected, "{readable} readable files");
        }
    }
}
