//! The crew lock, which allows at most one crew per directory. The kernel releases the lock when the process ends, even
//! after a crash.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::resume;
use crate::commands::CrewStatus;
use crate::store::{os_errors, regular_file};

/// Maximum time to wait for a crew lock whose holder has ended. A child process that the holder was starting may still
/// hold the lock for a moment.
const DEAD_HOLDS_MAX: Duration = Duration::from_secs(2);
/// The interval between attempts to take a crew lock whose holder has ended.
const AGAIN: Duration = Duration::from_millis(10);
/// Maximum number of bytes to read from the lock file.
const READ_MAX: u64 = 256;

/// The crew lock, held by this process. Dropping it releases the lock.
#[derive(Debug)]
pub struct CrewLock {
    _file: File,
}

/// The process that holds the crew lock, as written in the lock file. Just after the lock has passed to another
/// process, the file may still name the previous one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// The process id; `None` if the lock file does not contain it yet.
    pub process: Option<u32>,
    /// The session id; `None` if the lock file does not contain it yet or is from an older version.
    pub session: Option<String>,
}

impl Holder {
    /// Returns ` (process 4711)`, or an empty string if the process is unknown.
    pub fn format_process(&self) -> String {
        self.process
            .map_or_else(String::new, |n| format!(" (process {n})"))
    }
}

#[derive(Debug)]
pub enum LockAttempt {
    /// This process now holds the lock, until the value is dropped.
    Acquired(CrewLock),
    Held(Holder),
}

/// Takes the crew lock of `root` for `session` if the lock is free, else returns [`LockAttempt::Held`]. If the holder
/// has ended, waits up to two seconds: a child process that the holder was starting may still hold the lock for a
/// moment.
///
/// # Errors
/// Fails if the lock file cannot be opened, locked or written.
pub fn take(root: &Path, session: &str) -> Result<LockAttempt> {
    let (mut file, path) = open(root)?;
    let until = Instant::now() + DEAD_HOLDS_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => {
                sign(&mut file, session)?;
                return Ok(LockAttempt::Acquired(CrewLock { _file: file }));
            }
            Err(TryLockError::WouldBlock) => {
                let holder = read(&mut file);
                if holder.process.is_some_and(is_dead) && Instant::now() < until {
                    std::thread::sleep(AGAIN);
                    continue;
                }
                return Ok(LockAttempt::Held(holder));
            }
            Err(TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("{} cannot be locked", path.display()));
            }
        }
    }
}

/// Takes the crew lock of `root` for a subcommand, or returns the process that runs a crew. Waits as [`take`] does.
///
/// # Errors
/// Fails as [`take`] does.
pub fn status(root: &Path) -> Result<CrewStatus> {
    Ok(match take(root, "")? {
        LockAttempt::Acquired(lock) => CrewStatus::Stopped(Box::new(lock)),
        LockAttempt::Held(holder) => CrewStatus::Running(holder.format_process()),
    })
}

/// Returns whether no process with this id exists.
fn is_dead(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Returns the process that the lock file names, whether or not it still holds the lock. If the file cannot be read,
/// the result names no process and no session.
pub fn holder(root: &Path) -> Holder {
    regular_file::open(&path(root)).map_or_else(|_| Holder::default(), |mut file| read(&mut file))
}

/// Returns the process that runs a crew in `root`. Returns `None` if there is no crew, or if the lock file cannot be
/// read. Creates no file and holds the lock only during the check.
pub fn find_holder(root: &Path) -> Option<Holder> {
    let mut file = regular_file::open(&path(root)).ok()?;
    match file.try_lock_shared() {
        Ok(()) | Err(TryLockError::Error(_)) => None,
        Err(TryLockError::WouldBlock) => Some(read(&mut file)),
    }
}

/// The crew lock, acquired by [`wait`]. The lock file does not name this process until [`FreedLock::take`] is called.
/// Dropping the value releases the lock, so that another waiting process can acquire it.
#[derive(Debug)]
pub struct FreedLock {
    file: File,
    /// The process that held the lock before this one.
    pub before: Holder,
}

/// Blocks the thread until this process has acquired the crew lock of `root`, without a time limit.
///
/// # Errors
/// Fails if the lock file cannot be opened or locked.
pub fn wait(root: &Path) -> Result<FreedLock> {
    loop {
        let (mut file, path) = open(root)?;
        match file.lock() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be locked", path.display()));
            }
        }
        // The lock belongs to the opened file, not to its path. Check that the path still leads to this file, because
        // the folder may have been recreated.
        let named = std::fs::metadata(&path).map(|meta| meta.ino());
        if matches!((named, file.metadata()), (Ok(inode), Ok(meta)) if inode == meta.ino()) {
            let before = read(&mut file);
            return Ok(FreedLock { file, before });
        }
    }
}

impl FreedLock {
    /// Writes this process and `session` into the lock file, and returns the lock as held by this process.
    ///
    /// # Errors
    /// Fails if the lock file cannot be written.
    pub fn take(mut self, session: &str) -> Result<CrewLock> {
        sign(&mut self.file, session)?;
        Ok(CrewLock { _file: self.file })
    }
}

fn path(root: &Path) -> PathBuf {
    root.join(".crewdeck").join(".lock")
}

fn open(root: &Path) -> Result<(File, PathBuf)> {
    let path = path(root);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = regular_file::open_with(&options, &path).map_err(|e| {
        anyhow!(
            "{} cannot be opened: {}",
            path.display(),
            os_errors::explain(&e)
        )
    })?;
    Ok((file, path))
}

/// Writes this process and `session` into the lock file. Overwrites the old line before cutting off the rest of it, so
/// that a concurrent reader sees either the old or the new holder.
fn sign(file: &mut File, session: &str) -> Result<()> {
    let line = format!("{} {session}\n", std::process::id());
    file.seek(SeekFrom::Start(0))?;
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)?;
    Ok(())
}

fn read(file: &mut File) -> Holder {
    let mut text = String::new();
    // If the file cannot be read, the result has no process and no session.
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.take(READ_MAX).read_to_string(&mut text);
    parse(&text)
}

/// Parses the content of the lock file, `PROCESS SESSION`. Older versions wrote only the process.
fn parse(text: &str) -> Holder {
    let mut words = text.lines().next().unwrap_or_default().split_whitespace();
    Holder {
        process: words.next().and_then(|word| word.parse().ok()),
        // The session becomes part of a path, so only a valid session id is accepted.
        session: words
            .next()
            .filter(|word| resume::is_id(word))
            .map(String::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const SESSION: &str = "0190abcd";

    fn project() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(".crewdeck")).unwrap();
        dir
    }

    fn me(session: &str) -> Holder {
        Holder {
            process: Some(std::process::id()),
            session: Some(session.into()),
        }
    }

    #[test]
    fn second_crew_learns_the_holder() {
        let dir = project();
        let LockAttempt::Acquired(first) = take(dir.path(), SESSION).unwrap() else {
            panic!("it is free");
        };
        assert_eq!(holder(dir.path()), me(SESSION));
        assert_eq!(find_holder(dir.path()), Some(me(SESSION)));
        let LockAttempt::Held(other) = take(dir.path(), "0190ffff").unwrap() else {
            panic!("it is taken");
        };
        assert_eq!(other, me(SESSION));
        drop(first);
        // A process that another test is just starting holds a copy of the lock until it execs.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while find_holder(dir.path()).is_some() && std::time::Instant::now() < until {
            std::thread::sleep(AGAIN);
        }
        assert_eq!(find_holder(dir.path()), None);
        let LockAttempt::Acquired(_second) = take(dir.path(), "0190").unwrap() else {
            panic!("it is free again");
        };
        assert_eq!(holder(dir.path()), me("0190"));
    }

    #[test]
    fn lock_held_by_a_child_of_a_dead_crew_is_awaited() {
        let dir = project();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let path = path(dir.path());
        std::fs::write(&path, format!("{} {SESSION}", gone.id())).unwrap();
        let held = File::open(&path).unwrap();
        held.lock().unwrap();
        let start = std::thread::spawn(move || {
            std::thread::sleep(AGAIN * 3);
            drop(held);
        });
        assert!(matches!(
            take(dir.path(), "0191").unwrap(),
            LockAttempt::Acquired(_)
        ));
        start.join().unwrap();
    }

    #[test]
    fn one_of_two_waiters_gets_the_lock_and_its_previous_holder() {
        let dir = project();
        let LockAttempt::Acquired(first) = take(dir.path(), SESSION).unwrap() else {
            panic!("it is free");
        };
        let (sender, receiver) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let (sender, root) = (sender.clone(), dir.path().to_path_buf());
            std::thread::spawn(move || sender.send(wait(&root).unwrap()).unwrap_or_default());
        }
        drop(first);
        let freed = receiver.recv().unwrap();
        assert_eq!(freed.before, me(SESSION));
        let lock = freed.take("0191").unwrap();
        assert!(receiver.try_recv().is_err(), "two hold one lock");
        drop(lock);
        assert_eq!(receiver.recv().unwrap().before, me("0191"));
    }

    #[test]
    fn old_and_invalid_lock_files_are_parsed_leniently() {
        let holder = |process, session: Option<&str>| Holder {
            process,
            session: session.map(String::from),
        };
        for (text, expected) in [
            ("", holder(None, None)),
            ("4711", holder(Some(4711), None)),
            ("4711 0190abcd\n", holder(Some(4711), Some("0190abcd"))),
            (
                "4711 0190abcd\n9 rest",
                holder(Some(4711), Some("0190abcd")),
            ),
            ("4711 ../../etc\n", holder(Some(4711), None)),
            ("x y", holder(None, None)),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
