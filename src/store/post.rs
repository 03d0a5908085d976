//! The Post door: letters in `.team/inbox/NAME.jsonl`, and how far each inbox was acknowledged.
//!
//! An inbox is only ever appended to, also by writers that take no lock, so it is never cut while somebody
//! could be writing. How far its owner has read stands beside it in `.NAME.cursor` ([`Cursor`]): a reader that is not
//! crewdeck may empty it at any time. Who reads on has the turn of the readers ([`Reader`]).

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::atomic::{self, Lock};
use super::cursor::Cursor;
use super::inbox::{self, BYTES_MAX, Lines};
use super::line_end::ends_with_newline;
use super::reader::Reader;
use super::{StoreError, plain};
use crate::domain::ids::Name;
use crate::domain::mail::{LETTER_MAX, Letter, LetterStep};
use crate::domain::stamp::Stamp;

/// Bytes that are read at a time: more than the letters of one reading may take, so that one that is too
/// long is seen as such.
const READ_MAX: u64 = (BYTES_MAX + 4 * LETTER_MAX) as u64;
/// Bytes at the end of each inbox that [`Post::recent`] looks at.
const RECENT_MAX: u64 = 256 * 1024;

/// Most bytes of a cursor's file.
const CURSOR_MAX: u64 = 4096;

/// The mail of a root. Cheap to clone; holds no state of its own.
#[derive(Debug, Clone)]
pub struct Post {
    pub(super) root: PathBuf,
    dir: PathBuf,
}

/// Letters that wait, and what to acknowledge when they are safe.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// The letters, oldest first.
    pub letters: Vec<Letter>,
    /// To be given to [`Reader::acknowledge`].
    pub upto: Cursor,
    /// Lines that were no letters.
    pub bad: usize,
    /// What became of them.
    pub(super) passed: Passed,
    /// Whether the inbox is shorter than what was read of it: a foreign reader has cut it.
    is_cut: bool,
    inbox: String,
}

/// What became of the lines that are no letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// They lie in `NAME.jsonl.damaged-1` now.
    Aside,
    /// They stand where they stood: who only looks changes nothing.
    Left,
}

/// How much waits in an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Whose it is, as the file says.
    pub name: Name,
    /// How many letters were not acknowledged.
    pub letters: usize,
    /// When the oldest of them was sent; zero: unknown.
    pub oldest: Stamp,
}

/// A letter, how far it got, and the time by which it stands among others.
type Dated = (f64, Letter, LetterStep);

/// The letters that the screen shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recent {
    /// The newest of all inboxes, oldest first, and whether each was delivered.
    pub letters: Vec<(Letter, LetterStep)>,
    /// Which inboxes could not be read, a line each.
    pub notices: Vec<String>,
}

impl Pending {
    /// Whether a [`Reader`] has something to do there: letters to take, lines to set aside, or a cut to be noted before
    /// the inbox grows beyond what was read of it.
    pub fn is_due(&self) -> bool {
        !self.letters.is_empty() || self.bad > 0 || self.is_cut
    }

    /// What the person should know, a line each.
    pub fn notices(&self) -> Vec<String> {
        let (bad, inbox) = (self.bad, &self.inbox);
        match (bad, self.passed) {
            (0, _) => Vec::new(),
            (_, Passed::Aside) => vec![format!(
                "{bad} damaged line(s) of {inbox} were set aside in {inbox}.damaged-1; all other messages were read"
            )],
            (_, Passed::Left) => vec![format!(
                "{bad} damaged line(s) of {inbox} are passed over; reading the messages sets them aside"
            )],
        }
    }
}

impl Post {
    /// The mail below `root`.
    pub fn open(root: &Path) -> Post {
        Post {
            root: root.to_owned(),
            dir: root.join(".team").join("inbox"),
        }
    }

    /// Puts a letter into its recipient's inbox. On disk when this returns.
    ///
    /// # Errors
    /// When it is too long, or the inbox can not be written.
    pub fn send(&self, letter: &Letter) -> Result<(), StoreError> {
        if letter.content.len() > LETTER_MAX {
            let kib = LETTER_MAX / 1024;
            return Err(StoreError::TooLong(format!(
                "the message is longer than {kib} KiB: put the text into a file and name it"
            )));
        }
        let to = Name::party(&letter.to).map_err(|e| StoreError::TooLong(e.to_string()))?;
        let path = self.path(&to);
        let _lock = self.lock(&to)?;
        let at = || StoreError::at(&path);
        let options = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .clone();
        let mut file = plain::open_as(&options, &path).map_err(at())?;
        let mut line = serde_json::to_vec(letter)?;
        line.push(b'\n');
        if !ends_with_newline(&file).map_err(at())? {
            line.insert(0, b'\n');
        }
        // One write: also a writer without lock can not get in between.
        file.write_all(&line).map_err(at())?;
        file.sync_data().map_err(at())
    }

    /// The same for a letter about a request: of each kind there is one, so it is not sent where it lies there already,
    /// from a run that was ended before it could note that.
    ///
    /// # Errors
    /// As [`Post::send`].
    pub fn send_once(&self, letter: &Letter) -> Result<(), StoreError> {
        let to = Name::party(&letter.to).map_err(|e| StoreError::TooLong(e.to_string()))?;
        let path = self.path(&to);
        let (mut at, about) = (Cursor::default(), letter.request_id());
        loop {
            let (lines, upto) = Self::lines(&to, &path, at)?;
            let is_same = |l: &Letter| l.kind == letter.kind && l.request_id() == about;
            if about.is_some() && lines.letters.iter().any(is_same) {
                return Ok(());
            }
            if lines.used == 0 {
                return self.send(letter);
            }
            at = upto;
        }
    }

    /// The letters of `name` that were not acknowledged yet, for who only looks: nothing is changed, so it may be
    /// asked as often as one likes. Who takes them has a [`Reader`].
    ///
    /// # Errors
    /// When the inbox can not be read.
    pub fn look(&self, name: &Name) -> Result<Pending, StoreError> {
        Ok(self.seen(name)?.0)
    }

    /// The right to take letters of `name`. While somebody else has it that is waited for, as long as `within` says.
    ///
    /// # Errors
    /// [`StoreError::BeingRead`] when the other one keeps it, or the files can not be used.
    pub fn reader(&self, name: &Name, within: Duration) -> Result<Reader, StoreError> {
        Reader::of(self, name, within)
    }

    /// Whether somebody takes letters of `name` at this moment.
    pub fn is_being_read(&self, name: &Name) -> bool {
        Lock::is_held(&self.reader_path(name))
    }

    /// What waits in an inbox, and the lines in between that are no letters.
    pub(super) fn seen(&self, name: &Name) -> Result<(Pending, Vec<String>), StoreError> {
        let known = self.cursor(name)?;
        let (lines, upto) = Self::lines(name, &self.path(name), known)?;
        let pending = Pending {
            upto,
            letters: lines.letters,
            bad: lines.bad.len(),
            passed: Passed::Left,
            is_cut: upto.offset < known.offset,
            inbox: format!(".team/inbox/{name}.jsonl"),
        };
        Ok((pending, lines.bad))
    }

    /// Writes down how far `name` has read.
    pub(super) fn set_cursor(&self, name: &Name, cursor: Cursor) -> Result<(), StoreError> {
        let _lock = self.lock(name)?;
        let path = self.cursor_path(name);
        if plain::open(&path).is_err_and(|e| plain::is_strange(&e)) {
            // A folder in its place could not be written over.
            atomic::set_aside(&path)?;
        }
        atomic::write(&path, &serde_json::to_vec(&cursor)?)
    }

    /// How far `name` has read the inbox that is there: one that was cut begins anew.
    pub(super) fn read_to(&self, name: &Name) -> Result<Cursor, StoreError> {
        let cursor = self.cursor(name)?;
        let fits = cursor.fits_in(&self.path(name))?;
        Ok(if fits { cursor } else { Cursor::default() })
    }

    /// The newest letters of all inboxes. One that can not be read is no reason to show none of the others.
    ///
    /// # Errors
    /// When the folder can not be read.
    pub fn recent(&self, most: usize) -> Result<Recent, StoreError> {
        let (mut all, mut notices) = (Vec::new(), Vec::new());
        for name in self.inboxes()? {
            match self.recent_of(&name, &self.path(&name)) {
                Ok(letters) => all.extend(letters),
                Err(error) => {
                    let text = format!("The inbox of {name} can not be read: {error}");
                    notices.push(text);
                }
            }
        }
        all.sort_by(|(a, ..): &Dated, (b, ..)| a.total_cmp(b));
        let surplus = all.len().saturating_sub(most);
        let newest = all.into_iter().skip(surplus);
        Ok(Recent {
            letters: newest.map(|(_, letter, step)| (letter, step)).collect(),
            notices,
        })
    }

    /// The letters at the end of an inbox, each with the time by which it stands among those of others.
    fn recent_of(&self, name: &Name, path: &Path) -> Result<Vec<Dated>, StoreError> {
        let (mut all, mut latest) = (Vec::new(), f64::NEG_INFINITY);
        let size = fs::metadata(path).map_or(0, |m| m.len());
        let read_to = self.read_to(name)?.offset;
        let mut at = Cursor {
            offset: line_start(path, size.saturating_sub(RECENT_MAX))?,
            mark: None,
        };
        loop {
            let (lines, upto) = Self::lines(name, path, at)?;
            if lines.used == 0 {
                return Ok(all);
            }
            at = upto;
            let step = |end: u64| {
                if end <= read_to {
                    LetterStep::Delivered
                } else {
                    LetterStep::Sent
                }
            };
            let letters = lines.letters.into_iter().zip(lines.ends);
            all.extend(letters.map(|(letter, end)| {
                // Within an inbox letters stand as they came, also where a clock was set back in between.
                latest = latest.max(letter.timestamp.0);
                (latest, letter, step(end))
            }));
        }
    }

    /// The inboxes in which letters wait, by name. Takes nothing away and sets nothing aside.
    ///
    /// # Errors
    /// When an inbox can not be read.
    pub fn waiting(&self) -> Result<Vec<Waiting>, StoreError> {
        let mut all = Vec::new();
        for name in self.inboxes()? {
            let path = self.path(&name);
            let mut at = self.cursor(&name)?;
            let (mut letters, mut oldest) = (0, Stamp::default());
            loop {
                let (lines, upto) = Self::lines(&name, &path, at)?;
                if lines.used == 0 {
                    break;
                }
                at = upto;
                if letters == 0 {
                    oldest = lines.letters.first().map_or(oldest, |l| l.timestamp);
                }
                letters += lines.letters.len();
            }
            if letters > 0 {
                all.push(Waiting {
                    name,
                    letters,
                    oldest,
                });
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Who has an inbox.
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

    /// The lines of an inbox behind `after`, and where they end. A foreign reader may have cut it: then from the start.
    fn lines(name: &Name, path: &Path, after: Cursor) -> Result<(Lines, Cursor), StoreError> {
        let mut file = match plain::open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Ok((Lines::default(), Cursor::default()));
            }
            Err(e) => return Err(StoreError::at(path)(e)),
        };
        let at = || StoreError::at(path);
        let fits = after.fits(&mut file).map_err(at())?;
        let from = if fits { after.offset } else { 0 };
        file.seek(SeekFrom::Start(from)).map_err(at())?;
        let mut bytes = Vec::new();
        let mut part = (&mut file).take(READ_MAX);
        part.read_to_end(&mut bytes).map_err(at())?;
        let mut lines = inbox::parse(&bytes, from, name);
        if lines.used == 0 && bytes.len() as u64 == READ_MAX {
            // One line without end, longer than any letter: passed over, or it would block all others.
            lines.used = bytes.len();
            lines
                .bad
                .push(String::from_utf8_lossy(&bytes[..4096]).into_owned());
        }
        let upto = Cursor::at(&mut file, from + lines.used as u64).map_err(at())?;
        Ok((lines, upto))
    }

    pub(super) fn set_aside(&self, name: &Name, bad: &[String]) -> Result<(), StoreError> {
        let path = self.dir.join(format!("{name}.jsonl.damaged-1"));
        let options = OpenOptions::new().create(true).append(true).clone();
        let mut file = plain::open_as(&options, &path).map_err(StoreError::at(&path))?;
        let text = bad.join("\n") + "\n";
        file.write_all(text.as_bytes())
            .map_err(StoreError::at(&path))
    }

    pub(super) fn cursor(&self, name: &Name) -> Result<Cursor, StoreError> {
        let path = self.cursor_path(name);
        match plain::read(&path, CURSOR_MAX) {
            // A cursor that can not be understood is taken for none: letters come again, none is lost.
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(e) if plain::is_strange(&e) || e.kind() == ErrorKind::InvalidData => {
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

/// The start of the first whole line at or after `offset`.
fn line_start(path: &Path, offset: u64) -> Result<u64, StoreError> {
    if offset == 0 {
        return Ok(0);
    }
    let at = || StoreError::at(path);
    let mut file = plain::open(path).map_err(at())?;
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
