//! Finds processes by their environment, and kills a process together with all its descendants (Linux only).

use std::process::Child;

use super::wait::wait_until;
use rustix::process::{Pid, Signal, kill_process};

/// Kills a process and all its descendants, as the end of a session or container does.
pub fn kill_tree(mut process: Child) {
    let id = i32::try_from(process.id()).unwrap();
    // Stopped, it neither starts more processes nor sees the end of the others while they are killed.
    signal(id, Signal::STOP);
    wait_until("a process does not stop", || is_stopped(id));
    let all = kill_descendants(id);
    process.kill().unwrap();
    process.wait().unwrap();
    wait_for_end(&all);
}

/// Kills the descendants of a process, but not the process itself.
pub fn kill_children(process: &Child) {
    wait_for_end(&kill_descendants(i32::try_from(process.id()).unwrap()));
}

fn kill_descendants(id: i32) -> Vec<i32> {
    let mut all = Vec::new();
    descendants(id, &mut all);
    for id in &all {
        signal(*id, Signal::KILL);
    }
    all
}

/// Waits until the processes have ended. A killed git process holds the lock of its worktree until then.
fn wait_for_end(all: &[i32]) {
    wait_until("a killed process does not end", || {
        !all.iter().any(|id| is_alive(*id))
    });
}

/// Returns whether each thread of a process is stopped or has ended.
fn is_stopped(id: i32) -> bool {
    thread_states(id).all(|state| "TtZX".contains(state))
}

/// Returns whether the process can still have open files: one of its threads has not ended. The first thread can be a
/// zombie while another is still ending.
pub fn is_alive(id: i32) -> bool {
    thread_states(id).any(|state| !"ZX".contains(state))
}

/// Returns the states of the threads of a process; none if it does not exist.
fn thread_states(id: i32) -> impl Iterator<Item = char> {
    let tasks = std::fs::read_dir(format!("/proc/{id}/task"));
    tasks.into_iter().flatten().flatten().filter_map(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    })
}

/// Sends a signal. Does nothing if the process has already ended.
pub fn signal(id: i32, signal: Signal) {
    if let Some(id) = Pid::from_raw(id) {
        let _ = kill_process(id, signal);
    }
}

/// Returns the ids of the processes that a process has started, and of those that they have started.
pub fn descendants_of(id: i32) -> Vec<i32> {
    let mut all = Vec::new();
    descendants(id, &mut all);
    all
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

/// A process that was found by its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundProcess {
    pub id: i32,
    /// The program and its arguments.
    pub words: Vec<String>,
}

impl FoundProcess {
    /// Returns whether `word` is one of the arguments, or the end of one.
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w.ends_with(word))
    }
}

/// Returns the processes that have `variable` with `value` in the environment with which they were started.
pub fn find_by_variable(variable: &str, value: &str) -> Vec<FoundProcess> {
    let setting = format!("{variable}={value}");
    let read = |id: i32, file: &str| {
        let bytes = std::fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
        let words = bytes.split(|b| *b == 0).map(String::from_utf8_lossy);
        words.map(String::from).collect::<Vec<_>>()
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| read(*id, "environ").contains(&setting))
        .map(|id| FoundProcess {
            id,
            words: read(id, "cmdline"),
        })
        .collect()
}

/// Kills a process that still runs, and all that it has started.
pub fn kill_with_descendants(process: &mut Child) {
    if matches!(process.try_wait(), Ok(None)) {
        let started = descendants_of(i32::try_from(process.id()).unwrap());
        let _ = process.kill();
        let _ = process.wait();
        for id in started {
            signal(id, Signal::KILL);
        }
    }
}
