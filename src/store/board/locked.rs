//! Changes the board while its lock is held: reads the tasks that a change depends on and writes the changed tasks.

use std::fs;
use std::path::Path;
use std::sync::{Arc, MutexGuard};

use super::super::atomic::{self, Lock};
use super::super::{StoreError, read_stable::FILE_MAX, regular_file};
use super::cache::Cache;
use super::change_log::ChangeLog;
use super::files::{self, LAST_ID, LOCK};
use super::task_set::TaskSet;
use crate::domain::graph::{Claimer, GraphError, NewTask, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;

/// Maximum size of the file that stores the highest task number, in bytes.
const LAST_ID_MAX: u64 = 1024;

pub(super) struct LockedBoard<'a> {
    pub dir: &'a Path,
    pub log: ChangeLog,
    pub cache: MutexGuard<'a, Cache>,
    pub lock: Lock,
}

/// What [`LockedBoard::save`] does with the file of the first task in its list. The other tasks in the list already
/// have a file, which is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstWrite {
    /// Create the file, which must not exist, and record the task number as used.
    Insert,
    /// Like `Insert`, but the task number is already recorded as used.
    InsertReserved,
    Update,
    /// Delete the file. The task number still counts as used.
    Delete,
}

impl FirstWrite {
    fn is_new(self) -> bool {
        matches!(self, FirstWrite::Insert | FirstWrite::InsertReserved)
    }
}

impl LockedBoard<'_> {
    /// Updates the cached task `id`, its blockers and its dependants from their files. Then applies `rule` to the
    /// graph, writes the tasks that `rule` returns, and returns the task `id`. Fails if the task does not exist, `rule`
    /// rejects the change, or a file cannot be read or written.
    pub(super) fn change(
        &mut self,
        id: TaskId,
        rule: impl FnOnce(&mut TaskGraph) -> Result<Vec<TaskId>, GraphError>,
    ) -> Result<Task, StoreError> {
        self.refresh_with_neighbors(id)?;
        let changed = rule(self.graph())?;
        self.save(&changed, FirstWrite::Update)?;
        self.task(id)
    }

    /// Updates the cached tasks `ids` from their files. Call this for the tasks on which a change depends. Damaged
    /// files are not renamed.
    pub(super) fn refresh(
        &mut self,
        ids: impl IntoIterator<Item = TaskId>,
    ) -> Result<(), StoreError> {
        let which = TaskSet::These(ids.into_iter().collect());
        self.cache.refresh(self.dir, &which)
    }

    /// Updates the cached task `id`, its blockers and its dependants from their files. Fails if the task does not
    /// exist.
    pub(super) fn refresh_with_neighbors(&mut self, id: TaskId) -> Result<(), StoreError> {
        self.refresh([id])?;
        self.cache.task(id)?;
        let mut neighbors = self.cache.graph.blockers(id);
        neighbors.extend(self.cache.graph.dependants(id));
        self.refresh(neighbors)
    }

    /// Updates the open task of `name` in the cache: the task that `name` has claimed and not completed. Reads the file
    /// of the open task that the cache contains. If the task is no longer open according to the file, reads the file of
    /// the next open task of `name` in the cache. Stops when a file confirms an open task, or when the cache contains
    /// none.
    pub(super) fn refresh_open_task_of(&mut self, name: &Name) -> Result<(), StoreError> {
        while let Some(id) = self.cache.graph.open_task_of(name).map(|t| t.id) {
            self.refresh([id])?;
            if self
                .cache
                .graph
                .get(id)
                .is_some_and(|t| t.is_open_for(name.as_str()))
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the first task that `claimer` may claim according to the files on disk; `None` if there is none. Fails
    /// if the claimer already has an open task.
    pub(super) fn first_claimable(
        &mut self,
        claimer: &Claimer,
    ) -> Result<Option<TaskId>, StoreError> {
        if let Some(open) = self.cache.graph.open_task_of(&claimer.name) {
            let who = claimer.name.clone();
            return Err(GraphError::Busy { who, open: open.id }.into());
        }
        // A task whose files show that it cannot be claimed is no longer a candidate, so the loop ends.
        while let Some(id) = self.cache.graph.claimable(claimer).map(|t| t.id) {
            self.refresh([id])?;
            if self.cache.graph.get(id).is_some() {
                self.refresh_with_neighbors(id)?;
            }
            if self
                .cache
                .graph
                .claimable(claimer)
                .is_some_and(|t| t.id == id)
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    pub(super) fn graph(&mut self) -> &mut TaskGraph {
        Arc::make_mut(&mut self.cache.graph)
    }

    pub(super) fn task(&self, id: TaskId) -> Result<Task, StoreError> {
        self.cache.task(id).map(Arc::unwrap_or_clone)
    }

    /// Updates the cached tasks `ids` from their files. Fails if one of them does not exist.
    pub(super) fn refresh_existing(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.refresh(ids.iter().copied())?;
        ids.iter()
            .try_for_each(|id| self.cache.task(*id).map(|_| ()))
    }

    /// Writes the changed tasks. The first is the task that the change is about; the others change as a consequence. If a
    /// crash leaves the others unwritten, no task stays blocked by mistake: whether a task is blocked follows from the
    /// status of its blockers, which is in their own files.
    ///
    /// # Errors
    /// When a task is too large for its file, or a file cannot be written. The cache is then updated from the files.
    pub(super) fn save(&mut self, changed: &[TaskId], first: FirstWrite) -> Result<(), StoreError> {
        atomic::sweep_under(&self.lock, &std::mem::take(&mut self.cache.temps));
        let written = self.write_all(changed, first);
        if written.is_err() {
            for id in changed {
                self.cache.invalidate(*id);
            }
            self.refresh(changed.iter().copied())?;
        }
        written
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

    /// Checks a new task, records the next free task number as used, and returns this number. Fails if a blocker does
    /// not exist, the graph rejects the task, no number is left, or a file cannot be read or written.
    pub(super) fn reserve(&mut self, new: &NewTask, now: Timestamp) -> Result<TaskId, StoreError> {
        self.refresh_existing(&new.blocked_by)?;
        let id = self.next_id()?;
        // On a copy: the task is not created yet.
        self.graph().clone().create(id, new.clone(), now)?;
        self.write_last_id(id)?;
        Ok(id)
    }

    /// Returns the number for a new task, which no earlier task had. Fails if a file cannot be read or no number is
    /// left.
    pub(super) fn next_id(&mut self) -> Result<TaskId, StoreError> {
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
