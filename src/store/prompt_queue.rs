//! Queues of what the user sends to an agent: prompts for the lead, and the output of the user's commands. An entry is
//! on disk from its acceptance until the agent's conversation on disk contains it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::{StoreError, atomic, regular_file};
use crate::domain::attachment::Attachment;
use crate::domain::ids::{Name, PromptId};
use crate::domain::redact::Redactor;

/// Maximum number of waiting prompts. The queue does not enforce this limit: the caller of [`PromptQueue::push`] does.
pub const PROMPTS_MAX: usize = 64;
/// Maximum size of a queue file, in bytes. [`PromptQueue::load`] fails for a larger one.
const READ_MAX: u64 = 64 * 1024 * 1024;

/// Name of the file with the prompts in the folder of a session.
const PROMPTS: &str = "prompts.json";

/// Text at the beginning of the oldest waiting entry, if older entries were dropped because the queue was full.
pub const DROPPED_MARK: &str =
    "[Earlier commands of the user were dropped: too many were waiting.]\n";

/// A user prompt that waits for the lead, or a command of the user with its output that waits for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    /// Id by which the conversation refers to the prompt.
    pub id: PromptId,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Texts that hooks have added to the prompt for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
}

#[derive(Debug)]
struct QueueEntry {
    prompt: QueuedPrompt,
    /// Whether the prompt was added to a conversation. That conversation may not be on disk yet.
    is_taken: bool,
}

impl QueueEntry {
    fn waiting(prompt: QueuedPrompt) -> QueueEntry {
        QueueEntry {
            prompt,
            is_taken: false,
        }
    }
}

/// A queue of prompts or commands of one session, in memory and in a file. The file contains a JSON array of
/// [`QueuedPrompt`], oldest first. While the queue is empty, there is no file.
#[derive(Debug)]
pub struct PromptQueue {
    path: PathBuf,
    redactor: Redactor,
    entries: Mutex<Vec<QueueEntry>>,
    /// Locked during a write of the file, so that an older state never replaces a newer one.
    write_turn: Mutex<()>,
}

impl PromptQueue {
    /// Opens the queue of prompts, `.crewdeck/sessions/ID/prompts.json`, without reading the file: see
    /// [`PromptQueue::load`]. `redactor` removes secrets from prompts before they are written to the file.
    pub fn open(root: &Path, session: &str, redactor: &Redactor) -> PromptQueue {
        PromptQueue::at(root, session, PROMPTS, redactor)
    }

    /// Opens the queue of the user's commands in the conversation of `agent`,
    /// `.crewdeck/sessions/ID/commands-AGENT.json`, without reading the file.
    pub fn of_commands(
        root: &Path,
        session: &str,
        agent: &Name,
        redactor: &Redactor,
    ) -> PromptQueue {
        PromptQueue::at(root, session, &format!("commands-{agent}.json"), redactor)
    }

    fn at(root: &Path, session: &str, file: &str, redactor: &Redactor) -> PromptQueue {
        let folder = sessions_folder(root).join(session);
        PromptQueue {
            path: folder.join(file),
            redactor: redactor.clone(),
            entries: Mutex::default(),
            write_turn: Mutex::default(),
        }
    }

    /// Loads the entries that were in the queue when the session ended, in place of the current ones. `held` contains
    /// the ids of the prompts that the conversation already contains; entries with these ids are left out. Returns a
    /// notice if the file was damaged and therefore renamed. Does nothing if there is no file.
    ///
    /// # Errors
    /// When the file cannot be read or renamed.
    pub fn load(&self, held: &[PromptId]) -> Result<Option<String>, StoreError> {
        let _turn = lock(&self.write_turn);
        let bytes = match regular_file::read(&self.path, READ_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::at(&self.path)(error)),
        };
        let Ok(prompts) = serde_json::from_slice::<Vec<QueuedPrompt>>(&bytes) else {
            let aside = atomic::set_aside(&self.path)?;
            return Ok(Some(format!(
                "A file with your queued messages or commands was damaged and was renamed to {}",
                aside.display()
            )));
        };
        let waiting = prompts.into_iter().filter(|p| !held.contains(&p.id));
        *lock(&self.entries) = waiting.map(QueueEntry::waiting).collect();
        Ok(None)
    }

    /// Adds a prompt. The prompt is written to disk before it can be taken, and stays in memory even if the write
    /// fails.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&self, prompt: QueuedPrompt) -> Result<(), StoreError> {
        let _turn = lock(&self.write_turn);
        self.add(prompt)
    }

    /// Adds an entry like [`PromptQueue::push`]. If at least `max` entries are waiting, first drops the oldest one and
    /// puts `DROPPED_MARK` at the beginning of the next one. Returns whether an entry was dropped.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push_within(&self, max: usize, prompt: QueuedPrompt) -> Result<bool, StoreError> {
        let _turn = lock(&self.write_turn);
        let is_full = self.waiting_count() >= max;
        if is_full {
            let mut entries = lock(&self.entries);
            let oldest = entries.iter().position(|e| !e.is_taken);
            oldest.map(|at| entries.remove(at));
            let next = entries.iter_mut().find(|e| !e.is_taken);
            if let Some(next) = next.filter(|e| !e.prompt.text.starts_with(DROPPED_MARK)) {
                next.prompt.text.insert_str(0, DROPPED_MARK);
            }
        }
        self.add(prompt).map(|()| is_full)
    }

    fn add(&self, prompt: QueuedPrompt) -> Result<(), StoreError> {
        let mut all = self.snapshot();
        all.push(prompt.clone());
        let written = self.write(&all);
        lock(&self.entries).push(QueueEntry::waiting(prompt));
        written
    }

    /// Takes all waiting prompts, oldest first. They are no longer waiting, but stay in the queue and on disk until
    /// [`PromptQueue::remove`].
    pub fn take(&self) -> Vec<QueuedPrompt> {
        let mut entries = lock(&self.entries);
        let waiting = entries.iter_mut().filter(|e| !e.is_taken);
        waiting
            .map(|entry| {
                entry.is_taken = true;
                entry.prompt.clone()
            })
            .collect()
    }

    /// Removes the newest waiting prompt with this text from the queue and from the disk. Returns whether there was
    /// one.
    ///
    /// # Errors
    /// When the file cannot be written. The prompt is then removed from memory only, and a resumed session loads it
    /// again.
    pub fn recall(&self, text: &str) -> Result<bool, StoreError> {
        let _turn = lock(&self.write_turn);
        let mut entries = lock(&self.entries);
        let is_it = |entry: &QueueEntry| !entry.is_taken && entry.prompt.text == text;
        let Some(at) = entries.iter().rposition(is_it) else {
            return Ok(false);
        };
        entries.remove(at);
        drop(entries);
        self.write(&self.snapshot()).map(|()| true)
    }

    /// Removes the prompts with the ids `held` from the queue, because the conversation on disk now contains them.
    ///
    /// # Errors
    /// When the file cannot be written. The prompts then stay in the file, so the conversation must keep their ids.
    pub fn remove(&self, held: &[PromptId]) -> Result<(), StoreError> {
        let _turn = lock(&self.write_turn);
        lock(&self.entries).retain(|e| !held.contains(&e.prompt.id));
        self.write(&self.snapshot())
    }

    /// Returns whether a prompt waits to be taken.
    pub fn is_waiting(&self) -> bool {
        self.waiting_count() > 0
    }

    pub fn waiting_count(&self) -> usize {
        let entries = lock(&self.entries);
        entries.iter().filter(|e| !e.is_taken).count()
    }

    fn snapshot(&self) -> Vec<QueuedPrompt> {
        let entries = lock(&self.entries);
        entries.iter().map(|e| e.prompt.clone()).collect()
    }

    fn write(&self, prompts: &[QueuedPrompt]) -> Result<(), StoreError> {
        if prompts.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(StoreError::at(&self.path)(error))
                }
                Ok(()) | Err(_) => Ok(()),
            };
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
        }
        let mut value = serde_json::to_value(prompts)?;
        self.redactor.json(&mut value);
        atomic::write(&self.path, &serde_json::to_vec(&value)?)
    }
}

/// Returns the ids of the sessions below `root` that have a file with waiting prompts, in any order. Empty if the
/// sessions cannot be read.
pub(super) fn sessions_with_prompts(root: &Path) -> Vec<String> {
    let folders = fs::read_dir(sessions_folder(root)).into_iter().flatten();
    folders
        .filter_map(Result::ok)
        .filter(|folder| {
            let found = fs::symlink_metadata(folder.path().join(PROMPTS));
            found.is_ok_and(|file| file.is_file())
        })
        .filter_map(|folder| folder.file_name().into_string().ok())
        .collect()
}

fn sessions_folder(root: &Path) -> PathBuf {
    root.join(".crewdeck").join("sessions")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn prompt(id: &str) -> QueuedPrompt {
        QueuedPrompt {
            id: PromptId(id.into()),
            text: format!("text of {id}"),
            attachments: Vec::new(),
            context: Vec::new(),
        }
    }

    fn queue(root: &Path) -> PromptQueue {
        PromptQueue::open(root, "s1", &Redactor::default())
    }

    #[test]
    fn killed_session_keeps_prompts_missing_in_the_conversation() {
        let dir = tempfile::tempdir().unwrap();
        let first = queue(dir.path());
        for id in ["a", "b", "c"] {
            first.push(prompt(id)).unwrap();
        }
        // The process is killed after "a" is in the conversation, but before it is removed from the queue.
        assert_eq!(first.take().len(), 3);
        assert!(!first.is_waiting());
        let again = queue(dir.path());
        assert_eq!(again.load(&[PromptId("a".into())]).unwrap(), None);
        assert_eq!(again.take(), [prompt("b"), prompt("c")]);
    }

    #[test]
    fn settled_prompts_leave_the_disk_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let all = queue(dir.path());
        all.push(prompt("a")).unwrap();
        let taken = all.take();
        all.push(prompt("b")).unwrap();
        all.remove(&[taken[0].id.clone()]).unwrap();
        assert_eq!(all.take(), [prompt("b")]);
        let again = queue(dir.path());
        again.load(&[]).unwrap();
        assert_eq!(again.waiting_count(), 1);
        all.remove(&[PromptId("b".into())]).unwrap();
        assert!(!all.path.exists());
        queue(dir.path()).load(&[]).unwrap();
    }

    #[test]
    fn newest_waiting_prompt_is_recalled_once_and_leaves_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let all = queue(dir.path());
        for (id, text) in [("a", "same"), ("b", "same"), ("c", "other")] {
            let text = text.into();
            all.push(QueuedPrompt { text, ..prompt(id) }).unwrap();
        }
        assert!(all.recall("same").unwrap());
        assert!(!all.recall("none").unwrap());
        let again = queue(dir.path());
        again.load(&[]).unwrap();
        let ids = |all: &PromptQueue| all.take().into_iter().map(|p| p.id.0).collect::<Vec<_>>();
        assert_eq!(ids(&again), ["a", "c"]);
        // A prompt that the lead has taken can no longer be recalled.
        assert_eq!(ids(&all), ["a", "c"]);
        assert!(!all.recall("same").unwrap());
    }

    #[test]
    fn full_queue_drops_the_oldest_entry_with_a_mark() {
        let dir = tempfile::tempdir().unwrap();
        let all = PromptQueue::of_commands(dir.path(), "s1", &Name::lead(), &Redactor::default());
        for (id, is_dropped) in [("a", false), ("b", false), ("c", true), ("d", true)] {
            assert_eq!(all.push_within(2, prompt(id)).unwrap(), is_dropped, "{id}");
        }
        let again = PromptQueue::of_commands(dir.path(), "s1", &Name::lead(), &Redactor::default());
        again.load(&[]).unwrap();
        let texts = again.take().into_iter().map(|prompt| prompt.text);
        let texts: Vec<String> = texts.collect();
        assert_eq!(
            texts,
            [format!("{DROPPED_MARK}text of c"), "text of d".into()]
        );
        // The queue of prompts has its own file.
        let prompts = queue(dir.path());
        prompts.load(&[]).unwrap();
        assert!(!prompts.is_waiting());
    }

    #[test]
    fn damaged_queue_is_set_aside_with_a_notice() {
        let dir = tempfile::tempdir().unwrap();
        let damaged = queue(dir.path());
        damaged.push(prompt("a")).unwrap();
        fs::write(&damaged.path, "[{\"id\"").unwrap();
        let notice = queue(dir.path()).load(&[]).unwrap().unwrap();
        assert!(notice.contains("prompts.json.damaged-1"), "{notice}");
        assert!(!damaged.path.exists());
    }

    #[test]
    fn secrets_do_not_reach_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
        let all = queue(dir.path());
        let text = format!("use {secret}");
        let id = PromptId("a".into());
        all.push(QueuedPrompt {
            id,
            text: text.clone(),
            attachments: Vec::new(),
            context: Vec::new(),
        })
        .unwrap();
        let written = fs::read_to_string(&all.path).unwrap();
        assert!(!written.contains(secret), "{written}");
        assert_eq!(all.take()[0].text, text);
    }
}
