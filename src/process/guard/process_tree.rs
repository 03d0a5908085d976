//! All that a process has started, and what those have started: found, signalled, and waited for.

use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process};

/// How often it is looked whether they have ended.
const LOOK: Duration = Duration::from_millis(2);
/// Most time that is spent on processes that do not end by SIGKILL: they hang in the kernel, or are another
/// user's.
const GIVE_UP: Duration = Duration::from_secs(5);

/// The same for a bomb, which has others compete for the processor.
const BOMB_GIVE_UP: Duration = Duration::from_secs(60);

/// Whether children are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    /// Some live.
    Some,
    /// There are none, and so there are no descendants: those without a parent become children.
    None,
}

/// Collects children that have ended; `heard` is told of each.
pub fn reap(heard: &mut impl FnMut(Pid, WaitStatus)) -> Children {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => heard(pid, status),
            Ok(None) => return Children::Some,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Children::None,
        }
    }
}

/// Waits until there are no descendants, at most so long.
pub fn wait(within: Duration, heard: &mut impl FnMut(Pid, WaitStatus)) -> Children {
    let until = Instant::now() + within;
    loop {
        if reap(heard) == Children::None {
            return Children::None;
        }
        if Instant::now() >= until {
            return Children::Some;
        }
        thread::sleep(LOOK);
    }
}

/// Ends all descendants: asks them, waits for `grace`, and kills what is left.
pub fn end(grace: Duration, heard: &mut impl FnMut(Pid, WaitStatus)) {
    for pid in descendants() {
        // It fails only for one that has ended, and that is the wish.
        let _ = kill_process(pid, Signal::TERM);
        // One that is stopped would never hear of it.
        let _ = kill_process(pid, Signal::CONT);
    }
    if wait(grace, heard) == Children::None {
        return;
    }
    // Again and again: they may start others while they are killed.
    let until = Instant::now() + GIVE_UP;
    while Instant::now() < until {
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
        }
        if wait(LOOK, heard) == Children::None {
            return;
        }
    }
}

/// Ends all descendants of a program that starts ever more of them: no grace, and no pause in which they could.
pub fn end_at_once(program: Pid, heard: &mut impl FnMut(Pid, WaitStatus)) {
    // Only the superuser may; others have a limit in the kernel.
    let _ = rustix::process::setpriority_process(None, -20);
    // At once for the whole group: none of it can start another in between.
    let _ = rustix::process::kill_process_group(program, Signal::KILL);
    let until = Instant::now() + BOMB_GIVE_UP;
    while Instant::now() < until {
        for pid in descendants() {
            let _ = kill_process(pid, Signal::KILL);
        }
        if reap(heard) == Children::None {
            return;
        }
    }
}

/// All descendants of this process, parents before their children.
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

/// Every process with its parent.
fn all() -> impl Iterator<Item = (i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        Some((pid, parent_in(&stat)?))
    })
}

/// The parent in a line of `/proc/PID/stat`. The program's name stands in brackets and may hold some itself.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Kills every process whose environment holds `entry`: what is left when a guard is gone.
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
    fn a_parent_is_read_behind_whatever_name() {
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
