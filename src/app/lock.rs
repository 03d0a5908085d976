//! One crew a directory: a lock that the kernel frees when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::resume;
use crate::store::{plain, words};

/// How long the lock of a dead crew is waited for.
const DEAD_HOLDS_MAX: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const AGAIN: Duration = Duration::from_millis(10);
/// Most bytes of the lock file that are read.
const READ_MAX: u64 = 256;

/// Held as long as the crew runs.
#[derive(Debug)]
pub struct CrewLock {
    _file: File,
}

/// Who holds the lock, as the file says. A lock that was just taken may still name the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Holder {
    /// Its process id; `None`: it has not said yet.
    pub process: Option<u32>,
    /// Its session; `None`: it has not said, as older versions never do.
    pub session: Option<String>,
}

impl Holder {
    /// ` (process 4711)`, or nothing.
    pub fn shown(&self) -> String {
        self.process
            .map_or_else(String::new, |n| format!(" (process {n})"))
    }
}

/// Whose the lock is.
#[derive(Debug)]
pub enum Taken {
    /// Ours now.
    Mine(CrewLock),
    /// A crew runs here already.
    Theirs(Holder),
}

/// Takes the lock of `root` for `session` if it is free. Where the crew that is named in it is dead, a program that it
/// was just starting may hold it for a moment more: that is waited for.
///
/// # Errors
/// When the lock file can not be used.
pub fn take(root: &Path, session: &str) -> Result<Taken> {
    let (mut file, path) = open(root)?;
    let until = Instant::now() + DEAD_HOLDS_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => {
                sign(&mut file, session)?;
                return Ok(Taken::Mine(CrewLock { _file: file }));
            }
            Err(TryLockError::WouldBlock) => {
                let holder = read(&mut file);
                if holder.process.is_some_and(is_dead) && Instant::now() < until {
                    std::thread::sleep(AGAIN);
                    continue;
                }
                return Ok(Taken::Theirs(holder));
            }
            Err(TryLockError::Error(e)) => {
                return Err(e).with_context(|| format!("{} can not be locked", path.display()));
            }
        }
    }
}

/// Whether no process of that id runs.
fn is_dead(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// Who wrote its name into the lock file last.
pub fn holder(root: &Path) -> Holder {
    plain::open(&path(root)).map_or_else(|_| Holder::default(), |mut file| read(&mut file))
}

/// Who runs a crew in `root`; `None`: nobody, or the lock file can not be used. Leaves no trace, and takes the lock for
/// no longer than it takes to see.
pub fn running(root: &Path) -> Option<Holder> {
    let mut file = plain::open(&path(root)).ok()?;
    match file.try_lock_shared() {
        Ok(()) | Err(TryLockError::Error(_)) => None,
        Err(TryLockError::WouldBlock) => Some(read(&mut file)),
    }
}

/// The lock, got after a wait and not signed yet: dropped, it goes to the next one who waits.
#[derive(Debug)]
pub struct Freed {
    file: File,
    /// Who had it before.
    pub before: Holder,
}

/// Waits until the lock of `root` is free, for as long as that takes. Blocks its thread.
///
/// # Errors
/// When the lock file can not be used.
pub fn wait(root: &Path) -> Result<Freed> {
    loop {
        let (mut file, path) = open(root)?;
        match file.lock() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("{} can not be locked", path.display()));
            }
        }
        // A lock belongs to the file and not to its name: somebody may have made the folder anew.
        let named = std::fs::metadata(&path).map(|meta| meta.ino());
        if matches!((named, file.metadata()), (Ok(inode), Ok(meta)) if inode == meta.ino()) {
            let before = read(&mut file);
            return Ok(Freed { file, before });
        }
    }
}

impl Freed {
    /// Takes the lock for `session`.
    ///
    /// # Errors
    /// When the lock file can not be written.
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
    let file = plain::open_as(&options, &path)
        .map_err(|e| anyhow!("{} can not be opened: {}", path.display(), words::why(&e)))?;
    Ok((file, path))
}

/// Says who holds the lock. The line is written before what may lie behind it is cut: whoever reads meanwhile
/// sees one line or the other.
fn sign(file: &mut File, session: &str) -> Result<()> {
    let line = format!("{} {session}\n", std::process::id());
    file.seek(SeekFrom::Start(0))?;
    file.write_all(line.as_bytes())?;
    file.set_len(line.len() as u64)?;
    Ok(())
}

fn read(file: &mut File) -> Holder {
    let mut text = String::new();
    // What can not be read names nobody.
    let _ = file.seek(SeekFrom::Start(0));
    let _ = file.take(READ_MAX).read_to_string(&mut text);
    parse(&text)
}

/// `PROCESS SESSION`; older versions wrote the process alone.
fn parse(text: &str) -> Holder {
    let mut words = text.lines().next().unwrap_or_default().split_whitespace();
    Holder {
        process: words.next().and_then(|word| word.parse().ok()),
        // It becomes part of a path.
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

    fn place() -> tempfile::TempDir {
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
    fn a_second_crew_is_told_who_is_there() {
        let dir = place();
        let Taken::Mine(first) = take(dir.path(), SESSION).unwrap() else {
            panic!("it is free");
        };
        assert_eq!(holder(dir.path()), me(SESSION));
        assert_eq!(running(dir.path()), Some(me(SESSION)));
        let Taken::Theirs(there) = take(dir.path(), "0190ffff").unwrap() else {
            panic!("it is taken");
        };
        assert_eq!(there, me(SESSION));
        drop(first);
        // A program that another test starts right now holds a copy of the lock until it runs.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while running(dir.path()).is_some() && std::time::Instant::now() < until {
            std::thread::sleep(AGAIN);
        }
        assert_eq!(running(dir.path()), None);
        let Taken::Mine(_second) = take(dir.path(), "0190").unwrap() else {
            panic!("it is free again");
        };
        assert_eq!(holder(dir.path()), me("0190"));
    }

    #[test]
    fn what_a_dead_crew_was_just_starting_is_waited_for() {
        let dir = place();
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
        assert!(matches!(take(dir.path(), "0191").unwrap(), Taken::Mine(_)));
        start.join().unwrap();
    }

    #[test]
    fn of_two_who_wait_one_gets_it_and_hears_who_had_it() {
        let dir = place();
        let Taken::Mine(first) = take(dir.path(), SESSION).unwrap() else {
            panic!("it is free");
        };
        let (tell, told) = std::sync::mpsc::channel();
        for _ in 0..2 {
            let (tell, root) = (tell.clone(), dir.path().to_path_buf());
            std::thread::spawn(move || tell.send(wait(&root).unwrap()).unwrap_or_default());
        }
        drop(first);
        let freed = told.recv().unwrap();
        assert_eq!(freed.before, me(SESSION));
        let lock = freed.take("0191").unwrap();
        assert!(told.try_recv().is_err(), "two hold one lock");
        drop(lock);
        assert_eq!(told.recv().unwrap().before, me("0191"));
    }

    #[test]
    fn older_and_odd_files_name_what_they_can() {
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
