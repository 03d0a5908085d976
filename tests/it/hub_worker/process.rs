//! A crewdeck process whose command a test builds itself.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::common::process_tree::{kill_with_descendants, signal};
use crate::common::wait::wait_for;

/// A running crewdeck, whose messages go to a file. Killed when it is dropped.
pub struct LoggedProcess {
    process: Child,
    log: PathBuf,
}

impl LoggedProcess {
    pub fn start(mut command: Command, log: PathBuf) -> LoggedProcess {
        let process = command
            .stdout(Stdio::null())
            .stderr(File::create(&log).unwrap())
            .spawn()
            .unwrap();
        LoggedProcess { process, log }
    }

    fn id(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until a worker has joined, and returns the name of its host.
    pub fn host_name(&self) -> String {
        wait_for("the worker does not join", || {
            let log = self.log();
            let (_, rest) = log.split_once("crewdeck: worker ")?;
            let (name, _) = rest.split_once(" runs ")?;
            Some(name.to_string())
        })
    }

    /// Ends the process with SIGTERM, and returns its exit code; -1 after a signal.
    pub fn terminate(mut self) -> i32 {
        signal(self.id(), Signal::TERM);
        let status = wait_for("the process does not end", || {
            self.process.try_wait().unwrap()
        });
        status.code().unwrap_or(-1)
    }
}

impl Drop for LoggedProcess {
    fn drop(&mut self) {
        kill_with_descendants(&mut self.process);
        if std::thread::panicking() {
            eprintln!("--- {}\n{}", self.log.display(), self.log());
        }
    }
}
