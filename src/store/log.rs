//! Files that only grow: an agent's conversation, a session's journal. One JSON value a line.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::domain::chat::Message;
use crate::domain::ids::Name;

/// Where an agent's conversation is written: `.transcripts/SESSION-NAME.jsonl`.
#[derive(Debug, Clone)]
pub struct Transcript {
    path: PathBuf,
}

impl Transcript {
    /// The conversation of `name` in `session`.
    pub fn open(root: &Path, session: &str, name: &Name) -> Transcript {
        Transcript {
            path: root
                .join(".transcripts")
                .join(format!("{session}-{name}.jsonl")),
        }
    }

    /// Adds a message; on disk when this returns.
    ///
    /// # Errors
    /// When it can not be written.
    pub fn append(&self, message: &Message) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let at = || StoreError::at(&self.path);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(at())?;
        file.write_all(&line).map_err(at())?;
        file.sync_data().map_err(at())
    }
}

/// A session's journal: `.crewdeck/sessions/ID/journal.jsonl`.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens the journal of `session`.
    ///
    /// # Errors
    /// When its folder can not be made.
    pub fn open(root: &Path, session: &str) -> Result<Journal, StoreError> {
        let dir = root.join(".crewdeck").join("sessions").join(session);
        fs::create_dir_all(&dir).map_err(StoreError::at(&dir))?;
        let path = dir.join("journal.jsonl");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(StoreError::at(&path))?;
        Ok(Journal { path, file })
    }

    /// Adds a line. Not synced: it is a record, nothing depends on it.
    ///
    /// # Errors
    /// When it can not be written.
    pub fn append(&mut self, line: &str) -> Result<(), StoreError> {
        let text = format!("{line}\n");
        self.file
            .write_all(text.as_bytes())
            .map_err(StoreError::at(&self.path))
    }
}
