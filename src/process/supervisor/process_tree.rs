//! Finds, signals and waits for all descendants of this process.

use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process};

/// Interval between two checks for exited children while waiting for them.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Maximum time for which SIGKILL is repeated. Some processes do not end by then, because they hang in the kernel or
/// belong to another user.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Like [`KILL_TIMEOUT`], but for a fork bomb, whose processes compete for the CPU.
const BOMB_KILL_TIMEOUT: Duration = Duration::from_secs(60);

/// Reaps exited children and calls `on_exit` for each. Returns whether children are left. If not, there are no other
/// descendants either: this process is a subreaper, so orphaned descendants become its children.
pub fn reap(on_exit: &mut impl FnMut(Pid, WaitStatus)) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => on_exit(pid, status),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Waits until this process has no descendants, or until `within` has passed. Returns whether descendants are left.
pub fn wait(within: Duration, on_exit: &mut impl FnMut(Pid, WaitStatus)) -> bool {
    let until = Instant::now() + within;
    loop {
        if !reap(on_exit) {
            return false;
        }
        if Instant::now() >= until {
            return true;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Ends all descendants: sends SIGTERM, waits up to `grace`, then sends SIGKILL to those that remain. Gives up after
/// [`KILL_TIMEOUT`], so that descendants may be left.
pub fn terminate(grace: Duration, on_exit: &mut impl FnMut(Pid, WaitStatus)) {
    for pid in descendants() {
        // Fails only if the process has already exited.
        let _ = kill_process(pid, Signal::TERM);
        // A stopped process handles SIGTERM only once it continues.
        let _ = kill_process(pid, Signal::CONT);
    }
    if !wait(grace, on_exit) {
        return;
    }
    // Repeated, because descendants may start others while they are being killed.
    let until = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < until {
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
        }
        if !wait(POLL_INTERVAL, on_exit) {
            return;
        }
    }
}

/// Kills all descendants of this process when the command has exceeded a limit, as a fork bomb does. `program` is the
/// leader of the command's process group. Gives the processes no grace period and makes no pause, so that a bomb cannot
/// start more processes. Gives up after [`BOMB_KILL_TIMEOUT`], so that descendants may be left.
pub fn kill_all_now(program: Pid, on_exit: &mut impl FnMut(Pid, WaitStatus)) {
    // Raises the priority of this process above that of the bomb. Works only for root; for other users, the kernel
    // limits the number of processes.
    let _ = rustix::process::setpriority_process(None, -20);
    // Kills the whole group in one step, so that no member can start another process in between.
    let _ = rustix::process::kill_process_group(program, Signal::KILL);
    let until = Instant::now() + BOMB_KILL_TIMEOUT;
    while Instant::now() < until {
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
        }
        if !reap(on_exit) {
            return;
        }
    }
}

/// Returns all descendants of this process, parents before their children.
pub fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, parent) in all() {
        children.entry(parent).or_default().push(pid);
    }
    let mut out = children
        .remove(&getpid().as_raw_nonzero().get())
        .unwrap_or_default();
    let mut at = 0;
    while let Some(pid) = out.get(at) {
        out.extend(children.remove(pid).unwrap_or_default());
        at += 1;
    }
    out.into_iter().filter_map(Pid::from_raw).collect()
}

/// Iterates over all visible processes as (process id, parent process id).
fn all() -> impl Iterator<Item = (i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
}

/// Returns the parent process id in a line of `/proc/PID/stat`; `None` if the line is invalid. The program name in the
/// line is in parentheses and may itself contain parentheses.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Kills every process whose environment contains `entry`, in the form `NAME=VALUE`. Used for the processes of a
/// command whose supervisor was killed.
pub fn kill_marked(entry: &str) {
    for (pid, _) in all() {
        let is_marked = fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|env| env.split(|b| *b == 0).any(|e| e == entry.as_bytes()));
        if let Some(pid) = Pid::from_raw(pid).filter(|_| is_marked) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn parent_is_parsed_after_any_program_name() {
        for (stat, parent) in [
            ("12 (sh) S 7 12 12 0", Some(7)),
            ("12 (a) R (b) 3 (c)) S 9 1", Some(9)),
            ("12 (sh", None),
            ("", None),
            ("12 (sh) S", None),
        ] {
            assert_eq!(parent_in(stat), parent, "{stat}");
        }
    }

    #[test]
    fn this_process_is_a_child_of_its_parent() {
        let me = getpid().as_raw_nonzero().get();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        if cfg!(target_os = "linux") {
            assert!(all().any(|pair| pair == (me, parent)));
        }
    }
}
