//! Kills a process together with all its descendants (Linux only).

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Kills a process and all its descendants, as the end of a session or container does.
pub fn kill_tree(mut process: Child) {
    let id = i32::try_from(process.id()).unwrap();
    // Stopped, it cannot start more processes while the others are killed.
    signal(id, Signal::STOP);
    let mut all = Vec::new();
    descendants(id, &mut all);
    for id in &all {
        signal(*id, Signal::KILL);
    }
    process.kill().unwrap();
    process.wait().unwrap();
    // A git process holds the worktree lock until the kernel has ended it.
    let until = Instant::now() + Duration::from_secs(60);
    while all.iter().any(|id| is_alive(*id)) {
        assert!(Instant::now() < until, "a killed process does not end");
        std::thread::yield_now();
    }
}

/// Whether the process may still have open files, which a zombie does not.
fn is_alive(id: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    !state.is_empty() && !state.starts_with(['Z', 'X'])
}

/// Sends a signal to a process that may have ended.
pub fn signal(id: i32, signal: Signal) {
    if let Some(id) = Pid::from_raw(id) {
        let _ = kill_process(id, signal);
    }
}

fn descendants(id: i32, into: &mut Vec<i32>) {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"));
    for task in tasks.into_iter().flatten().flatten() {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|c| c.parse().ok()) {
            into.push(child);
            descendants(child, into);
        }
    }
}
