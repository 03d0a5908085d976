//! The embedded store of messages: inboxes in `.team/inbox/NAME.jsonl`, and the position up to which the owner has read
//! each inbox.
//!
//! crewdeck only appends to an inbox and never truncates it, because programs that ignore the lock may be appending at
//! the same time. The read position of the owner is in `.NAME.cursor` ([`Cursor`]). Other programs may truncate an
//! inbox at any time. Only the holder of the reader lock takes messages
//! ([`FileReaderSession`](super::file_reader::FileReaderSession)).

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::atomic::{self, Lock};
use super::cursor::Cursor;
use super::inbox::{self, BYTES_MAX, ParsedLines};
use super::line_end::ends_with_newline;
use super::mail_store::{ReadyFilter, RecentMessages, UnreadCount, UnreadMessages};
use super::{StoreError, regular_file};
use crate::domain::ids::Name;
use crate::domain::mail::{DeliveryState, MAIL_MESSAGE_MAX, MailMessage};
use crate::domain::timestamp::Timestamp;

/// Maximum number of bytes that one read loads from an inbox. A line of this size or more is longer than any message
/// and is skipped.
const READ_MAX: u64 = (BYTES_MAX + 4 * MAIL_MESSAGE_MAX) as u64;
/// Number of bytes that [`FileMail::recent`] reads from the end of each inbox.
const RECENT_MAX: u64 = 256 * 1024;

/// Maximum size of a cursor file, in bytes.
const CURSOR_MAX: u64 = 4096;

/// The inbox files of a project. Cheap to clone; keeps no state in memory.
#[derive(Debug, Clone)]
pub(super) struct FileMail {
    pub(super) root: PathBuf,
    dir: PathBuf,
}

/// The sort time of a message, the message and its delivery state. The sort time is the time when the message was sent,
/// in seconds since 1970, but never earlier than the sort time of the preceding message in the inbox.
type TimedMessage = (f64, MailMessage, DeliveryState);

impl FileMail {
    /// Opens the inboxes of the project in `root`. No file is created or read yet.
    pub(super) fn open(root: &Path) -> FileMail {
        FileMail {
            root: root.to_owned(),
            dir: root.join(".team").join("inbox"),
        }
    }

    /// Appends a message to the inbox of `to` and syncs it to disk.
    pub(super) fn append(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let _lock = self.lock(to)?;
        self.append_locked(to, message)
    }

    /// Appends a message unless the inbox already has one of this kind about the same request, read or unread.
    pub(super) fn append_once(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let mut at = Cursor::default();
        // A long inbox is searched before the lock is taken, so that other senders need not wait. What they send
        // meanwhile is searched under the lock.
        if self.has_same(to, message, &mut at)? {
            return Ok(());
        }
        let _lock = self.lock(to)?;
        if self.has_same(to, message, &mut at)? {
            return Ok(());
        }
        self.append_locked(to, message)
    }

    /// Returns whether the inbox has a message of the same kind about the same request after the position `at`. If not, sets
    /// `at` to the end of the inbox.
    fn has_same(
        &self,
        to: &Name,
        message: &MailMessage,
        at: &mut Cursor,
    ) -> Result<bool, StoreError> {
        let (path, about) = (self.path(to), message.request_id());
        let is_same = |l: &MailMessage| l.kind == message.kind && l.request_id() == about;
        loop {
            let (lines, upto) = Self::lines(to, &path, *at, &|_| true)?;
            if lines.messages.iter().any(is_same) {
                return Ok(true);
            }
            if lines.used == 0 {
                return Ok(false);
            }
            *at = upto;
        }
    }

    /// Appends a message and syncs it to disk. The caller holds the lock of the inbox.
    fn append_locked(&self, to: &Name, message: &MailMessage) -> Result<(), StoreError> {
        let path = self.path(to);
        let at = || StoreError::at(&path);
        let options = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .clone();
        let mut file = regular_file::open_with(&options, &path).map_err(at())?;
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        if !ends_with_newline(&file).map_err(at())? {
            line.insert(0, b'\n');
        }
        // The line is written with a single write, so that a program that ignores the lock cannot write in between.
        file.write_all(&line).map_err(at())?;
        file.sync_data().map_err(at())
    }

    /// Returns the first unread messages of the inbox of `name`, and the lines between them that are not messages.
    /// Stops before the first message for which `is_ready` returns false.
    pub(super) fn unread(
        &self,
        name: &Name,
        is_ready: &ReadyFilter<'_>,
    ) -> Result<(UnreadMessages, Vec<String>), StoreError> {
        let known = self.cursor(name)?;
        let (lines, upto) = Self::lines(name, &self.path(name), known, is_ready)?;
        let pending = UnreadMessages {
            upto,
            messages: lines.messages,
            bad: lines.bad.len(),
            is_bad_set_aside: false,
            moves_position: upto.offset < known.offset,
            inbox: format!(".team/inbox/{name}.jsonl"),
        };
        Ok((pending, lines.bad))
    }

    pub(super) fn set_cursor(&self, name: &Name, cursor: Cursor) -> Result<(), StoreError> {
        let _lock = self.lock(name)?;
        let path = self.cursor_path(name);
        if regular_file::open(&path).is_err_and(|e| regular_file::is_not_regular_file(&e)) {
            // A rename cannot replace a folder, so the folder is moved away first.
            atomic::set_aside(&path)?;
        }
        atomic::write(&path, &serde_json::to_vec(&cursor)?)
    }

    /// Returns the read position in the inbox of `name`, or the start if the inbox was truncated.
    pub(super) fn valid_cursor(&self, name: &Name) -> Result<Cursor, StoreError> {
        let cursor = self.cursor(name)?;
        let fits = cursor.matches_file(&self.path(name))?;
        Ok(if fits { cursor } else { Cursor::default() })
    }

    /// Returns the newest messages of all inboxes, at most `limit`. Reads only the last `RECENT_MAX` bytes of each inbox.
    /// An unreadable inbox becomes a notice.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(super) fn recent(&self, limit: usize) -> Result<RecentMessages, StoreError> {
        let (mut all, mut notices) = (Vec::new(), Vec::new());
        for name in self.inboxes()? {
            match self.recent_of(&name, &self.path(&name)) {
                Ok(messages) => all.extend(messages),
                Err(error) => {
                    let text = format!("The inbox of {name} cannot be read: {error}");
                    notices.push(text);
                }
            }
        }
        all.sort_by(|(a, ..): &TimedMessage, (b, ..)| a.total_cmp(b));
        let surplus = all.len().saturating_sub(limit);
        let newest = all.into_iter().skip(surplus);
        Ok(RecentMessages {
            messages: newest.map(|(_, message, step)| (message, step)).collect(),
            notices,
        })
    }

    /// Returns the messages in the last [`RECENT_MAX`] bytes of the inbox of `name`, in file order. `path` is the path
    /// of the inbox.
    fn recent_of(&self, name: &Name, path: &Path) -> Result<Vec<TimedMessage>, StoreError> {
        let (mut all, mut latest) = (Vec::new(), f64::NEG_INFINITY);
        let size = fs::metadata(path).map_or(0, |m| m.len());
        let read_to = self.valid_cursor(name)?.offset;
        let mut at = Cursor {
            offset: line_start(path, size.saturating_sub(RECENT_MAX))?,
            mark: None,
        };
        loop {
            let (lines, upto) = Self::lines(name, path, at, &|_| true)?;
            if lines.used == 0 {
                return Ok(all);
            }
            at = upto;
            let step = |end: u64| {
                if end <= read_to {
                    DeliveryState::Delivered
                } else {
                    DeliveryState::Sent
                }
            };
            let messages = lines.messages.into_iter().zip(lines.ends);
            all.extend(messages.map(|(message, end)| {
                // Keeps the order within an inbox even if a clock was set back in between.
                latest = latest.max(message.timestamp.0);
                (latest, message, step(end))
            }));
        }
    }

    /// Returns the inboxes with unread messages, sorted by name. Changes nothing.
    ///
    /// # Errors
    /// When the folder or an inbox cannot be read.
    pub(super) fn count_unread(&self) -> Result<Vec<UnreadCount>, StoreError> {
        let mut all = Vec::new();
        for name in self.inboxes()? {
            let path = self.path(&name);
            let mut at = self.cursor(&name)?;
            let (mut messages, mut oldest) = (0, Timestamp::default());
            loop {
                let (lines, upto) = Self::lines(&name, &path, at, &|_| true)?;
                if lines.used == 0 {
                    break;
                }
                at = upto;
                if messages == 0 {
                    oldest = lines.messages.first().map_or(oldest, |l| l.timestamp);
                }
                messages += lines.messages.len();
            }
            if messages > 0 {
                all.push(UnreadCount {
                    name,
                    count: messages,
                    oldest,
                });
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Returns whether one of the inboxes `names` has an unread message. Changes nothing.
    ///
    /// # Errors
    /// When an inbox cannot be read.
    pub(super) fn has_unread(&self, names: &[Name]) -> Result<bool, StoreError> {
        for name in names {
            let (path, mut at) = (self.path(name), self.cursor(name)?);
            loop {
                let (lines, upto) = Self::lines(name, &path, at, &|_| true)?;
                if !lines.messages.is_empty() {
                    return Ok(true);
                }
                if lines.used == 0 {
                    break;
                }
                at = upto;
            }
        }
        Ok(false)
    }

    /// Returns the owners of all inboxes, in no particular order. A missing folder has no inboxes.
    fn inboxes(&self) -> Result<Vec<Name>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::at(&self.dir)(e)),
        };
        let name = |file: String| Name::party(file.strip_suffix(".jsonl")?).ok();
        Ok(entries
            .flatten()
            .filter_map(|entry| name(entry.file_name().to_string_lossy().into_owned()))
            .collect())
    }

    /// Parses the lines of an inbox from the position `after`. Returns the parsed lines, and the position at which the
    /// next read starts. Stops before the first message for which `is_ready` returns false, and at the limits of
    /// [`inbox::parse`]. If the inbox was truncated, parses it from the beginning. A missing inbox has no lines.
    fn lines(
        name: &Name,
        path: &Path,
        after: Cursor,
        is_ready: &ReadyFilter<'_>,
    ) -> Result<(ParsedLines, Cursor), StoreError> {
        let mut file = match regular_file::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Ok((ParsedLines::default(), Cursor::default()));
            }
            Err(e) => return Err(StoreError::at(path)(e)),
        };
        let at = || StoreError::at(path);
        let fits = after.matches(&mut file).map_err(at())?;
        let from = if fits { after.offset } else { 0 };
        file.seek(SeekFrom::Start(from)).map_err(at())?;
        let mut bytes = Vec::new();
        let mut part = (&mut file).take(READ_MAX);
        part.read_to_end(&mut bytes).map_err(at())?;
        let mut lines = inbox::parse(&bytes, from, name, is_ready);
        if lines.used == 0 && !lines.has_stopped && bytes.len() as u64 == READ_MAX {
            // A line longer than any message is skipped, because it would block all others.
            lines.used = bytes.len();
            lines
                .bad
                .push(String::from_utf8_lossy(&bytes[..4096]).into_owned());
        }
        let upto = Cursor::at(&mut file, from + lines.used as u64).map_err(at())?;
        Ok((lines, upto))
    }

    /// Appends invalid lines to `NAME.jsonl.damaged-1`.
    pub(super) fn set_aside(&self, name: &Name, bad: &[String]) -> Result<(), StoreError> {
        let path = self.dir.join(format!("{name}.jsonl.damaged-1"));
        let options = OpenOptions::new().create(true).append(true).clone();
        let mut file = regular_file::open_with(&options, &path).map_err(StoreError::at(&path))?;
        let text = bad.join("\n") + "\n";
        file.write_all(text.as_bytes())
            .map_err(StoreError::at(&path))
    }

    pub(super) fn cursor(&self, name: &Name) -> Result<Cursor, StoreError> {
        let path = self.cursor_path(name);
        match regular_file::read(&path, CURSOR_MAX) {
            // An invalid cursor file counts as missing: messages are returned again, and none is lost.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(e)
                if regular_file::is_not_regular_file(&e) || e.kind() == ErrorKind::InvalidData =>
            {
                Ok(Cursor::default())
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Cursor::default()),
            Err(e) => Err(StoreError::at(path)(e)),
        }
    }

    pub(super) fn path(&self, name: &Name) -> PathBuf {
        self.dir.join(format!("{name}.jsonl"))
    }

    fn cursor_path(&self, name: &Name) -> PathBuf {
        self.dir.join(format!(".{name}.cursor"))
    }

    pub(super) fn reader_path(&self, name: &Name) -> PathBuf {
        self.dir.join(format!(".{name}.reader"))
    }

    fn lock(&self, name: &Name) -> Result<Lock, StoreError> {
        Lock::take(&self.dir.join(format!(".{name}.lock")))
    }
}

/// Returns the offset of the first line that starts after `offset`, or 0 for the offset 0. If no line starts in the
/// next [`RECENT_MAX`] bytes, returns the offset after these bytes.
fn line_start(path: &Path, offset: u64) -> Result<u64, StoreError> {
    if offset == 0 {
        return Ok(0);
    }
    let at = || StoreError::at(path);
    let mut file = regular_file::open(path).map_err(at())?;
    file.seek(SeekFrom::Start(offset)).map_err(at())?;
    let mut bytes = Vec::new();
    file.take(RECENT_MAX)
        .read_to_end(&mut bytes)
        .map_err(at())?;
    let skip = bytes
        .iter()
        .position(|b| *b == b'\n')
        .map_or(bytes.len(), |n| n + 1);
    Ok(offset + skip as u64)
}
