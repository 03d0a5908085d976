//! The task board. The embedded store is `.tasks/task_N.json`, one file per task.

mod backend;
mod cache;
mod change_log;
mod fence;
mod file;
mod files;
mod import;
mod locked;
mod rules;
mod task_set;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::StoreError;
use super::host_store::HostSession;
use super::notices::limit_notices;
use crate::domain::checks::CheckRecord;
use crate::domain::graph::{Claimer, GraphError, NewTask, PlannedTask, TaskEdit, TaskGraph};
use crate::domain::host::HostClaim;
use crate::domain::ids::{Name, TaskId, TaskRef};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;
use crate::domain::worktree::WorktreeName;
pub use backend::{
    BoardSnapshot, BoardStore, BoardTransaction, BoardUpdate, FirstWrite, TransactionBody,
};
pub(crate) use change_log::rewrite_change_log;
use fence::ClaimFence;
use file::FileBoard;
pub use task_set::TaskSet;

/// Maximum number of attempts to add the tasks of an import. An attempt fails if a program that ignores the lock uses one
/// of their numbers at the same time.
const ATTEMPTS_MAX: usize = 10;

/// The board of a project: the rules of its tasks on top of a [`BoardStore`]. Clones share the store and its cache.
///
/// # Guarantees
///
/// With the store of [`Board::open`], every change is made under the lock `.tasks/.lock`:
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
    store: Arc<dyn BoardStore>,
    fence: ClaimFence,
}

impl Board {
    /// Opens the board of the project in `root`. Reads nothing yet.
    pub fn open(root: &Path) -> Board {
        Board::with_store(Arc::new(FileBoard::open(root)))
    }

    /// Returns the board whose tasks are in `store`.
    pub fn with_store(store: Arc<dyn BoardStore>) -> Board {
        Board {
            store,
            fence: ClaimFence::default(),
        }
    }

    /// Returns the board for the agents of a host. Tasks that they claim are claimed for `session`. They cannot act as the
    /// owners of tasks that are claimed for another session, or after `session` has become invalid: such an act fails with
    /// [`StoreError::ClaimLost`]. The user is not limited.
    #[must_use]
    pub fn with_host(self, session: Arc<dyn HostSession>) -> Board {
        Board {
            fence: ClaimFence::new(session),
            ..self
        }
    }

    /// Returns the whole board as it is on disk. Needs no lock, because each task is a separate file. Reads only files that
    /// have changed. Damaged files stay in place.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn read(&self) -> Result<BoardSnapshot, StoreError> {
        self.store.read()
    }

    /// Renames damaged files and returns the whole board. The notices give the new names of the files.
    ///
    /// # Errors
    /// When the folder cannot be read, or a damaged file cannot be renamed.
    pub fn read_and_repair(&self) -> Result<BoardSnapshot, StoreError> {
        self.store.read()?;
        let mut notices = self.set_aside()?;
        let mut reading = self.store.read()?;
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
        let (mut question, mut answer) = (Some(question), None);
        self.store.query(&mut |graph| {
            if let Some(question) = question.take() {
                answer = Some(question(graph));
            }
        })?;
        answer.ok_or_else(no_result)
    }

    /// Returns the task `id` as it is on disk.
    ///
    /// # Errors
    /// When the task does not exist or cannot be read.
    pub fn get(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        self.store.get(id)
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
        self.store.update_since(which, known)
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
        reserved: Option<TaskId>,
        new: NewTask,
        now: Timestamp,
    ) -> Result<Task, StoreError> {
        self.transact(|board| {
            rules::refresh_existing(board, &new.blocked_by)?;
            // The store may call this again after a conflict, with the number still reserved.
            let mut reserved = reserved;
            // A number that another program has used is not tried again.
            if let Some(id) = reserved {
                board.refresh(&BTreeSet::from([id]))?;
                reserved = reserved.filter(|id| board.graph().get(*id).is_none());
            }
            loop {
                let (id, first) = match reserved.take() {
                    Some(id) => (id, FirstWrite::InsertReserved),
                    None => (board.next_id()?, FirstWrite::Insert),
                };
                let changed = board.graph_mut().create(id, new.clone(), now)?;
                match board.save(&changed, first) {
                    // A program that ignores the lock has used the number. Its task stays, and the new task gets the next
                    // number.
                    Err(StoreError::File { why, .. }) if why.kind() == ErrorKind::AlreadyExists => {
                    }
                    saved => return saved.and_then(|()| rules::task(board, id)),
                }
            }
        })
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
        // The error of `plan` is of another type than those of the store.
        let mut rejected = None;
        let created = self.transact(|board| {
            let mut attempts = ATTEMPTS_MAX;
            loop {
                board.refresh_all()?;
                let planned = match plan(board.graph()) {
                    Ok(planned) => planned,
                    Err(why) => {
                        rejected = Some(why);
                        return Ok(Vec::new());
                    }
                };
                if planned.is_empty() {
                    return Ok(Vec::new());
                }
                match rules::create_all(board, &planned, now) {
                    Err(StoreError::File { why, .. })
                        if why.kind() == ErrorKind::AlreadyExists && attempts > 1 =>
                    {
                        attempts -= 1;
                    }
                    created => return created,
                }
            }
        })?;
        match rejected {
            Some(why) => Err(why),
            None => Ok(created),
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
        let (mut graph, last) = self.store.preview()?;
        let planned = plan(&graph)?;
        let changed = graph.create_all(TaskId(last.0.saturating_add(1)), &planned, now);
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
        self.transact(|board| rules::reserve(board, new, now))
    }

    /// Claims the task `id`, or the claimable task with the lowest number if `id` is `None`. Returns `None` only if `id` is
    /// `None` and no task is claimable.
    ///
    /// # Errors
    /// When the claimer may not claim the task, this host has lost its session, or a file cannot be read or written.
    pub fn claim(
        &self,
        id: Option<TaskId>,
        claimer: &Claimer,
        now: Timestamp,
    ) -> Result<Option<Task>, StoreError> {
        self.fence.check_session(id, Some(&claimer.name))?;
        self.transact(|board| {
            // The store may have waited long for its turn.
            self.fence.check_session(id, Some(&claimer.name))?;
            rules::refresh_open_task_of(board, &claimer.name)?;
            let id = match id {
                Some(id) => {
                    rules::refresh_with_neighbors(board, id)?;
                    id
                }
                None => match rules::first_claimable(board, claimer)? {
                    Some(id) => id,
                    None => return Ok(None),
                },
            };
            let changed = board.graph_mut().claim(id, claimer, now)?;
            let graph = board.graph_mut();
            self.fence.record_claim(graph, id, &claimer.name, now)?;
            board.save(&changed, FirstWrite::Update)?;
            rules::task(board, id).map(Some)
        })
    }

    /// Marks a task as in progress. A task without owner is claimed for the claimer first; a task of another owner is
    /// rejected.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn start(&self, id: TaskId, claimer: &Claimer, now: Timestamp) -> Result<Task, StoreError> {
        self.fence.check_session(Some(id), Some(&claimer.name))?;
        self.transact(|board| {
            rules::refresh_open_task_of(board, &claimer.name)?;
            rules::change(board, id, |graph| {
                self.fence.check_owner(graph, id, Some(&claimer.name))?;
                let is_owned = graph.get(id).is_some_and(|task| !task.owner.is_empty());
                let changed = graph.start(id, claimer, now)?;
                if !is_owned {
                    self.fence.record_claim(graph, id, &claimer.name, now)?;
                }
                Ok::<_, StoreError>(changed)
            })
        })
    }

    /// Completes a task that `who` owns, or that has no owner, and unblocks its dependants. `who` is the owner afterwards.
    ///
    /// # Errors
    /// When another session of a host has claimed the task, the graph rejects the change, or a file cannot be read or written.
    pub fn complete(&self, id: TaskId, who: &Name, now: Timestamp) -> Result<Task, StoreError> {
        self.change_as_owner(id, Some(who), |graph| graph.complete(id, who, now))
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
        self.change_as_owner(id, Some(who), |graph| {
            let changed = graph.complete(id, who, now)?;
            graph.record_checks(id, checks)?;
            Ok(changed)
        })
    }

    /// Adds results of checks to a task, and replaces earlier results of the same checks. `who` has asked for the checks.
    ///
    /// # Errors
    /// When another session of a host has claimed the task and it is open, the task does not exist, or a file cannot be read
    /// or written.
    pub fn record_checks(
        &self,
        id: TaskId,
        who: &Name,
        checks: &[CheckRecord],
    ) -> Result<Task, StoreError> {
        self.change_as_owner(id, Some(who), |graph| graph.record_checks(id, checks))
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
        self.change(id, |graph| graph.set_acceptance(id, command, now))
    }

    /// Returns a task that `who` owns, or that has no owner, to the board, so that others can claim it.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn release(&self, id: TaskId, who: &Name, now: Timestamp) -> Result<Task, StoreError> {
        self.change_as_owner(id, Some(who), |graph| graph.release(id, who, now))
    }

    /// Returns a task of `owner` to the board on behalf of the user, for whichever host it is claimed. `owner` may claim it
    /// again.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn release_as_user(
        &self,
        id: TaskId,
        owner: &Name,
        now: Timestamp,
    ) -> Result<Task, StoreError> {
        self.change(id, |graph| graph.release(id, owner, now))
    }

    /// Returns a task to the board whose owner worked on a host that is lost or has left, if the task is still claimed for
    /// `claim`. Returns `None` if it is not: it is completed, released, or claimed again.
    ///
    /// # Errors
    /// When this host has lost its session, or a file cannot be read or written.
    pub fn release_lost(
        &self,
        id: TaskId,
        claim: &HostClaim,
        now: Timestamp,
    ) -> Result<Option<Task>, StoreError> {
        self.fence.check_session(Some(id), None)?;
        self.transact(|board| fence::release_lost(board, id, claim, now))
    }

    /// Makes the session of this host the holder of all open tasks that its earlier session `old_session` has claimed.
    /// Returns these tasks. Each is changed in a write of its own, so after an error some may have been changed; repeat
    /// the call then. Without a host, no task is changed.
    ///
    /// # Errors
    /// When this host has lost its session, or a file cannot be read or written.
    pub fn adopt(&self, old_session: &str, now: Timestamp) -> Result<Vec<Task>, StoreError> {
        let Some(own) = self.fence.claim() else {
            return Ok(Vec::new());
        };
        let graph = self.store.read()?.graph;
        let old = graph.tasks();
        let old = old.filter(|task| fence::is_adoptable(task, &own, old_session));
        let mut adopted = Vec::new();
        for id in old.map(|task| task.id) {
            self.fence.check_session(Some(id), None)?;
            let task = self.transact(|board| fence::adopt(board, id, &own, old_session, now))?;
            adopted.extend(task);
        }
        Ok(adopted)
    }

    /// Takes a task away from `owner` on behalf of the user, and returns it to the board. Unlike after [`Board::release`],
    /// `owner` can claim the task only by its number, until its subject or description is edited.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn take(&self, id: TaskId, owner: &Name, now: Timestamp) -> Result<Task, StoreError> {
        self.change(id, |graph| graph.take_from_owner(id, owner, now))
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
        self.change_as_owner(id, None, |graph| graph.bind(id, tree, now))
    }

    /// Changes the text, tags or blockers of a task.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn edit(&self, id: TaskId, edit: &TaskEdit, now: Timestamp) -> Result<Task, StoreError> {
        self.transact(|board| {
            rules::refresh_existing(board, &edit.block_on)?;
            board.refresh(&edit.unblock.iter().copied().collect())?;
            rules::change(board, id, |graph| graph.edit(id, edit, now))
        })
    }

    /// Deletes a task and returns it as it was. Its number is not reused.
    ///
    /// # Errors
    /// When the graph rejects the change, or a file cannot be read or written.
    pub fn remove(&self, id: TaskId, now: Timestamp) -> Result<Task, StoreError> {
        self.transact(|board| {
            rules::refresh_with_neighbors(board, id)?;
            let removed = rules::task(board, id)?;
            let changed = board.graph_mut().remove(id, now)?;
            board.save(&changed, FirstWrite::Delete)?;
            Ok(removed)
        })
    }

    /// Renames each task file that the last refresh found damaged to `NAME.damaged-N`, unless the file was fixed since
    /// then. Returns a notice for each renamed file. Also deletes the temporary files of killed writers, and finishes an
    /// import whose writer was killed.
    ///
    /// # Errors
    /// When a damaged file cannot be renamed, or another file cannot be read or written.
    pub fn set_aside(&self) -> Result<Vec<String>, StoreError> {
        self.store.repair()
    }

    /// Applies `rule` to the graph after the task `id` and its neighbors are refreshed, stores the tasks that `rule`
    /// returns, and returns the task `id`.
    fn change(
        &self,
        id: TaskId,
        mut rule: impl FnMut(&mut TaskGraph) -> Result<Vec<TaskId>, GraphError>,
    ) -> Result<Task, StoreError> {
        self.transact(|board| rules::change(board, id, &mut rule))
    }

    /// Applies `rule` as [`Board::change`] does, if `who` may act as the owner of the task; `None` stands for its owner.
    fn change_as_owner(
        &self,
        id: TaskId,
        who: Option<&Name>,
        mut rule: impl FnMut(&mut TaskGraph) -> Result<Vec<TaskId>, GraphError>,
    ) -> Result<Task, StoreError> {
        // Without a connection, the store would wait long for an answer first.
        self.fence.check_session(Some(id), who)?;
        self.transact(|board| {
            rules::change(board, id, |graph| {
                self.fence.check_owner(graph, id, who)?;
                Ok::<_, StoreError>(rule(graph)?)
            })
        })
    }

    fn transact<T>(
        &self,
        mut body: impl FnMut(&mut dyn BoardTransaction) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut result = None;
        self.store.transact(&mut |board| {
            result = Some(body(board)?);
            Ok(())
        })?;
        result.ok_or_else(no_result)
    }
}

/// Returns the error for a store that did not call the function that it was given.
fn no_result() -> StoreError {
    StoreError::Io(std::io::Error::other(
        "the store of the board gave no result",
    ))
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
