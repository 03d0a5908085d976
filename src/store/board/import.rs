//! Adds several tasks as one change: all of them or none, also if the writer is killed.
//!
//! The writer first stores all new tasks in the file `.tasks/.import`, then writes their task files, and then deletes
//! that file. A process that holds the lock and finds the file knows that the writer was killed: it writes the missing
//! task files and deletes the file. Before the writer stores the file, it records in the change log that every task may
//! have changed. Each process therefore lists the folder, and finds the file, before its next change.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::{StoreError, atomic, regular_file};
use super::backend::BoardTransaction;
use super::files::{self, IMPORT, LOCK};
use super::locked::{LockedBoard, file_text};
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// Maximum size of the file with the tasks of an import, in bytes.
const IMPORT_FILE_MAX: u64 = 64 * 1024 * 1024;

/// The content of the file `.tasks/.import`.
#[derive(Debug, Serialize, Deserialize)]
struct StoredImport {
    tasks: Vec<Task>,
}

impl LockedBoard<'_> {
    /// Stores the tasks `new`, then records in their blockers which new tasks wait for them.
    ///
    /// # Errors
    /// When a file cannot be written. The error has the kind `AlreadyExists` if a program that ignores the lock has just
    /// used one of the numbers and another attempt is possible. No task is added then.
    pub(super) fn write_tasks(
        &mut self,
        new: &[TaskId],
        blockers: &[TaskId],
    ) -> Result<(), StoreError> {
        let changed: Vec<TaskId> = new.iter().chain(blockers).copied().collect();
        atomic::sweep_under(&self.lock, &std::mem::take(&mut self.cache.temps));
        match self.write_import(new, &changed) {
            Ok(()) => {
                self.write_blockers(blockers);
                Ok(())
            }
            Err(error) => {
                self.reread(&changed)?;
                Err(match error {
                    // If the attempt could not be undone, the next writer finishes it. Another attempt would replace its
                    // file.
                    StoreError::File { path, why }
                        if self.cache.has_import && why.kind() == ErrorKind::AlreadyExists =>
                    {
                        let why = std::io::Error::other(why);
                        StoreError::File { path, why }
                    }
                    error => error,
                })
            }
        }
    }

    /// Writes the files of the tasks `new`. `changed` are these tasks and their blockers on the board.
    fn write_import(&mut self, new: &[TaskId], changed: &[TaskId]) -> Result<(), StoreError> {
        let tasks = new
            .iter()
            .map(|id| self.task(*id).map(Arc::unwrap_or_clone));
        let tasks = tasks.collect::<Result<Vec<Task>, StoreError>>()?;
        let texts = tasks.iter().map(file_text);
        let texts = texts.collect::<Result<Vec<_>, StoreError>>()?;
        let stored = serde_json::to_vec(&StoredImport { tasks })?;
        if stored.len() as u64 > IMPORT_FILE_MAX {
            return Err(StoreError::TooLong(format!(
                "the tasks are too large for one import ({} MiB at most): import them in several parts",
                IMPORT_FILE_MAX / 1024 / 1024
            )));
        }
        // A crash after this skips the numbers, but no number is used twice.
        self.write_last_id(new.last().copied().unwrap_or_default())?;
        let lock = self.dir.join(LOCK);
        let recorded = self.log.append_all(self.lock.file());
        recorded.map_err(StoreError::at(lock))?;
        self.advance_past(changed);
        let mut written = Vec::new();
        let mut result = atomic::write(&self.dir.join(IMPORT), &stored);
        for (id, text) in new.iter().zip(texts) {
            if result.is_err() {
                break;
            }
            let path = files::path(self.dir, *id);
            result = atomic::write_new(&path, &text);
            // A file that already exists belongs to another program.
            if !is_already_exists(&result) {
                written.push(path);
            }
        }
        if result.is_err() {
            self.undo_import(&written);
        } else if self.delete_import().is_err() {
            // The next writer finds that all tasks are there, and deletes the file.
            self.cache.has_import = true;
        }
        result
    }

    /// Records in the files of the tasks `blockers` which new tasks wait for them. If this fails, the import stands: the
    /// files of the new tasks contain the same dependencies.
    fn write_blockers(&mut self, blockers: &[TaskId]) {
        for id in blockers {
            let path = files::path(self.dir, *id);
            let written = match self.file_content(*id) {
                Ok(Some(text)) => atomic::write(&path, &text),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if written.is_err() {
                let _ = self.reread(&[*id]);
            }
        }
    }

    /// Deletes the task files `written` of an import that failed, and the file of the import. If that fails too, the next
    /// writer finishes the import instead.
    fn undo_import(&mut self, written: &[PathBuf]) {
        let is_deleted = |path: &PathBuf| match fs::remove_file(path) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        let is_undone = written.iter().all(is_deleted) && atomic::sync_folder(self.dir).is_ok();
        let is_left = !is_undone || self.delete_import().is_err();
        self.cache.has_import = is_left;
    }

    /// Deletes the file of the import.
    fn delete_import(&mut self) -> Result<(), StoreError> {
        let path = self.dir.join(IMPORT);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(StoreError::at(path)(error));
            }
            Ok(()) | Err(_) => {}
        }
        atomic::sync_folder(self.dir).map_err(StoreError::at(self.dir))?;
        self.cache.has_import = false;
        Ok(())
    }

    /// Writes the missing tasks of an import whose writer was killed. Does nothing if the last full refresh found no
    /// import. A file of an import that cannot be read is renamed. What this has changed is in [`Cache::import_notice`].
    ///
    /// [`Cache::import_notice`]: super::cache::Cache::import_notice
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(super) fn finish_import(&mut self) -> Result<(), StoreError> {
        if !self.cache.has_import {
            return Ok(());
        }
        let path = self.dir.join(IMPORT);
        let tasks = match regular_file::read(&path, IMPORT_FILE_MAX) {
            Ok(bytes) => parse(&bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.cache.has_import = false;
                return Ok(());
            }
            Err(error)
                if regular_file::is_not_regular_file(&error)
                    || error.kind() == ErrorKind::InvalidData =>
            {
                None
            }
            Err(error) => return Err(StoreError::at(path)(error)),
        };
        let Some(tasks) = tasks else {
            // crewdeck writes the file completely or not at all, so another program has written this one.
            let aside = atomic::set_aside(&path)?;
            self.cache.has_import = false;
            self.cache.import_notice = Some(format!(
                ".tasks/{IMPORT} was damaged and was renamed to .tasks/{}",
                aside.file_name().unwrap_or_default().to_string_lossy()
            ));
            return Ok(());
        };
        let dir = self.dir;
        let is_missing = |(task, _): &(Task, Vec<u8>)| !files::path(dir, task.id).exists();
        let missing: Vec<(Task, Vec<u8>)> = tasks.into_iter().filter(is_missing).collect();
        let ids: Vec<TaskId> = missing.iter().map(|(task, _)| task.id).collect();
        if !ids.is_empty() {
            self.record_change(&ids)?;
        }
        for (task, text) in missing {
            let written = atomic::write_new(&files::path(self.dir, task.id), &text);
            if !is_already_exists(&written) {
                written?;
            }
        }
        self.delete_import()?;
        self.refresh(&ids.iter().copied().collect())?;
        if let Some(notice) = notice(&ids) {
            self.cache.import_notice = Some(notice);
        }
        Ok(())
    }
}

/// Returns the tasks of an import that is being written or was interrupted in the board's folder `dir`. Empty if there is
/// none, or if its file cannot be read.
pub(super) fn stored_tasks(dir: &Path) -> Vec<Task> {
    let bytes = regular_file::read(&dir.join(IMPORT), IMPORT_FILE_MAX).ok();
    let tasks = bytes.and_then(|bytes| parse(&bytes)).unwrap_or_default();
    tasks.into_iter().map(|(task, _)| task).collect()
}

/// Returns the notice that an interrupted import was finished; `None` if no task was missing.
fn notice(added: &[TaskId]) -> Option<String> {
    let (first, last) = (added.first()?, added.last()?);
    Some(if added.len() == 1 {
        format!("an interrupted import was finished: task {first} was added")
    } else {
        let count = added.len();
        format!(
            "an interrupted import was finished: {count} tasks were added, from {first} to {last}"
        )
    })
}

/// Parses the file of an import. Returns each task with the content of its file; `None` if the file is invalid.
fn parse(bytes: &[u8]) -> Option<Vec<(Task, Vec<u8>)>> {
    let stored: StoredImport = serde_json::from_slice(bytes).ok()?;
    let valid = |task: Task| {
        let is_numbered = task.id > TaskId::default() && task.id <= TaskId::MAX;
        let text = file_text(&task).ok()?;
        is_numbered.then_some((task, text))
    };
    stored.tasks.into_iter().map(valid).collect()
}

fn is_already_exists(written: &Result<(), StoreError>) -> bool {
    matches!(written, Err(StoreError::File { why, .. }) if why.kind() == ErrorKind::AlreadyExists)
}
