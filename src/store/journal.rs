//! The journal of a session: all events except the parts of streamed responses, one JSON value per line.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{StoreError, regular_file};

/// Maximum number of bytes of one read of a journal. The first read of a longer journal starts this far before its end.
pub const READ_MAX: u64 = 16 * 1024 * 1024;

/// Maximum number of bytes that [`Journal::head`] reads.
const HEAD_MAX: u64 = 64 * 1024;

/// A session's journal: `.crewdeck/sessions/ID/journal.jsonl`.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Whether the last write failed, so that an incomplete line may be at the end.
    has_failed: bool,
}

impl Journal {
    /// Opens the journal of `session` for appending; creates it if needed.
    ///
    /// # Errors
    /// When the folder or the file cannot be created.
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
        let mut file = regular_file::open_with(&options, &path).map_err(StoreError::at(&path))?;
        if is_torn(&mut file) {
            // Ends a line that a crash has cut off, so that the next line is complete.
            file.write_all(b"\n").map_err(StoreError::at(&path))?;
        }
        Ok(Journal {
            path,
            file,
            has_failed: false,
        })
    }

    /// Appends a line to the journal. The line is not synced, because no other state depends on the journal.
    ///
    /// # Errors
    /// When the line cannot be written completely. The next call first ends an incomplete line.
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

    /// Returns the complete lines of the journal of `session`, at most the last 16 MiB. A missing journal has no lines.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(root: &Path, session: &str) -> Result<Vec<String>, StoreError> {
        Ok(match JournalTail::of(root, session).read()? {
            TailRead::Nothing => Vec::new(),
            TailRead::Lines(lines) | TailRead::Replaced(lines, _) => lines,
        })
    }
}

impl Journal {
    /// Returns the complete lines among the first 64 KiB of the journal of `session`.
    ///
    /// # Errors
    /// When the file does not exist or cannot be read.
    pub fn head(root: &Path, session: &str) -> Result<Vec<String>, StoreError> {
        let path = path(root, session);
        let at = || StoreError::at(&path);
        let mut bytes = Vec::new();
        let file = regular_file::open(&path).map_err(at())?;
        file.take(HEAD_MAX).read_to_end(&mut bytes).map_err(at())?;
        Ok(whole_lines(&bytes))
    }
}

/// Returns the lines that end with a newline, without trailing white space.
fn whole_lines(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
    lines.map(|l| l.trim_end().to_string()).collect()
}

/// Whether the lines of a read begin at the start of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalStart {
    /// The first line that was read is the first line of the journal.
    Whole,
    /// The journal is longer than `READ_MAX`, so its beginning was not read.
    Cut,
}

/// The lines that were added to a journal since the last read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TailRead {
    /// There is no new complete line.
    Nothing,
    /// New lines, which follow the lines of earlier reads.
    Lines(Vec<String>),
    /// Lines that replace everything read before: this is the first read, or the file was replaced or truncated.
    Replaced(Vec<String>, JournalStart),
}

/// Follows a journal that another process writes. Returns each line once.
#[derive(Debug)]
pub struct JournalTail {
    path: PathBuf,
    /// Inode of the file and number of bytes read so far; `None` before the first read.
    at: Option<(u64, u64)>,
}

impl JournalTail {
    /// Follows the journal of `session` from the start. The file need not exist yet.
    pub fn of(root: &Path, session: &str) -> JournalTail {
        JournalTail {
            path: path(root, session),
            at: None,
        }
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// Returns the complete lines added since the last read, from at most `READ_MAX` bytes; the next read returns the
    /// others. The first read starts at most `READ_MAX` bytes before the end of the journal. Of a line longer than
    /// `READ_MAX`, at most the end is returned. A missing file has no lines.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(&mut self) -> Result<TailRead, StoreError> {
        let mut file = match regular_file::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(TailRead::Nothing);
            }
            Err(error) => return Err(StoreError::at(&self.path)(error)),
        };
        let at = || StoreError::at(&self.path);
        let meta = file.metadata().map_err(at())?;
        let (inode, size) = (meta.ino(), meta.len());
        let continued = self.at.filter(|(i, from)| *i == inode && *from <= size);
        let from = continued.map_or(size.saturating_sub(READ_MAX), |(_, from)| from);
        if continued.is_some() && from == size {
            return Ok(TailRead::Nothing);
        }
        file.seek(SeekFrom::Start(from)).map_err(at())?;
        let mut bytes = Vec::new();
        file.take(READ_MAX).read_to_end(&mut bytes).map_err(at())?;
        let whole = match bytes.iter().rposition(|b| *b == b'\n') {
            Some(last) => last + 1,
            None if bytes.len() as u64 == READ_MAX => bytes.len(),
            None => 0,
        };
        self.at = Some((inode, from + whole as u64));
        let start = match continued {
            None if from > 0 => JournalStart::Cut,
            None | Some(_) => JournalStart::Whole,
        };
        let mut lines = whole_lines(&bytes[..whole]);
        if start == JournalStart::Cut && !lines.is_empty() {
            // The first line is left out, because it is incomplete.
            lines.remove(0);
        }
        Ok(match continued {
            None => TailRead::Replaced(lines, start),
            Some(_) if lines.is_empty() => TailRead::Nothing,
            Some(_) => TailRead::Lines(lines),
        })
    }
}

/// Returns whether the file ends without a newline.
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

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|l| (*l).to_string()).collect()
    }

    fn add(file: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).open(file).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn each_line_is_read_once_and_an_incomplete_line_waits() {
        let dir = tempfile::tempdir().unwrap();
        let mut tail = JournalTail::of(dir.path(), "s");
        assert_eq!(tail.read().unwrap(), TailRead::Nothing);
        let mut journal = Journal::open(dir.path(), "s").unwrap();
        journal.append("1").unwrap();
        let replaced = |l: &[&str]| TailRead::Replaced(lines(l), JournalStart::Whole);
        assert_eq!(tail.read().unwrap(), replaced(&["1"]));
        assert_eq!(tail.read().unwrap(), TailRead::Nothing);
        let file = path(dir.path(), "s");
        add(&file, "2\n{\"ha");
        assert_eq!(tail.read().unwrap(), TailRead::Lines(lines(&["2"])));
        assert_eq!(tail.read().unwrap(), TailRead::Nothing);
        add(&file, "lf\":1}\n");
        assert_eq!(
            tail.read().unwrap(),
            TailRead::Lines(lines(&["{\"half\":1}"]))
        );
        // The journal is truncated, then replaced by another file.
        fs::write(&file, "3\n").unwrap();
        assert_eq!(tail.read().unwrap(), replaced(&["3"]));
        let other = dir.path().join("other");
        fs::write(&other, "4\n5\n6\n").unwrap();
        fs::rename(&other, &file).unwrap();
        assert_eq!(tail.read().unwrap(), replaced(&["4", "5", "6"]));
    }

    #[test]
    fn long_journal_is_read_from_the_end_and_marked_cut() {
        let dir = tempfile::tempdir().unwrap();
        drop(Journal::open(dir.path(), "s").unwrap());
        let long = "x".repeat(usize::try_from(READ_MAX).unwrap());
        fs::write(path(dir.path(), "s"), format!("{long}\nlast\n")).unwrap();
        let mut tail = JournalTail::of(dir.path(), "s");
        let cut = TailRead::Replaced(lines(&["last"]), JournalStart::Cut);
        assert_eq!(tail.read().unwrap(), cut);
        add(&path(dir.path(), "s"), "more\n");
        assert_eq!(tail.read().unwrap(), TailRead::Lines(lines(&["more"])));
    }
}
