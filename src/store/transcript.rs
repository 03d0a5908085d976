//! The conversation log of an agent on disk. It grows line by line, is loaded after a restart, and is archived before the
//! conversation is compacted.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::iter;
use std::path::{Path, PathBuf};

use ring::digest::SHA256;

use super::attachments::AttachmentStore;
use super::{StoreError, atomic, prompt_queue, regular_file};
use crate::domain::chat::Message;
use crate::domain::checkpoint::ConversationPlace;
use crate::domain::conversation::{Conversation, JobState, LogRecord, PlanState, TurnState};
use crate::domain::folders::TRANSCRIPTS;
use crate::domain::ids::{JobId, Name};
use crate::domain::redact::Redactor;
use crate::domain::team_preset::LeadMode;

/// Maximum number of archived logs of one agent. A further archive replaces the newest one.
const ARCHIVES_MAX: u32 = 10_000;

/// Maximum size of a log that is loaded, in bytes: many times the context window of any model.
const READ_MAX: u64 = 256 * 1024 * 1024;

/// Number of bytes of the hash of a conversation.
const HASH_LENGTH: usize = 16;

/// The log of an agent's conversation: `.transcripts/SESSION-NAME.jsonl`, one [`LogRecord`] per line.
#[derive(Debug, Clone)]
pub struct TranscriptFile {
    path: PathBuf,
    /// Removes secrets from the written lines.
    redactor: Redactor,
}

/// Whether an append created the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendResult {
    Existed,
    /// The log was empty or did not exist, for example because another program has deleted it.
    Created,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadedTranscript {
    pub conversation: Conversation,
    /// Notices about invalid lines, which were copied to `SESSION-NAME.damaged-N.jsonl`.
    pub notices: Vec<String>,
}

impl TranscriptFile {
    /// Opens the log of `name` in `session`. Creates no file yet.
    pub fn open(root: &Path, session: &str, name: &Name) -> TranscriptFile {
        TranscriptFile {
            path: root
                .join(TRANSCRIPTS)
                .join(format!("{session}-{name}.jsonl")),
            redactor: Redactor::default(),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a log that writes placeholders instead of the secrets that `redactor` knows. A loaded conversation contains
    /// the placeholders.
    #[must_use]
    pub fn with_redactor(self, redactor: &Redactor) -> TranscriptFile {
        TranscriptFile {
            redactor: redactor.clone(),
            ..self
        }
    }

    /// Returns the store of the files that are attached to the messages of the log.
    pub fn attachments(&self) -> AttachmentStore {
        AttachmentStore::beside(self.path.parent().unwrap_or(Path::new("")))
    }

    pub(super) fn file_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Returns a record as a JSON line without its newline. Secrets are replaced by placeholders.
    fn line(&self, record: &LogRecord) -> Result<Vec<u8>, StoreError> {
        let mut value = serde_json::to_value(record)?;
        self.redactor.json(&mut value);
        Ok(serde_json::to_vec(&value)?)
    }

    /// Appends a record and syncs it to disk. Creates the log and its folder if needed.
    ///
    /// # Errors
    /// When the line cannot be written. A part of the line may then be in the file.
    pub fn append(&self, record: &LogRecord) -> Result<AppendResult, StoreError> {
        self.make_folder()?;
        self.add(record, OpenOptions::new().create(true))
    }

    /// Appends a record to an existing log and syncs it to disk.
    ///
    /// # Errors
    /// When the log does not exist or cannot be written.
    pub fn append_existing(&self, record: &LogRecord) -> Result<(), StoreError> {
        self.add(record, &mut OpenOptions::new()).map(drop)
    }

    fn make_folder(&self) -> Result<(), StoreError> {
        match self.path.parent() {
            Some(folder) => fs::create_dir_all(folder).map_err(StoreError::at(folder)),
            None => Ok(()),
        }
    }

    fn add(&self, record: &LogRecord, open: &mut OpenOptions) -> Result<AppendResult, StoreError> {
        let at = || StoreError::at(&self.path);
        let open = open.read(true).append(true);
        let mut file = regular_file::open_with(open, &self.path).map_err(at())?;
        let mut line = Vec::new();
        let mut last = [b'\n'];
        let added = match file.seek(SeekFrom::End(0)).map_err(at())? {
            0 => AppendResult::Created,
            length => {
                file.seek(SeekFrom::Start(length - 1)).map_err(at())?;
                file.read_exact(&mut last).map_err(at())?;
                AppendResult::Existed
            }
        };
        if last != [b'\n'] {
            // Ends a line that a full disk has cut off, so that the new record starts on its own line.
            line.push(b'\n');
        }
        line.append(&mut self.line(record)?);
        line.push(b'\n');
        file.write_all(&line).map_err(at())?;
        file.sync_data().map_err(at())?;
        Ok(added)
    }

    /// Loads the log; a missing log is empty. Copies invalid lines to `SESSION-NAME.damaged-N.jsonl`. A crash can make
    /// only the last line invalid. If a line is invalid or the conversation needs a repair, the repaired conversation
    /// replaces the log.
    ///
    /// # Errors
    /// When the log cannot be read, or the repaired log cannot be written.
    pub fn load(&self) -> Result<LoadedTranscript, StoreError> {
        let bytes = match regular_file::read(&self.path, READ_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(LoadedTranscript::default());
            }
            Err(error) => return Err(StoreError::at(&self.path)(error)),
        };
        let (records, bad) = parse(&bytes);
        let mut notices = Vec::new();
        if !bad.is_empty() {
            let aside = self.unused_path("damaged");
            atomic::write(&aside, &bad.join(&b'\n'))?;
            notices.push(format!(
                "{} of the conversation could not be read: see {}",
                count_lines(bad.len()),
                display_path(&aside)
            ));
        }
        let messages: Vec<_> = records.iter().filter_map(message).cloned().collect();
        let mut conversation = Conversation::from_records(records.iter().cloned());
        if !bad.is_empty() || messages != conversation.messages {
            self.replace(&Self::records(&conversation))?;
        }
        self.attachments().load_images(&mut conversation.messages);
        Ok(LoadedTranscript {
            conversation,
            notices,
        })
    }

    /// Returns the place after `messages`; `None` if there are none.
    ///
    /// # Errors
    /// When the last message cannot be serialized.
    pub fn place_after(
        &self,
        messages: &[Message],
    ) -> Result<Option<ConversationPlace>, StoreError> {
        if messages.is_empty() {
            return Ok(None);
        }
        Ok(Some(ConversationPlace {
            messages: messages.len() as u64,
            hash: self.hash_of(messages)?,
        }))
    }

    /// Returns a hash of messages as the log contains them.
    fn hash_of(&self, messages: &[Message]) -> Result<String, StoreError> {
        let mut all = ring::digest::Context::new(&SHA256);
        for message in messages {
            all.update(&self.line(&LogRecord::Message(message.clone()))?);
            all.update(b"\n");
        }
        let digest = all.finish();
        let mut hash = String::new();
        for byte in digest.as_ref().iter().take(HASH_LENGTH) {
            hash.push_str(&format!("{byte:02x}"));
        }
        Ok(hash)
    }

    /// Finds a place in the log, and in the logs that were archived before the conversation was compacted, emptied or
    /// rewound. Returns the records before the place; `None` if no log contains the place.
    ///
    /// # Errors
    /// When a log exists but cannot be read.
    pub fn records_before(
        &self,
        place: &ConversationPlace,
    ) -> Result<Option<Vec<LogRecord>>, StoreError> {
        let count = usize::try_from(place.messages).unwrap_or(usize::MAX);
        let is_place =
            |messages: &[Message]| self.hash_of(messages).is_ok_and(|hash| hash == place.hash);
        for path in iter::once(self.path.clone()).chain(self.archives()) {
            let mut records = match regular_file::read(&path, READ_MAX) {
                Ok(bytes) => parse(&bytes).0,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(StoreError::at(path)(error)),
            };
            if let Some(found) = Conversation::records_before(&records, count, is_place) {
                records.truncate(found);
                return Ok(Some(records));
            }
        }
        Ok(None)
    }

    /// Returns the messages in the log; empty if there is no log.
    ///
    /// # Errors
    /// When the log exists but cannot be read.
    pub fn messages(&self) -> Result<Vec<Message>, StoreError> {
        match regular_file::read(&self.path, READ_MAX) {
            Ok(bytes) => Ok(Conversation::from_records(parse(&bytes).0).messages),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(StoreError::at(&self.path)(error)),
        }
    }

    /// Returns the place after the last message in the log; `None` if the log has no messages.
    ///
    /// # Errors
    /// When the log exists but cannot be read.
    pub fn place_at_end(&self) -> Result<Option<ConversationPlace>, StoreError> {
        self.place_after(&self.messages()?)
    }

    /// Returns the archives of the log, newest first.
    fn archives(&self) -> Vec<PathBuf> {
        let name = |n: u32| self.path.with_extension(format!("whole-{n}.jsonl"));
        let existing = (1..=ARCHIVES_MAX)
            .map(name)
            .take_while(|path| path.exists());
        let mut all: Vec<PathBuf> = existing.collect();
        all.reverse();
        all
    }

    /// Archives the log as `SESSION-NAME.whole-N.jsonl` in the same folder. Returns the path of the archive, relative
    /// to the root. The log itself stays in use until [`TranscriptFile::replace`].
    ///
    /// # Errors
    /// When there is no log, or the archive cannot be written.
    pub fn archive(&self) -> Result<String, StoreError> {
        let aside = self.unused_path("whole");
        // A hard link is cheap. File systems without hard links get a copy.
        if fs::hard_link(&self.path, &aside).is_err() {
            fs::copy(&self.path, &aside).map_err(StoreError::at(&aside))?;
        }
        Ok(display_path(&aside))
    }

    /// Replaces the whole log atomically.
    ///
    /// # Errors
    /// When the log cannot be written. The old log is then unchanged.
    pub fn replace(&self, records: &[LogRecord]) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        for record in records {
            bytes.append(&mut self.line(record)?);
            bytes.push(b'\n');
        }
        self.make_folder()?;
        atomic::write(&self.path, &bytes)
    }

    /// Returns the records that reproduce a conversation.
    pub fn records(conversation: &Conversation) -> Vec<LogRecord> {
        let messages = conversation
            .messages
            .iter()
            .cloned()
            .map(LogRecord::Message);
        let mut records: Vec<LogRecord> = messages.collect();
        records.extend(conversation.inbox.map(|inbox| LogRecord::Inbox { inbox }));
        if !conversation.prompts.is_empty() {
            let prompts = conversation.prompts.clone();
            records.push(LogRecord::Prompts { prompts });
        }
        records.push(LogRecord::Todo {
            todo: conversation.todo.clone(),
        });
        records.push(LogRecord::Spent {
            spent: conversation.spent,
            cost: conversation.cost.map(|cost| cost.dollars),
            estimated: conversation.cost.is_some_and(|cost| cost.is_estimate),
            calls: conversation.calls,
        });
        if conversation.plan == PlanState::Approved {
            records.push(LogRecord::Plan {
                plan: conversation.plan,
            });
        }
        if conversation.lead != LeadMode::default() {
            let lead = conversation.lead;
            records.push(LogRecord::Lead { lead });
        }
        if !conversation.files.is_empty() {
            let files = conversation.files.clone();
            records.push(LogRecord::Files { files });
        }
        let began = |(job, command): &(JobId, String)| LogRecord::Job {
            job: job.clone(),
            command: command.clone(),
            state: JobState::Began,
        };
        records.extend(conversation.unreported_jobs.iter().map(began));
        if conversation.turn == TurnState::Ended {
            records.push(LogRecord::Turn {
                turn: conversation.turn,
            });
        }
        records
    }

    /// Returns the log's path with the extension `WHAT-N.jsonl`. `N` is the first number from 1 for which no file
    /// exists. If all numbers below [`ARCHIVES_MAX`] are in use, `N` is [`ARCHIVES_MAX`]; that file may exist.
    fn unused_path(&self, what: &str) -> PathBuf {
        let name = |n: u32| self.path.with_extension(format!("{what}-{n}.jsonl"));
        (1..ARCHIVES_MAX)
            .map(name)
            .find(|path| !path.exists())
            .unwrap_or_else(|| name(ARCHIVES_MAX))
    }
}

/// Returns the position in the agent's inbox that the log file `log` below `root` recorded last, as an offset in bytes.
/// The log contains all messages before this offset. Returns `None` if no position was recorded or the log cannot be
/// read.
pub(super) fn logged_offset(root: &Path, log: &str) -> Option<u64> {
    if log.contains(['/', '\\']) {
        return None;
    }
    let bytes = regular_file::read(&root.join(TRANSCRIPTS).join(log), READ_MAX).ok()?;
    let mut lines = bytes.rsplit(|b| *b == b'\n');
    lines.find_map(|line| match serde_json::from_slice(line).ok()? {
        LogRecord::Delivery { inbox, .. } => inbox,
        LogRecord::Inbox { inbox } => Some(inbox),
        _ => None,
    })
}

/// Returns the ids of the sessions below `root` that can be resumed, oldest first. A session can be resumed if its lead
/// has a log. It can also be resumed if it has queued prompts but no log, because its process was killed before it
/// wrote the first log.
///
/// # Errors
/// When the folder of the logs exists but cannot be read.
pub fn sessions(root: &Path) -> Result<Vec<String>, StoreError> {
    let dir = root.join(TRANSCRIPTS);
    let end = format!("-{}.jsonl", Name::lead());
    let mut all: BTreeSet<String> = match fs::read_dir(&dir) {
        Ok(entries) => entries
            .filter_map(Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|t| t.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(&end).map(str::to_string))
            .collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => BTreeSet::new(),
        Err(error) => return Err(StoreError::at(&dir)(error)),
    };
    all.extend(prompt_queue::sessions_with_prompts(root));
    // A session id has no dash. If there is a dash, the file is the log of a teammate whose name ends with a dash and the
    // lead's name.
    all.retain(|id| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric()));
    // Session ids begin with their creation time, so the newest session is the last one.
    Ok(all.into_iter().collect())
}

/// Returns the highest number of a subagent with a log in `session`, or 0 if there is none.
///
/// # Errors
/// When the folder of the logs does not exist or cannot be read.
pub fn last_subagent(root: &Path, session: &str) -> Result<u64, StoreError> {
    let start = format!("{session}-");
    let numbers = file_names(root)?.into_iter().filter_map(|name| {
        let name = name.strip_prefix(&start)?.strip_suffix(".jsonl")?;
        name.rsplit_once('.')?.1.parse::<u64>().ok()
    });
    Ok(numbers.max().unwrap_or(0))
}

fn file_names(root: &Path) -> Result<Vec<String>, StoreError> {
    let dir = root.join(TRANSCRIPTS);
    let entries = fs::read_dir(&dir).map_err(StoreError::at(&dir))?;
    Ok(entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect())
}

/// Parses the lines of a log. Returns the records and the lines that are not valid.
fn parse(bytes: &[u8]) -> (Vec<LogRecord>, Vec<&[u8]>) {
    let mut records = Vec::new();
    let mut bad = Vec::new();
    for line in bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        match serde_json::from_slice::<LogRecord>(line) {
            Ok(record) => records.push(record),
            Err(_) => bad.push(line),
        }
    }
    (records, bad)
}

fn message(record: &LogRecord) -> Option<&Message> {
    match record {
        LogRecord::Message(message) | LogRecord::Delivery { message, .. } => Some(message),
        _ => None,
    }
}

fn count_lines(count: usize) -> String {
    match count {
        1 => "One line".into(),
        n => format!("{n} lines"),
    }
}

fn display_path(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!("{TRANSCRIPTS}/{name}")
}

#[cfg(test)]
#[path = "transcript_tests.rs"]
mod tests;
