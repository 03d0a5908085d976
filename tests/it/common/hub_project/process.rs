//! A crewdeck process of a host.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::Signal;
use serde_json::Value;

use super::POLL;
use crate::common::process_tree::{kill_with_descendants, signal};
use crate::common::wait::{wait_for, wait_until};

/// Number of lines of a process's log that a failed test shows.
const LOG_LINES: usize = 15;

/// A running crewdeck, whose output goes to files. Killed when it is dropped.
pub struct HubProcess {
    name: String,
    process: Child,
    out: PathBuf,
    log: PathBuf,
}

static STARTED: AtomicUsize = AtomicUsize::new(0);

impl HubProcess {
    pub(super) fn start(folder: &Path, name: &str, mut command: Command) -> HubProcess {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let out = folder.join(format!("{name}-{number}.out"));
        let log = folder.join(format!("{name}-{number}.log"));
        let process = command
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        HubProcess {
            name: name.into(),
            process,
            out,
            log,
        }
    }

    fn id(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    pub fn terminate(&self) {
        signal(self.id(), Signal::TERM);
    }

    /// Kills the process with SIGKILL, as in a crash, and waits for its end. The commands of its agents end by themselves.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Waits until the process ends by itself, and returns its exit code; -1 after a signal.
    pub fn wait(&mut self) -> i32 {
        let what = format!("{} does not end", self.name);
        let status = wait_for(&what, || self.process.try_wait().unwrap());
        status.code().unwrap_or(-1)
    }

    /// Returns what the process has written to standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub fn wait_for_log(&self, text: &str) {
        let what = format!("{} does not print {text:?}", self.name);
        wait_until(&what, || self.log().contains(text));
    }

    /// Returns the events that `crewdeck run --json` has printed.
    pub fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.out).unwrap_or_default();
        // The last line may be incomplete.
        let events = text.lines().map(serde_json::from_str);
        events.filter_map(Result::ok).collect()
    }

    /// Waits for an event, and returns it.
    pub fn wait_for_event(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        wait_for(&format!("{}: no event {what}", self.name), || {
            std::thread::sleep(POLL);
            self.events().into_iter().find(&is_so)
        })
    }
}

impl Drop for HubProcess {
    fn drop(&mut self) {
        kill_with_descendants(&mut self.process);
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let end = &lines[lines.len().saturating_sub(LOG_LINES)..];
            eprintln!("--- {}\n{}", self.name, end.join("\n"));
        }
    }
}
