//! Changes the board while its lock is held: reads the tasks that a change depends on and writes the changed tasks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, MutexGuard};

use super::super::atomic::{self, Lock};
use super::super::{StoreError, read_stable::FILE_MAX, regular_file};
use super::backend::{BoardTransaction, FirstWrite};
use super::cache::Cache;
use super::change_log::ChangeLog;
use super::files::{self, LAST_ID, LOCK};
use super::task_set::TaskSet;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// Maximum size of the file that stores the highest task number, in bytes.
const LAST_ID_MAX: u64 = 1024;

pub(super) struct LockedBoard<'a> {
    pub dir: &'a Path,
    pub log: ChangeLog,
    pub cache: MutexGuard<'a, Cache>,
    pub lock: Lock,
}

impl BoardTransaction for LockedBoard<'_> {
    fn graph(&self) -> &TaskGraph {
        &self.cache.graph
    }

    fn graph_mut(&mut self) -> &mut TaskGraph {
        Arc::make_mut(&mut self.cache.graph)
    }

    /// Damaged files are not renamed.
    fn refresh(&mut self, ids: &BTreeSet<TaskId>) -> Result<(), StoreError> {
        ids.iter().try_for_each(|id| self.refresh_task(*id))
    }

    fn refresh_all(&mut self) -> Result<(), StoreError> {
        self.cache.refresh(self.dir, &TaskSet::All)
    }

    fn task(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        self.cache.task(id)
    }

    fn next_id(&mut self) -> Result<TaskId, StoreError> {
        let last = recorded_last_id(self.dir)?.max(self.cache.last);
        // A program that ignores the lock may have used the next number.
        let last = if files::path(self.dir, TaskId(last.saturating_add(1))).exists() {
            self.cache.refresh(self.dir, &TaskSet::All)?;
            last.max(self.cache.last)
        } else {
            last
        };
        if last >= TaskId::MAX.0 {
            let text = format!(
                "no number is left for a new task, because task {} has the highest possible number: give it a lower one",
                TaskId(last)
            );
            return Err(StoreError::TooLong(text));
        }
        Ok(TaskId(last + 1))
    }

    fn reserve_id(&mut self, id: TaskId) -> Result<(), StoreError> {
        self.write_last_id(id)
    }

    /// If a crash leaves the consequences unwritten, no task stays blocked by mistake: whether a task is blocked follows
    /// from the status of its blockers, which is in their own files. After an error, the cache is updated from the files.
    fn save(&mut self, changed: &[TaskId], first: FirstWrite) -> Result<(), StoreError> {
        atomic::sweep_under(&self.lock, &std::mem::take(&mut self.cache.temps));
        let written = self.write_all(changed, first);
        if written.is_err() {
            self.reread(changed)?;
        }
        written
    }

    fn save_import(&mut self, new: &[TaskId], blockers: &[TaskId]) -> Result<(), StoreError> {
        self.write_tasks(new, blockers)
    }
}

impl LockedBoard<'_> {
    fn refresh_task(&mut self, id: TaskId) -> Result<(), StoreError> {
        let which = TaskSet::These(BTreeSet::from([id]));
        self.cache.refresh(self.dir, &which)
    }

    /// Reads the files of the tasks `ids` after they could not be written.
    pub(super) fn reread(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        for id in ids {
            self.cache.invalidate(*id);
        }
        self.refresh(&ids.iter().copied().collect())
    }

    fn write_all(&mut self, changed: &[TaskId], first: FirstWrite) -> Result<(), StoreError> {
        let texts = changed
            .iter()
            .map(|id| self.file_content(*id))
            .collect::<Result<Vec<_>, _>>()?;
        self.record_change(changed)?;
        // The number is recorded before the task file is written. A crash in between skips the number, but no number is
        // used twice.
        match first {
            FirstWrite::Insert => {
                self.write_last_id(changed.iter().copied().next().unwrap_or_default())?;
            }
            FirstWrite::Delete => self.write_last_id(TaskId(self.cache.last))?,
            FirstWrite::InsertReserved | FirstWrite::Update => {}
        }
        for (at, (id, text)) in changed.iter().zip(texts).enumerate() {
            let path = files::path(self.dir, *id);
            match text {
                Some(text) if at == 0 && first.is_new() => {
                    atomic::write_new(&path, &text)?;
                }
                Some(text) => atomic::write(&path, &text)?,
                None => {
                    fs::remove_file(&path).map_err(StoreError::at(&path))?;
                    atomic::sync_folder(self.dir).map_err(StoreError::at(self.dir))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the new content of a task file, or `None` if the task is no longer in the graph, so that its file is to be
    /// deleted. Fails if the content would be larger than [`FILE_MAX`].
    pub(super) fn file_content(&self, id: TaskId) -> Result<Option<Vec<u8>>, StoreError> {
        self.cache.graph.get(id).map(file_text).transpose()
    }

    /// Adds a change of the tasks `ids` to the change log. Call this before their files are written.
    pub(super) fn record_change(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        let path = self.dir.join(LOCK);
        let recorded = self.log.append(ids, self.lock.file());
        recorded.map_err(StoreError::at(path))?;
        self.advance_past(ids);
        Ok(())
    }

    /// Records that the cache contains the last change of the log, and that the files of the tasks `ids` will change.
    pub(super) fn advance_past(&mut self, ids: &[TaskId]) {
        self.cache.advance_to(self.log.revision().clone());
        for id in ids {
            self.cache.invalidate(*id);
        }
    }

    /// Records the task number `id` as the highest one, so that it is never used again.
    pub(super) fn write_last_id(&self, id: TaskId) -> Result<(), StoreError> {
        atomic::write(&self.dir.join(LAST_ID), id.0.to_string().as_bytes())
    }
}

/// Returns the content of the file of a task. Fails if it would be larger than [`FILE_MAX`].
pub(super) fn file_text(task: &Task) -> Result<Vec<u8>, StoreError> {
    let mut text = serde_json::to_vec_pretty(task)?;
    text.push(b'\n');
    if text.len() as u64 > FILE_MAX {
        return Err(StoreError::TooLong(format!(
            "task {} would be too large for its file ({} MiB at most): shorten its description or remove dependencies",
            task.id,
            FILE_MAX / 1024 / 1024
        )));
    }
    Ok(text)
}

/// Returns the highest task number that is recorded as used in the folder `dir`; 0 if none is.
pub(super) fn recorded_last_id(dir: &Path) -> Result<u64, StoreError> {
    let path = dir.join(LAST_ID);
    match regular_file::read_text(&path, LAST_ID_MAX) {
        Ok(text) => Ok(text.trim().parse().unwrap_or(0)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(e) => Err(StoreError::at(path)(e)),
    }
}
