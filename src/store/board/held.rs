//! The board while its lock is held: looks at what a decision depends on, and writes what was decided.

use std::fs;
use std::path::Path;
use std::sync::{Arc, MutexGuard};

use super::super::atomic::{self, Lock};
use super::super::{StoreError, plain, settle::FILE_MAX};
use super::cache::Cache;
use super::record::Record;
use super::{LAST_ID, LOCK, Which, files};
use crate::domain::graph::{Claimer, GraphError, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;

/// Most bytes of the file with the last number.
const LAST_ID_MAX: u64 = 1024;

/// The board while its lock is held.
pub(super) struct Held<'a> {
    pub dir: &'a Path,
    pub record: Record,
    pub cache: MutexGuard<'a, Cache>,
    pub lock: Lock,
}

/// What becomes of the first task of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// It is new: no file may be there, and its number is noted.
    Made,
    /// It has other values.
    Kept,
    /// It is taken off; its number stays taken.
    Gone,
}

impl Held<'_> {
    pub(super) fn change(
        &mut self,
        id: TaskId,
        rule: impl FnOnce(&mut TaskGraph) -> Result<Vec<TaskId>, GraphError>,
    ) -> Result<Task, StoreError> {
        self.look_around(id)?;
        let changed = rule(self.graph())?;
        self.save(&changed, First::Kept)?;
        self.task(id)
    }

    /// Looks at tasks that a decision depends on. What is damaged stays where it is.
    pub(super) fn look(&mut self, ids: impl IntoIterator<Item = TaskId>) -> Result<(), StoreError> {
        let which = Which::These(ids.into_iter().collect());
        self.cache.look(self.dir, &which)
    }

    /// Looks at a task, which must be there, at what it waits for and at what waits for it.
    pub(super) fn look_around(&mut self, id: TaskId) -> Result<(), StoreError> {
        self.look([id])?;
        self.cache.task(id)?;
        let mut around = self.cache.graph.blockers(id);
        around.extend(self.cache.graph.dependants(id));
        self.look(around)
    }

    /// Looks at the tasks that `name` works on as far as is known.
    pub(super) fn look_at_open_of(&mut self, name: &Name) -> Result<(), StoreError> {
        while let Some(id) = self.cache.graph.open_task_of(name).map(|t| t.id) {
            self.look([id])?;
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

    /// The first task that `claimer` may claim, looked at.
    pub(super) fn first_for(&mut self, claimer: &Claimer) -> Result<Option<TaskId>, StoreError> {
        if let Some(open) = self.cache.graph.open_task_of(&claimer.name) {
            let who = claimer.name.clone();
            return Err(GraphError::Busy { who, open: open.id }.into());
        }
        // Each look that shows another task than was known shortens the list of those that seem ready.
        while let Some(id) = self.cache.graph.claimable(claimer).map(|t| t.id) {
            self.look([id])?;
            if self.cache.graph.get(id).is_some() {
                self.look_around(id)?;
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

    /// Looks at tasks that a change names; each must be there.
    pub(super) fn look_at_named(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        self.look(ids.iter().copied())?;
        ids.iter()
            .try_for_each(|id| self.cache.task(*id).map(|_| ()))
    }

    /// Writes the changed tasks, the first (the one that was changed itself) first: the others follow from
    /// it, so after a crash in between nothing is stuck, because a blocker counts by its own status.
    ///
    /// # Errors
    /// When a file can not be written; what is known is then what the files say.
    pub(super) fn save(&mut self, changed: &[TaskId], first: First) -> Result<(), StoreError> {
        atomic::sweep_under(&self.lock, &std::mem::take(&mut self.cache.temps));
        let written = self.write_all(changed, first);
        if written.is_err() {
            for id in changed {
                self.cache.doubt(*id);
            }
            self.look(changed.iter().copied())?;
        }
        written
    }

    fn write_all(&mut self, changed: &[TaskId], first: First) -> Result<(), StoreError> {
        let texts = changed
            .iter()
            .map(|id| self.text(*id))
            .collect::<Result<Vec<_>, _>>()?;
        self.record_change(changed)?;
        // The number first: after a crash in between it is lost, but never given twice.
        match first {
            First::Made => self.note_last(changed.iter().copied().next().unwrap_or_default())?,
            First::Gone => self.note_last(TaskId(self.cache.last))?,
            First::Kept => {}
        }
        for (at, (id, text)) in changed.iter().zip(texts).enumerate() {
            let path = files::path(self.dir, *id);
            match text {
                Some(text) if at == 0 && first == First::Made => atomic::write_new(&path, &text)?,
                Some(text) => atomic::write(&path, &text)?,
                None => {
                    fs::remove_file(&path).map_err(StoreError::at(&path))?;
                    atomic::sync_folder(self.dir).map_err(StoreError::at(self.dir))?;
                }
            }
        }
        Ok(())
    }

    /// What the file of a task is to hold; `None`: there is to be none.
    fn text(&self, id: TaskId) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(task) = self.cache.graph.get(id) else {
            return Ok(None);
        };
        let mut text = serde_json::to_vec_pretty(task)?;
        text.push(b'\n');
        if text.len() as u64 > FILE_MAX {
            return Err(StoreError::TooLong(format!(
                "task {id} would be too large for its file ({} MiB at most): shorten it or take edges away",
                FILE_MAX / 1024 / 1024
            )));
        }
        Ok(Some(text))
    }

    /// Says in the record what is about to be changed.
    pub(super) fn record_change(&mut self, ids: &[TaskId]) -> Result<(), StoreError> {
        let path = self.dir.join(LOCK);
        let noted = self.record.note(ids, self.lock.file());
        noted.map_err(StoreError::at(path))?;
        self.cache.agrees_with(self.record.mark().clone());
        for id in ids {
            self.cache.doubt(*id);
        }
        Ok(())
    }

    pub(super) fn note_last(&self, id: TaskId) -> Result<(), StoreError> {
        atomic::write(&self.dir.join(LAST_ID), id.0.to_string().as_bytes())
    }

    pub(super) fn next_id(&mut self) -> Result<TaskId, StoreError> {
        let path = self.dir.join(LAST_ID);
        let noted: u64 = match plain::read_text(&path, LAST_ID_MAX) {
            Ok(text) => text.trim().parse().unwrap_or(0),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => 0,
            Err(e) => return Err(StoreError::at(path)(e)),
        };
        let last = noted.max(self.cache.last);
        // Whoever takes no lock may have taken the number.
        let last = if files::path(self.dir, TaskId(last.saturating_add(1))).exists() {
            self.cache.look(self.dir, &Which::All)?;
            last.max(self.cache.last)
        } else {
            last
        };
        if last >= TaskId::MAX.0 {
            let text = format!(
                "no number is left for a new task: {} is taken; give the task with the highest number a lower one",
                TaskId(last)
            );
            return Err(StoreError::TooLong(text));
        }
        Ok(TaskId(last + 1))
    }
}
