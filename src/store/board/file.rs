//! The embedded store of a board: `.tasks/task_N.json`, one file per task.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::StoreError;
use super::super::atomic::{self, Lock};
use super::super::notices::limit_notices;
use super::super::read_stable::{self, StableRead};
use super::backend::{BoardSnapshot, BoardStore, BoardTransaction, BoardUpdate, TransactionBody};
use super::cache::Cache;
use super::change_log::ChangeLog;
use super::files::{self, LOCK};
use super::import;
use super::locked::{LockedBoard, recorded_last_id};
use super::task_set::TaskSet;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// The task files of a project, with a cache of the tasks. [`Board`](super::Board) describes the guarantees.
#[derive(Debug)]
pub(super) struct FileBoard {
    dir: PathBuf,
    cache: Mutex<Cache>,
}

impl BoardStore for FileBoard {
    fn read(&self) -> Result<BoardSnapshot, StoreError> {
        self.refresh_unlocked(|_| TaskSet::All)?;
        let cache = self.cache();
        Ok(BoardSnapshot {
            graph: Arc::clone(&cache.graph),
            notices: limit_notices(cache.problems()),
        })
    }

    fn repair(&self) -> Result<Vec<String>, StoreError> {
        self.set_aside()
    }

    fn query(&self, question: &mut dyn FnMut(&TaskGraph)) -> Result<(), StoreError> {
        self.refresh_unlocked(|since| since)?;
        question(&self.cache().graph);
        Ok(())
    }

    fn get(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        self.refresh_unlocked(|since| since.and(id))?;
        self.cache().task(id)
    }

    fn update_since(&self, which: &TaskSet, known: &TaskGraph) -> Result<BoardUpdate, StoreError> {
        let is_first = !self.cache().is_loaded();
        self.refresh_unlocked(|since| match which {
            TaskSet::All => TaskSet::All,
            TaskSet::These(ids) => ids.iter().fold(since, |all, id| all.and(*id)),
        })?;
        let mut notices = self.set_aside()?;
        let mut cache = self.cache();
        notices.append(&mut cache.take_unreported());
        let delta = match which {
            TaskSet::These(ids) if !is_first => known.delta_of(&cache.graph, ids),
            TaskSet::These(_) | TaskSet::All => known.delta(&cache.graph),
        };
        Ok(BoardUpdate {
            delta,
            notices: limit_notices(notices),
        })
    }

    fn preview(&self) -> Result<(TaskGraph, TaskId), StoreError> {
        let mut graph = Arc::unwrap_or_clone(self.read()?.graph);
        // The tasks of an interrupted import count as added, because the next writer adds them first.
        for task in import::stored_tasks(&self.dir) {
            if graph.get(task.id).is_none() {
                graph.put(Arc::new(task));
            }
        }
        let recorded = recorded_last_id(&self.dir)?;
        let highest = graph.tasks().next_back().map_or(0, |task| task.id.0);
        let last = recorded.max(highest).max(self.cache().last);
        Ok((graph, TaskId(last)))
    }

    /// Takes the lock, so that `body` runs once.
    fn transact(&self, body: &mut TransactionBody<'_>) -> Result<(), StoreError> {
        body(&mut self.lock()?)
    }
}

impl FileBoard {
    /// Opens the board of the project in `root`. Reads nothing yet.
    pub(super) fn open(root: &Path) -> FileBoard {
        FileBoard {
            dir: root.join(".tasks"),
            cache: Mutex::default(),
        }
    }

    /// Updates the cache from the files, without the lock. `choose` gets the tasks that changed since the last update,
    /// and returns the tasks whose files are checked.
    fn refresh_unlocked(&self, choose: impl FnOnce(TaskSet) -> TaskSet) -> Result<(), StoreError> {
        // The cache is locked before the log is read, so that this process cannot change the board in between. A log
        // that is older than the cache would look like a lost log and cause a full refresh.
        let mut cache = self.cache();
        // The log is read before the files, so all its changes except the last are already on disk. If the log is
        // invalid, a writer may be about to complete it, so the log is read once more.
        let lock = self.dir.join(LOCK);
        let log = ChangeLog::peek(&lock).or_else(|| ChangeLog::peek(&lock));
        let since = cache.changed_since_refresh(log.as_ref());
        cache.refresh(&self.dir, &choose(since))?;
        if let Some(log) = log {
            cache.advance_to(log.revision_before_last());
        }
        Ok(())
    }

    /// Renames each task file that the last refresh found damaged to `NAME.damaged-N`, unless the file was fixed since
    /// then. Returns a notice for each renamed file. Also deletes the temporary files of killed writers, and finishes an
    /// import whose writer was killed.
    ///
    /// # Errors
    /// When a damaged file cannot be renamed, or another file cannot be read or written.
    fn set_aside(&self) -> Result<Vec<String>, StoreError> {
        self.sweep();
        self.finish_import();
        let mut notices: Vec<String> = self.cache().import_notice.take().into_iter().collect();
        let damaged = self.cache().damaged_tasks();
        if damaged.is_empty() {
            return Ok(notices);
        }
        let mut locked = self.lock()?;
        // The highest number is recorded as used, so that no process uses the numbers of the damaged files again, not
        // even a process that never saw these files.
        let last = damaged
            .iter()
            .copied()
            .fold(TaskId(locked.cache.last), TaskId::max);
        locked.write_last_id(last)?;
        locked.record_change(&damaged)?;
        for id in damaged {
            let path = files::path(&self.dir, id);
            // Another process may have fixed or moved the file during the wait for the lock.
            if let StableRead::Damaged(why) = read_stable::read::<Task>(&path)? {
                let aside = atomic::set_aside(&path)?;
                notices.push(format!(
                    ".tasks/{} was damaged ({why}) and was renamed to .tasks/{}",
                    files::name(id),
                    aside.file_name().unwrap_or_default().to_string_lossy()
                ));
            }
            locked.refresh(&BTreeSet::from([id]))?;
        }
        Ok(notices)
    }

    /// Deletes temporary files of killed writers. Does nothing while the lock is held, because its holder deletes such
    /// files itself.
    fn sweep(&self) {
        let temps = std::mem::take(&mut self.cache().temps);
        if temps.is_empty() {
            return;
        }
        // If the lock cannot be taken, for example on a read-only file system, the files stay. They do no harm.
        if let Ok(Some(lock)) = Lock::take_within(&self.dir.join(LOCK), Duration::ZERO) {
            atomic::sweep_under(&lock, &temps);
        }
    }

    /// Finishes an import whose writer was killed, if the last refresh found one. Does nothing while the lock is held,
    /// because its holder writes the import or finishes it.
    fn finish_import(&self) {
        if !self.cache().has_import {
            return;
        }
        // If the lock cannot be taken, for example on a read-only file system, a later writer finishes the import.
        if let Ok(Some(lock)) = Lock::take_within(&self.dir.join(LOCK), Duration::ZERO)
            && let Err(error) = self.locked_with(lock)
        {
            let notice = format!("an interrupted import cannot be finished: {error}");
            self.cache().import_notice = Some(notice);
        }
    }

    /// Takes the lock, waiting for it without a limit, and reads what other processes have changed.
    fn lock(&self) -> Result<LockedBoard<'_>, StoreError> {
        if !self.cache().is_loaded() {
            // The first full read runs without the lock, so that other processes need not wait.
            self.refresh_unlocked(|since| since)?;
        }
        // The lock between processes comes first, so that waiting for it does not block readers in this process.
        let lock = Lock::take(&self.dir.join(LOCK))?;
        self.locked_with(lock)
    }

    /// Reads what other processes have changed, and finishes an import whose writer was killed. `lock` is the lock of this
    /// board.
    fn locked_with(&self, lock: Lock) -> Result<LockedBoard<'_>, StoreError> {
        let mut cache = self.cache();
        let log = ChangeLog::read(lock.file()).unwrap_or_else(ChangeLog::empty);
        cache.apply_log(&self.dir, &log)?;
        let mut locked = LockedBoard {
            dir: &self.dir,
            log,
            cache,
            lock,
        };
        locked.finish_import()?;
        Ok(locked)
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
