//! The task board on disk: `.tasks/task_N.json`, one file per task.

mod cache;
mod change_log;
mod files;
mod import;
mod locked;
mod task_set;
#[cfg(test)]
mod tests;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::StoreError;
use super::atomic::{self, Lock};
use super::read_stable::{self, StableRead};
use crate::domain::checks::CheckRecord;
use crate::domain::graph::{BoardDelta, Claimer, NewTask, PlannedTask, TaskEdit, TaskGraph};
use crate::domain::ids::{Name, TaskId, TaskRef};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
use cache::Cache;
use change_log::ChangeLog;
pub(crate) use change_log::rewrite_change_log;
use files::LOCK;
use locked::{FirstWrite, LockedBoard, recorded_last_id};
pub use task_set::TaskSet;

/// Maximum number of notices about files that cannot be used. One more line has the number of further notices.
const NOTICES_MAX: usize = 20;

/// Maximum number of attempts to add the tasks of an import. An attempt fails if a program that ignores the lock uses one
/// of their numbers at the same time.
const ATTEMPTS_MAX: usize = 10;

/// The board of a project. Clones share a cache of the tasks.
///
/// # Guarantees
///
/// Every change is made under the lock `.tasks/.lock`:
///
/// - With other crewdeck processes, all rules of the board hold: a task has one owner, an agent has one open task, a
///   number is used once, and dependencies form no cycle. The lock file holds a log of the last changes
///   (`store/board/change_log.rs`), so the next writer first reads what it has missed.
/// - Other programs may write without the lock (learn-claude-code rewrites its files in place). Therefore a change
///   first compares inode, size and times of the files of the task, its blockers, its dependants and the claimer's open
///   task, and reads the files that differ. So the change respects and keeps what such a program saved before this
///   check. What such a program saves between this check and the write of crewdeck is lost, because the later write
///   wins. crewdeck never leaves an incomplete file.
/// - A change does not check other tasks, for example a task that another program has just assigned to the claimer, or
///   the far end of a cycle. The cached data about such tasks is as old as the last refresh. The last refresh is very
///   recent if the folder is watched ([`crate::store::watch`]), otherwise at most 15 seconds old, plus one second per
///   200 tasks. The extra seconds keep the cost of refreshes constant as the board grows.
#[derive(Debug, Clone)]
pub struct Board {
    dir: PathBuf,
    cache: Arc<Mutex<Cache>>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoardSnapshot {
    /// The tasks that could be read.
    pub graph: Arc<TaskGraph>,
    /// Notices about files that cannot be used or were renamed, and about a dependency cycle: at most `NOTICES_MAX` lines,
    /// and one with the number of further notices.
    pub notices: Vec<String>,
}

/// What has changed on the board compared with a graph that the caller has.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoardUpdate {
    pub delta: BoardDelta,
    /// Notices about files, and about a dependency cycle, that [`Board::update_since`] has not returned before: at most
    /// `NOTICES_MAX` lines, and one with the number of further notices.
    pub notices: Vec<String>,
}

impl Board {
    /// Opens the board of the project in `root`. Reads nothing yet.
    pub fn open(root: &Path) -> Board {
        Board {
            dir: root.join(".tasks"),
            cache: Arc::default(),
        }
    }

    /// Returns the whole board as it is on disk. Needs no lock, because each task is a separate file. Reads only files that
    /// have changed. Damaged files stay in place.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn read(&self) -> Result<BoardSnapshot, StoreError> {
        self.refresh_unlocked(|_| TaskSet::All)?;
        let cache = self.cache();
        Ok(BoardSnapshot {
            graph: Arc::clone(&cache.graph),
            notices: limit_notices(cache.problems()),
        })
    }

    /// Renames damaged files and returns the whole board. The notices give the new names of the files.
    ///
    /// # Errors
    /// When the folder cannot be read, or a damaged file cannot be renamed.
    pub fn read_and_repair(&self) -> Result<BoardSnapshot, StoreError> {
        self.refresh_unlocked(|_| TaskSet::All)?;
        let mut notices = self.set_aside()?;
        let mut reading = self.read()?;
        notices.append(&mut reading.notices);
        reading.notices = limit_notices(notices);
        Ok(reading)
    }

    /// Returns the result of `question` on the cached graph. First reads the tasks that other crewdeck processes have
    /// changed. Changes by programs that ignore the lock are included only after the file watch has reported them or a
    /// full refresh has found them. `question` runs while the cache is locked, so it must not call this board.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn query<T>(&self, question: impl FnOnce(&TaskGraph) -> T) -> Result<T, StoreError> {
        self.refresh_unlocked(|since| since)?;
        Ok(question(&self.cache().graph))
    }

    /// Returns the task `id` as it is on disk.
    ///
    /// # Errors
    /// When the task does not exist or cannot be read.
    pub fn get(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        self.refresh_unlocked(|since| since.and(id))?;
        self.cache().task(id)
    }

    /// Returns the number in `reference`. Does not check whether a task has this number.
    ///
    /// # Errors
    /// When `reference` is text instead of a number. The error names the task with that subject, if there is one.
    pub fn resolve(&self, reference: &TaskRef) -> Result<TaskId, StoreError> {
        match reference {
            TaskRef::Id(id) => Ok(*id),
            TaskRef::Subject(words) => {
                Err(self.query(|graph| graph.not_a_number_error(words))?.into())
            }
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

    /// Checks the files of the tasks in `which` and renames damaged ones. Returns how the board differs from `known`,
    /// the graph that the caller has. With [`TaskSet::These`], compares only these tasks, unless this is the first time
    /// that the board is read.
    ///
    /// # Errors
    /// When the folder cannot be read, or a damaged file cannot be renamed.
    pub fn update_since(
        &self,
        which: &TaskSet,
        known: &TaskGraph,
    ) -> Result<BoardUpdate, StoreError> {
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

    /// Creates a task with a number that was never used before.
    ///
    /// # Errors
    /// When the graph rejects the task, a file cannot be read or written, or no number is left.
    pub fn create(&self, new: NewTask, now: Timestamp) -> Result<Task, StoreError> {
        self.create_as(None, new, now)
    }

    /// Creates a task like [`Board::create`]. If `reserved` is a number that [`Board::reserve`] has returned, the task
    /// gets this number. If another program has used the number meanwhile, the task gets the next free number.
    ///
    /// # Errors
    /// As [`Board::create`].
    #[allow(clippy::needless_pass_by_value)] // consistent with the other stores
    pub fn create_as(
        &self,
        mut reserved: Option<TaskId>,
        new: NewTask,
        now: Timestamp,
    ) -> Result<Task, StoreError> {
        let mut locked = self.lock()?;
        locked.refresh_existing(&new.blocked_by)?;
        loop {
            let (id, first) = match reserved.take() {
                Some(id) => (id, FirstWrite::InsertReserved),
                None => (locked.next_id()?, FirstWrite::Insert),
            };
            let changed = locked.graph().create(id, new.clone(), now)?;
            match locked.save(&changed, first) {
                // A program that ignores the lock has used the number. Its task stays, and the new task gets the next
                // number.
                Err(StoreError::File { why, .. }) if why.kind() == ErrorKind::AlreadyExists => {}
                saved => return saved.and_then(|()| locked.task(id)),
            }
        }
    }

    /// Adds several tasks: all of them, or none if one is rejected. If this process is killed in between, the next process
    /// that changes or lists the board adds the rest. `plan` returns the tasks; it gets the graph with every change that is
    /// on disk, which no other crewdeck process can change before the tasks are added. It may be called several times.
    ///
    /// # Errors
    /// When `plan` fails, the graph rejects a task, a file cannot be read or written, or no number is left. No task is
    /// added then.
    pub fn create_all<E: From<StoreError>>(
        &self,
        mut plan: impl FnMut(&TaskGraph) -> Result<Vec<PlannedTask>, E>,
        now: Timestamp,
    ) -> Result<Vec<Task>, E> {
        let mut locked = self.lock()?;
        let mut attempts = ATTEMPTS_MAX;
        loop {
            locked.cache.refresh(&self.dir, &TaskSet::All)?;
            let planned = plan(&locked.cache.graph)?;
            if planned.is_empty() {
                return Ok(Vec::new());
            }
            match locked.create_all(&planned, now) {
                // If the attempt could not be undone, the next writer finishes it. Another attempt would replace its file.
                Err(StoreError::File { why, .. })
                    if why.kind() == ErrorKind::AlreadyExists
                        && attempts > 1
                        && !locked.cache.has_import =>
                {
                    attempts -= 1;
                }
                created => return Ok(created?),
            }
        }
    }

    /// Returns the tasks that [`Board::create_all`] would add, with the numbers that they would get. Changes nothing and
    /// takes no lock.
    ///
    /// # Errors
    /// When `plan` fails, the graph rejects a task, or a file cannot be read.
    pub fn preview_all<E: From<StoreError>>(
        &self,
        plan: impl FnOnce(&TaskGraph) -> Result<Vec<PlannedTask>, E>,
        now: Timestamp,
    ) -> Result<Vec<Task>, E> {
        let mut graph = Arc::unwrap_or_clone(self.read()?.graph);
        // The tasks of an interrupted import count as added, because the next writer adds them first.
        for task in import::stored_tasks(&self.dir) {
            if graph.get(task.id).is_none() {
                graph.put(Arc::new(task));
            }
        }
        let planned = plan(&graph)?;
        let recorded = recorded_last_id(&self.dir)?;
        let highest = graph.tasks().next_back().map_or(0, |task| task.id.0);
        let last = recorded.max(highest).max(self.cache().last);
        let changed = graph.create_all(TaskId(last.saturating_add(1)), &planned, now);
        let changed = changed.map_err(StoreError::from)?;
        let new = changed.iter().take(planned.len());
        Ok(new.filter_map(|id| graph.get(*id).cloned()).collect())
    }

    /// Checks a new task and returns a number for it, to pass to [`Board::create_as`]. No other crewdeck process uses this
    /// number. If the task is not created, no task has that number.
    ///
    /// # Errors
    /// When the graph rejects the task, a file cannot be read or written, or no number is left.
    pub fn reserve(&self, new: &NewTask, now: Timestamp) -> Result<TaskId, StoreError> {
        self.lock()?.reserve(new, now)
    }

    /// Claims the task `id`, or the claimable task with the lowest number if `id` is `None`. Returns `None` only if `id` is
    /// `None` and no task is claimable.
    ///
    /// # Errors
    /// When the claimer may not claim the task, or a file cannot be read or written.
    pub fn claim(
        &self,
        id: Option<TaskId>,
        claimer: &Claimer,
        now: Timestamp,
    ) -> Result<Option<Task>, StoreError> {
        let mut locked = self.lock()?;
        locked.refresh_open_task_of(&claimer.name)?;
        let id = match id {
            Some(id) => {
                locked.refresh_with_neighbors(id)?;
                id
            }
            None => match locked.first_claimable(claimer)? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        let changed = locked.graph().claim(id, claimer, now)?;
        locked.save(&changed, FirstWrite::Update)?;
        locked.task(id).map(Some)
    }

    /// Marks a task as in progress. A task without owner is claimed for the claimer first; a task of another owner is
    /// rejected.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn start(&self, id: TaskId, claimer: &Claimer, now: Timestamp) -> Result<Task, StoreError> {
        let mut locked = self.lock()?;
        locked.refresh_open_task_of(&claimer.name)?;
        locked.change(id, |graph| graph.start(id, claimer, now))
    }

    /// Completes a task that `who` owns, or that has no owner, and unblocks its dependants. `who` is the owner afterwards.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn complete(&self, id: TaskId, who: &Name, now: Timestamp) -> Result<Task, StoreError> {
        self.lock()?
            .change(id, |graph| graph.complete(id, who, now))
    }

    /// Completes a task as [`Board::complete`] does, and adds the results of its checks in the same write.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn complete_checked(
        &self,
        id: TaskId,
        who: &Name,
        checks: &[CheckRecord],
        now: Timestamp,
    ) -> Result<Task, StoreError> {
        self.lock()?.change(id, |graph| {
            let changed = graph.complete(id, who, now)?;
            graph.record_checks(id, checks)?;
            Ok(changed)
        })
    }

    /// Adds results of checks to a task, and replaces earlier results of the same checks.
    ///
    /// # Errors
    /// When the task does not exist, or a file cannot be read or written.
    pub fn record_checks(&self, id: TaskId, checks: &[CheckRecord]) -> Result<Task, StoreError> {
        self.lock()?
            .change(id, |graph| graph.record_checks(id, checks))
    }

    /// Sets the acceptance command of a task; an empty text removes it.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn set_acceptance(
        &self,
        id: TaskId,
        command: &str,
        now: Timestamp,
    ) -> Result<Task, StoreError> {
        self.lock()?
            .change(id, |graph| graph.set_acceptance(id, command, now))
    }

    /// Returns a task that `who` owns, or that has no owner, to the board, so that others can claim it.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn release(&self, id: TaskId, who: &Name, now: Timestamp) -> Result<Task, StoreError> {
        self.lock()?.change(id, |graph| graph.release(id, who, now))
    }

    /// Takes a task away from `owner` on behalf of the user, and returns it to the board. Unlike after [`Board::release`],
    /// `owner` can claim the task only by its number, until its subject or description is edited.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn take(&self, id: TaskId, owner: &Name, now: Timestamp) -> Result<Task, StoreError> {
        self.lock()?
            .change(id, |graph| graph.take_from_owner(id, owner, now))
    }

    /// Records `tree` as the worktree in which the task is worked on.
    ///
    /// # Errors
    /// When the task does not exist, or a file cannot be read or written.
    pub fn bind(
        &self,
        id: TaskId,
        tree: &WorktreeName,
        now: Timestamp,
    ) -> Result<Task, StoreError> {
        self.lock()?.change(id, |graph| graph.bind(id, tree, now))
    }

    /// Changes the text, tags or blockers of a task.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn edit(&self, id: TaskId, edit: &TaskEdit, now: Timestamp) -> Result<Task, StoreError> {
        let mut locked = self.lock()?;
        locked.refresh_existing(&edit.block_on)?;
        locked.refresh(edit.unblock.iter().copied())?;
        locked.change(id, |graph| graph.edit(id, edit, now))
    }

    /// Deletes a task and returns it as it was. Its number is not reused.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn remove(&self, id: TaskId, now: Timestamp) -> Result<Task, StoreError> {
        let mut locked = self.lock()?;
        locked.refresh_with_neighbors(id)?;
        let removed = locked.task(id)?;
        let changed = locked.graph().remove(id, now)?;
        locked.save(&changed, FirstWrite::Delete)?;
        Ok(removed)
    }

    /// Renames each task file that the last refresh found damaged to `NAME.damaged-N`, unless the file was fixed since
    /// then. Returns a notice for each renamed file. Also deletes the temporary files of killed writers, and finishes an
    /// import whose writer was killed.
    ///
    /// # Errors
    /// When a damaged file cannot be renamed, or another file cannot be read or written.
    pub fn set_aside(&self) -> Result<Vec<String>, StoreError> {
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
            locked.refresh([id])?;
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

/// Returns the task to which the file name `name` belongs. `None` for other files, including renamed damaged task files.
pub(super) fn task_of_file_name(name: &str) -> Option<TaskId> {
    let (id, suffix) = files::id_and_suffix(name)?;
    (suffix == files::CURRENT).then_some(id)
}

/// Returns the task to which the file name `name` belongs; renamed damaged task files count too. `None` for other files.
pub(super) fn id_of_file(name: &str) -> Option<TaskId> {
    files::id_and_suffix(name).map(|(id, _)| id)
}

/// Returns the first [`NOTICES_MAX`] lines and, if there are more, one with the number of further lines.
fn limit_notices(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(NOTICES_MAX);
    if more > 0 {
        lines.truncate(NOTICES_MAX);
        lines.push(format!(
            "... and {more} more files of the board cannot be read"
        ));
    }
    lines
}
