//! One crew a directory: a lock that the kernel frees when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// How long the lock of a dead crew is waited for.
const DEAD_HOLDS_MAX: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const AGAIN: Duration = Duration::from_millis(10);

/// Held as long as the crew runs.
#[derive(Debug)]
pub struct CrewLock {
    _file: File,
}

/// Takes the lock of `root`. Where the crew that is named in it is dead, a program that it was just starting may hold
/// it for a moment more: that is waited for.
///
/// # Errors
/// When another crew runs there; its process id is named.
pub fn take(root: &Path) -> Result<CrewLock> {
    let path = root.join(".crewdeck").join(".lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .with_context(|| format!("{} can not be opened", path.display()))?;
    let until = Instant::now() + DEAD_HOLDS_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0)?;
                file.rewind()?;
                write!(file, "{}", std::process::id())?;
                return Ok(CrewLock { _file: file });
            }
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                file.rewind()?;
                file.read_to_string(&mut pid)?;
                if is_dead(pid.trim()) && Instant::now() < until {
                    std::thread::sleep(AGAIN);
                    continue;
                }
                // It may just have taken the lock and not have said who it is.
                let who = match pid.trim() {
                    "" => String::new(),
                    pid => format!(" (process {pid})"),
                };
                bail!(
                    "a crew already runs in {}{who}: use that one, or name another directory with --dir",
                    root.display()
                )
            }
            Err(TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("{} can not be locked", path.display()));
            }
        }
    }
}

/// Whether no process of that id runs.
fn is_dead(pid: &str) -> bool {
    let pid = pid.parse().ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_crew_is_told_who_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        let first = take(dir.path()).unwrap();
        let error = take(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("process {}", std::process::id())),
            "{error}"
        );
        drop(first);
        take(dir.path()).unwrap();
    }

    #[test]
    fn what_a_dead_crew_was_just_starting_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let path = dir.path().join(".crewdeck").join(".lock");
        std::fs::write(&path, gone.id().to_string()).unwrap();
        let held = File::open(&path).unwrap();
        held.lock().unwrap();
        let start = std::thread::spawn(move || {
            std::thread::sleep(AGAIN * 3);
            drop(held);
        });
        take(dir.path()).unwrap();
        start.join().unwrap();
    }
}
