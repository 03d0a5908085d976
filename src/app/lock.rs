//! One crew a directory: a lock that the kernel frees when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use crate::store::{plain, words};

/// Held as long as the crew runs.
#[derive(Debug)]
pub struct CrewLock {
    _file: File,
}

/// Takes the lock of `root`.
///
/// # Errors
/// When another crew runs there; its process id is named.
pub fn take(root: &Path) -> Result<CrewLock> {
    let path = root.join(".crewdeck").join(".lock");
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = plain::open_as(&options, &path)
        .map_err(|e| anyhow!("{} can not be opened: {}", path.display(), words::why(&e)))?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            write!(file, "{}", std::process::id())?;
            Ok(CrewLock { _file: file })
        }
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            file.read_to_string(&mut pid)?;
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
            Err(e).with_context(|| format!("{} can not be locked", path.display()))
        }
    }
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
}
