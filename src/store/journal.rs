//! A session's journal: every event but deltas, one JSON value a line.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{StoreError, plain};

/// Most bytes of a journal that are read back; of a longer one, the end.
pub const READ_MAX: u64 = 16 * 1024 * 1024;

/// A session's journal: `.crewdeck/sessions/ID/journal.jsonl`.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// A line could not be written, or not all of it.
    has_failed: bool,
}

impl Journal {
    /// Opens the journal of `session`.
    ///
    /// # Errors
    /// When its folder can not be made.
    pub fn open(root: &Path, session: &str) -> Result<Journal, StoreError> {
        let path = path(root, session);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(StoreError::at(dir))?;
        }
        let options = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .clone();
        let mut file = plain::open_as(&options, &path).map_err(StoreError::at(&path))?;
        if is_torn(&mut file) {
            // A line that was cut off by a crash ends here, so that the next one is whole.
            file.write_all(b"\n").map_err(StoreError::at(&path))?;
        }
        Ok(Journal {
            path,
            file,
            has_failed: false,
        })
    }

    /// Adds a line. Not synced: it is a record, nothing depends on it.
    ///
    /// # Errors
    /// When it can not be written. A part of the line may stand there then; the next one is whole all the same.
    pub fn append(&mut self, line: &str) -> Result<(), StoreError> {
        let start = if self.has_failed && is_torn(&mut self.file) {
            "\n"
        } else {
            ""
        };
        let written = self.file.write_all(format!("{start}{line}\n").as_bytes());
        self.has_failed = written.is_err();
        written.map_err(StoreError::at(&self.path))
    }

    /// The lines of the journal of `session`: at most its last 16 MiB, whole lines only. One
    /// that was never written has none.
    ///
    /// # Errors
    /// When it can not be read.
    pub fn read(root: &Path, session: &str) -> Result<Vec<String>, StoreError> {
        let path = path(root, session);
        let mut file = match plain::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::at(&path)(error)),
        };
        let at = || StoreError::at(&path);
        let size = file.metadata().map_err(at())?.len();
        let from = size.saturating_sub(READ_MAX);
        file.seek(SeekFrom::Start(from)).map_err(at())?;
        let mut bytes = Vec::new();
        file.take(READ_MAX).read_to_end(&mut bytes).map_err(at())?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = |line: &&str| line.ends_with('\n');
        let lines = text.split_inclusive('\n').skip(usize::from(from > 0));
        Ok(lines
            .filter(whole)
            .map(|l| l.trim_end().to_string())
            .collect())
    }
}

fn is_torn(file: &mut File) -> bool {
    let mut last = [b'\n'];
    let found = file
        .seek(SeekFrom::End(-1))
        .and_then(|_| file.read(&mut last));
    found.is_ok() && last != [b'\n']
}

fn path(root: &Path, session: &str) -> PathBuf {
    root.join(".crewdeck")
        .join("sessions")
        .join(session)
        .join("journal.jsonl")
}
