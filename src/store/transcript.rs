//! An agent's log on disk: it grows line by line, is read back after a crash, and is put aside whole before
//! its conversation is shortened.

use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{StoreError, atomic, plain};
use crate::domain::conversation::{Conversation, JobState, PlanState, Record, TurnState};
use crate::domain::ids::{JobId, Name};
use crate::domain::redact::Redactor;

/// The folder, below the root.
const FOLDER: &str = ".transcripts";
/// Most logs of one agent that are put aside; the next one takes the place of the last.
const ASIDE_MAX: u32 = 10_000;

/// Largest log that is read back, in bytes: many times what any model can hold.
const READ_MAX: u64 = 256 * 1024 * 1024;

/// Where an agent's conversation is written: `.transcripts/SESSION-NAME.jsonl`, one [`Record`] a line.
#[derive(Debug, Clone)]
pub struct Transcript {
    path: PathBuf,
    /// Takes secrets out of what is written.
    redactor: Redactor,
}

/// What a line was added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The log that was there.
    Behind,
    /// A new one: there was none, or somebody took it away.
    First,
}

/// A log that was read back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recalled {
    /// What it adds up to.
    pub conversation: Conversation,
    /// What was set aside, a line each.
    pub notices: Vec<String>,
}

impl Transcript {
    /// The log of `name` in `session`.
    pub fn open(root: &Path, session: &str, name: &Name) -> Transcript {
        Transcript {
            path: root.join(FOLDER).join(format!("{session}-{name}.jsonl")),
            redactor: Redactor::default(),
        }
    }

    /// The same, without these secrets in what is written. What the model and the person wrote stands there with marks
    /// in their place, and so it comes back when the log is read.
    #[must_use]
    pub fn redacting(self, redactor: &Redactor) -> Transcript {
        Transcript {
            redactor: redactor.clone(),
            ..self
        }
    }

    /// Its name in its folder.
    pub(super) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// A record as a line of the log, without its end.
    fn line(&self, record: &Record) -> Result<Vec<u8>, StoreError> {
        let mut value = serde_json::to_value(record)?;
        self.redactor.json(&mut value);
        Ok(serde_json::to_vec(&value)?)
    }

    /// Adds a line; on disk when this returns. A log that is not there is begun, with its folder.
    ///
    /// # Errors
    /// When it can not be written; a part of the line may stand there then.
    pub fn append(&self, record: &Record) -> Result<Added, StoreError> {
        self.make_folder()?;
        self.add(record, OpenOptions::new().create(true))
    }

    /// Adds a line to a log that is there; on disk when this returns.
    ///
    /// # Errors
    /// When there is none, or it can not be written.
    pub fn append_beside(&self, record: &Record) -> Result<(), StoreError> {
        self.add(record, &mut OpenOptions::new()).map(drop)
    }

    fn make_folder(&self) -> Result<(), StoreError> {
        match self.path.parent() {
            Some(folder) => fs::create_dir_all(folder).map_err(StoreError::at(folder)),
            None => Ok(()),
        }
    }

    fn add(&self, record: &Record, open: &mut OpenOptions) -> Result<Added, StoreError> {
        let at = || StoreError::at(&self.path);
        let open = open.read(true).append(true);
        let mut file = plain::open_as(open, &self.path).map_err(at())?;
        let mut line = Vec::new();
        let mut last = [b'\n'];
        let added = match file.seek(SeekFrom::End(0)).map_err(at())? {
            0 => Added::First,
            length => {
                file.seek(SeekFrom::Start(length - 1)).map_err(at())?;
                file.read_exact(&mut last).map_err(at())?;
                Added::Behind
            }
        };
        if last != [b'\n'] {
            // A line that was cut off by a full disk ends here, so that this one is whole.
            line.push(b'\n');
        }
        line.append(&mut self.line(record)?);
        line.push(b'\n');
        file.write_all(&line).map_err(at())?;
        file.sync_data().map_err(at())?;
        Ok(added)
    }

    /// Reads the log back; one that was never written is empty. Lines that can not be read are set aside
    /// (a crash leaves at most the last one torn), and what was mended is written down.
    ///
    /// # Errors
    /// When it can not be read, or what was mended can not be written.
    pub fn recall(&self) -> Result<Recalled, StoreError> {
        let bytes = match plain::read(&self.path, READ_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Recalled::default());
            }
            Err(error) => return Err(StoreError::at(&self.path)(error)),
        };
        let mut records = Vec::new();
        let mut bad = Vec::new();
        for line in bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
            match serde_json::from_slice::<Record>(line) {
                Ok(record) => records.push(record),
                Err(_) => bad.push(line),
            }
        }
        let mut notices = Vec::new();
        if !bad.is_empty() {
            let aside = self.free("damaged");
            atomic::write(&aside, &bad.join(&b'\n'))?;
            notices.push(format!(
                "{} of the conversation could not be read: see {}",
                lines(bad.len()),
                shown(&aside)
            ));
        }
        let spoken: Vec<_> = records.iter().filter_map(message).cloned().collect();
        let conversation = Conversation::of(records.iter().cloned());
        if !bad.is_empty() || spoken != conversation.messages {
            self.replace(&Self::records(&conversation))?;
        }
        Ok(Recalled {
            conversation,
            notices,
        })
    }

    /// Puts the log aside as it stands; it goes on growing until [`Transcript::replace`]. Where it lies now,
    /// below the root, comes back.
    ///
    /// # Errors
    /// When it can not be written.
    pub fn archive(&self) -> Result<String, StoreError> {
        let aside = self.free("whole");
        // A second name for the same file costs nothing; where the file system has no such thing, a copy.
        if fs::hard_link(&self.path, &aside).is_err() {
            fs::copy(&self.path, &aside).map_err(StoreError::at(&aside))?;
        }
        Ok(shown(&aside))
    }

    /// Writes the whole log anew: it is the old one or the new one at every moment.
    ///
    /// # Errors
    /// When it can not be written; then the old one stands.
    pub fn replace(&self, records: &[Record]) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        for record in records {
            bytes.append(&mut self.line(record)?);
            bytes.push(b'\n');
        }
        self.make_folder()?;
        atomic::write(&self.path, &bytes)
    }

    /// The lines that a conversation is made of.
    pub fn records(conversation: &Conversation) -> Vec<Record> {
        let messages = conversation.messages.iter().cloned().map(Record::Message);
        let mut records: Vec<Record> = messages.collect();
        records.extend(conversation.inbox.map(|inbox| Record::Inbox { inbox }));
        if !conversation.prompts.is_empty() {
            let prompts = conversation.prompts.clone();
            records.push(Record::Prompts { prompts });
        }
        records.push(Record::Todo {
            todo: conversation.todo.clone(),
        });
        records.push(Record::Spent {
            spent: conversation.spent,
            cost: conversation.cost,
            calls: conversation.calls,
        });
        if conversation.plan == PlanState::Approved {
            records.push(Record::Plan {
                plan: conversation.plan,
            });
        }
        let began = |(job, command): &(JobId, String)| Record::Job {
            job: job.clone(),
            command: command.clone(),
            state: JobState::Began,
        };
        records.extend(conversation.lost_jobs.iter().map(began));
        if conversation.turn == TurnState::Ended {
            records.push(Record::Turn {
                turn: conversation.turn,
            });
        }
        records
    }

    fn free(&self, what: &str) -> PathBuf {
        let name = |n: u32| self.path.with_extension(format!("{what}-{n}.jsonl"));
        (1..ASIDE_MAX)
            .map(name)
            .find(|path| !path.exists())
            .unwrap_or_else(|| name(ASIDE_MAX))
    }
}

/// How far the inbox was read into a log below `root`, in bytes, by what its last lines say. Changes nothing.
pub(super) fn heard(root: &Path, log: &str) -> Option<u64> {
    if log.contains(['/', '\\']) {
        return None;
    }
    let bytes = plain::read(&root.join(FOLDER).join(log), READ_MAX).ok()?;
    let mut lines = bytes.rsplit(|b| *b == b'\n');
    lines.find_map(|line| match serde_json::from_slice(line).ok()? {
        Record::Told { inbox, .. } => inbox,
        Record::Inbox { inbox } => Some(inbox),
        Record::Message(_)
        | Record::Prompts { .. }
        | Record::Todo { .. }
        | Record::Spent { .. }
        | Record::Job { .. }
        | Record::Plan { .. }
        | Record::Turn { .. } => None,
    })
}

/// The sessions below `root` whose lead has a log, the newest last.
///
/// # Errors
/// When the folder can not be read.
pub fn sessions(root: &Path) -> Result<Vec<String>, StoreError> {
    let dir = root.join(FOLDER);
    let end = format!("-{}.jsonl", Name::lead());
    let mut all: Vec<String> = fs::read_dir(&dir)
        .map_err(StoreError::at(&dir))?
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|t| t.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(&end).map(str::to_string))
        // An id has no dash: what has one is a teammate whose name ends like the lead's.
        .filter(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric()))
        .collect();
    // Ids begin with the time at which they were made.
    all.sort();
    Ok(all)
}

/// The highest number of a subagent that has a log in `session`; 0 when none has.
///
/// # Errors
/// When the folder can not be read.
pub fn last_subagent(root: &Path, session: &str) -> Result<u64, StoreError> {
    let start = format!("{session}-");
    let numbers = names(root)?.into_iter().filter_map(|name| {
        let name = name.strip_prefix(&start)?.strip_suffix(".jsonl")?;
        name.rsplit_once('.')?.1.parse::<u64>().ok()
    });
    Ok(numbers.max().unwrap_or(0))
}

fn names(root: &Path) -> Result<Vec<String>, StoreError> {
    let dir = root.join(FOLDER);
    let entries = fs::read_dir(&dir).map_err(StoreError::at(&dir))?;
    Ok(entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect())
}

fn message(record: &Record) -> Option<&crate::domain::chat::Message> {
    match record {
        Record::Message(message) | Record::Told { message, .. } => Some(message),
        Record::Inbox { .. }
        | Record::Prompts { .. }
        | Record::Todo { .. }
        | Record::Spent { .. }
        | Record::Job { .. }
        | Record::Plan { .. }
        | Record::Turn { .. } => None,
    }
}

fn lines(count: usize) -> String {
    match count {
        1 => "One line".into(),
        n => format!("{n} lines"),
    }
}

fn shown(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{FOLDER}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::chat::{Block, Message};
    use pretty_assertions::assert_eq;

    fn place() -> (tempfile::TempDir, Transcript) {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        let transcript = Transcript::open(dir.path(), "s1", &Name::lead());
        (dir, transcript)
    }

    fn said(text: &str) -> Record {
        Record::Message(Message::user(vec![Block::text(text)]))
    }

    #[test]
    fn what_was_written_is_recalled() {
        let (dir, transcript) = place();
        assert_eq!(transcript.recall().unwrap(), Recalled::default());
        transcript.append(&said("hello")).unwrap();
        let recalled = transcript.recall().unwrap();
        assert_eq!(
            recalled.conversation.messages,
            vec![Message::user(vec![Block::text("hello")])]
        );
        assert_eq!(recalled.conversation.turn, TurnState::Open);
        assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
    }

    #[test]
    fn a_torn_last_line_is_set_aside_at_every_length() {
        let line = serde_json::to_vec(&said("second")).unwrap();
        for cut in 1..line.len() {
            let (dir, transcript) = place();
            transcript.append(&said("first")).unwrap();
            let mut file = OpenOptions::new()
                .append(true)
                .open(&transcript.path)
                .unwrap();
            file.write_all(&line[..cut]).unwrap();
            let recalled = transcript.recall().unwrap();
            assert_eq!(recalled.conversation.messages.len(), 1);
            assert_eq!(recalled.notices.len(), 1, "cut at {cut}");
            let aside = dir.path().join(".transcripts/s1-lead.damaged-1.jsonl");
            assert_eq!(fs::read(aside).unwrap(), &line[..cut]);
            transcript.append(&said("third")).unwrap();
            let again = transcript.recall().unwrap();
            assert_eq!(again.notices, Vec::<String>::new());
            let words = again.conversation.messages[0].words();
            assert_eq!(words, "first\nthird");
        }
    }

    #[test]
    fn subagents_are_counted_by_their_logs() {
        let (dir, transcript) = place();
        assert_eq!(last_subagent(dir.path(), "s1").unwrap(), 0);
        transcript.append(&said("x")).unwrap();
        transcript.archive().unwrap();
        for name in ["s1-lead.2", "s1-bob.10", "s1-lead.2.whole-30", "s2-lead.40"] {
            fs::write(dir.path().join(FOLDER).join(format!("{name}.jsonl")), "").unwrap();
        }
        assert_eq!(last_subagent(dir.path(), "s1").unwrap(), 10);
    }

    #[test]
    fn a_line_after_one_that_was_cut_off_is_whole() {
        let (_dir, transcript) = place();
        assert_eq!(transcript.append(&said("first")).unwrap(), Added::First);
        let mut file = OpenOptions::new()
            .append(true)
            .open(&transcript.path)
            .unwrap();
        file.write_all(b"{\"role\":\"us").unwrap();
        assert_eq!(transcript.append(&said("second")).unwrap(), Added::Behind);
        let words = transcript.recall().unwrap().conversation.messages[0].words();
        assert_eq!(words, "first\nsecond");
    }

    #[test]
    fn a_log_that_was_taken_away_begins_anew_but_not_with_a_line_beside_it() {
        let (dir, transcript) = place();
        transcript.append(&said("first")).unwrap();
        fs::remove_dir_all(dir.path().join(FOLDER)).unwrap();
        assert!(transcript.append_beside(&said("beside")).is_err());
        assert_eq!(transcript.append(&said("second")).unwrap(), Added::First);
    }

    #[test]
    fn only_logs_are_sessions() {
        let (dir, transcript) = place();
        transcript.append(&said("first")).unwrap();
        let folder = dir.path().join(FOLDER);
        fs::write(folder.join("-lead.jsonl"), "").unwrap();
        fs::create_dir(folder.join("s9-lead.jsonl")).unwrap();
        assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
    }

    #[test]
    fn what_was_put_aside_stays_as_it_was() {
        let (dir, transcript) = place();
        transcript.append(&said("long")).unwrap();
        let before = fs::read(&transcript.path).unwrap();
        for n in 1..=2 {
            let aside = transcript.archive().unwrap();
            assert_eq!(aside, format!(".transcripts/s1-lead.whole-{n}.jsonl"));
            transcript.replace(&[said("short")]).unwrap();
        }
        let first = dir.path().join(".transcripts/s1-lead.whole-1.jsonl");
        assert_eq!(fs::read(first).unwrap(), before);
        assert_eq!(sessions(dir.path()).unwrap(), vec!["s1"]);
        assert_eq!(
            transcript.recall().unwrap().conversation.messages[0].words(),
            "short"
        );
    }
}
