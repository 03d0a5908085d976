//! The Board door: `.tasks/task_N.json`, one file a task.

mod cache;
mod files;
mod held;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::StoreError;
use super::atomic::{self, Lock};
use super::settle::{self, Found};
use crate::domain::graph::{Claimer, Delta, NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{Name, TaskId, TaskRef};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;
use crate::domain::worktree::WorktreeName;
use cache::Cache;
use held::{First, Held};
use record::Record;
pub(crate) use record::rewritten;

/// The highest number that was ever given; numbers are not used again.
const LAST_ID: &str = ".last_id";
const LOCK: &str = ".lock";
/// Most lines about files that can not be read.
const NOTICES_MAX: usize = 20;

/// The board of a root. Clones share what was read.
///
/// # What is guaranteed
///
/// A process keeps the tasks that it has read. Every change is made under the lock `.tasks/.lock`:
///
/// - Against other crewdeck processes: everything. The lock file holds a record of what was changed last
///   (`store/board/record.rs`), so whoever comes next reads what it missed before it decides. No task has two
///   owners, nobody has two open tasks, no number is given twice, no edge closes a circle.
/// - Against writers without the lock (the reference rewrites its files in place): the task that is changed, its
///   blockers, everything that waits for it and the claimer's open task are looked at again under the lock, by
///   inode, size and times, and read when they are not what they were. So what such a writer has put there is kept,
///   and counts for the decision. What it writes between that look and our rename is lost: the later one wins,
///   and the file is whole either way.
/// - Tasks further away (a new task that another program gave to the claimer, a far end of a circle) are known as
///   of the last look: a moment ago where the folder is watched ([`crate::store::watch`]), else 15 seconds at most,
///   and one second more for each 200 tasks: what looks cost does not grow with the board.
#[derive(Debug, Clone)]
pub struct Board {
    dir: PathBuf,
    cache: Arc<Mutex<Cache>>,
}

/// Which tasks are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// All of them.
    All,
    /// These.
    These(BTreeSet<TaskId>),
}

impl Which {
    /// These and one more.
    fn and(self, id: TaskId) -> Which {
        match self {
            Which::All => Which::All,
            Which::These(mut ids) => {
                ids.insert(id);
                Which::These(ids)
            }
        }
    }
}

/// The board as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The tasks that could be read.
    pub graph: Arc<TaskGraph>,
    /// What could not be read or was set aside, a line each; bounded.
    pub notices: Vec<String>,
}

/// What is other than somebody knows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct News {
    /// The tasks.
    pub delta: Delta,
    /// What can not be read, where that was not said before, a line each; bounded.
    pub notices: Vec<String>,
}

impl Board {
    /// The board below `root`.
    pub fn open(root: &Path) -> Board {
        Board {
            dir: root.join(".tasks"),
            cache: Arc::default(),
        }
    }

    /// The whole board as it stands on disk. Takes no lock: each file is whole by itself. Files that are what
    /// they were are not read again. What is damaged stays where it is.
    ///
    /// # Errors
    /// When the folder can not be read.
    pub fn read(&self) -> Result<Reading, StoreError> {
        self.glance(|_| Which::All)?;
        let cache = self.cache();
        Ok(Reading {
            graph: Arc::clone(&cache.graph),
            notices: bounded(cache.troubles()),
        })
    }

    /// Reads the board and moves what is damaged out of the way; the notices say what became of it.
    ///
    /// # Errors
    /// When the folder can not be read, or a damaged file can not be moved.
    pub fn tidy(&self) -> Result<Reading, StoreError> {
        self.glance(|_| Which::All)?;
        let mut notices = self.set_aside()?;
        let mut reading = self.read()?;
        notices.append(&mut reading.notices);
        reading.notices = bounded(notices);
        Ok(reading)
    }

    /// Asks the board as this process knows it, with what other crewdeck processes have changed since. What
    /// writers without the lock have changed is in it as soon as the watch has told of it.
    ///
    /// # Errors
    /// When the folder can not be read.
    pub fn ask<T>(&self, question: impl FnOnce(&TaskGraph) -> T) -> Result<T, StoreError> {
        self.glance(|since| since)?;
        Ok(question(&self.cache().graph))
    }

    /// One task as it stands on disk.
    ///
    /// # Errors
    /// When there is none, or it can not be read.
    pub fn get(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        self.glance(|since| since.and(id))?;
        self.cache().task(id)
    }

    /// The number of the task that somebody means.
    ///
    /// # Errors
    /// For words where a number belongs; it says which number that is.
    pub fn resolve(&self, reference: &TaskRef) -> Result<TaskId, StoreError> {
        match reference {
            TaskRef::Id(id) => Ok(*id),
            TaskRef::Words(words) => Err(self.ask(|graph| graph.no_number(words))?.into()),
        }
    }

    /// Looks, without the lock, at what `choose` makes of that which was changed since the last time.
    fn glance(&self, choose: impl FnOnce(Which) -> Which) -> Result<(), StoreError> {
        // Nobody in this process changes the board meanwhile: a record that is older than what is known would say that
        // everything may be another.
        let mut cache = self.cache();
        // The record before the files: what is written down in it is then on disk, but for its last change. A writer
        // may be writing it: then it is read once more.
        let lock = self.dir.join(LOCK);
        let record = Record::peek(&lock).or_else(|| Record::peek(&lock));
        let since = cache.missed(record.as_ref());
        cache.look(&self.dir, &choose(since))?;
        if let Some(record) = record {
            cache.agrees_with(record.mark_before());
        }
        Ok(())
    }

    /// Looks at some tasks again, moves what is damaged out of the way, and tells in what they differ from `known`.
    ///
    /// # Errors
    /// When the folder can not be read.
    pub fn news(&self, which: &Which, known: &TaskGraph) -> Result<News, StoreError> {
        let is_first = !self.cache().is_loaded();
        self.glance(|since| match which {
            Which::All => Which::All,
            Which::These(ids) => ids.iter().fold(since, |all, id| all.and(*id)),
        })?;
        let mut notices = self.set_aside()?;
        let mut cache = self.cache();
        notices.append(&mut cache.untold());
        let delta = match which {
            Which::These(ids) if !is_first => known.delta_of(&cache.graph, ids),
            Which::These(_) | Which::All => known.delta(&cache.graph),
        };
        Ok(News {
            delta,
            notices: bounded(notices),
        })
    }

    /// Writes a new task down; its number was never used before.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    #[allow(clippy::needless_pass_by_value)] // as all that is written down
    pub fn create(&self, new: NewTask, now: Stamp) -> Result<Task, StoreError> {
        let mut held = self.hold()?;
        held.look_at_named(&new.blocked_by)?;
        loop {
            let id = held.next_id()?;
            let changed = held.graph().create(id, new.clone(), now)?;
            match held.save(&changed, First::Made) {
                // Who takes no lock was faster: its task stays, ours gets the next number.
                Err(StoreError::File { why, .. }) if why.kind() == ErrorKind::AlreadyExists => {}
                saved => return saved.and_then(|()| held.task(id)),
            }
        }
    }

    /// Claims a task, or the first one that can be claimed. `None`: there is none.
    ///
    /// # Errors
    /// Why this task can not be claimed.
    pub fn claim(
        &self,
        id: Option<TaskId>,
        claimer: &Claimer,
        now: Stamp,
    ) -> Result<Option<Task>, StoreError> {
        let mut held = self.hold()?;
        held.look_at_open_of(&claimer.name)?;
        let id = match id {
            Some(id) => {
                held.look_around(id)?;
                id
            }
            None => match held.first_for(claimer)? {
                Some(id) => id,
                None => return Ok(None),
            },
        };
        let changed = held.graph().claim(id, claimer, now)?;
        held.save(&changed, First::Kept)?;
        held.task(id).map(Some)
    }

    /// Starts a task that the claimer owns or that nobody owns.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    pub fn start(&self, id: TaskId, claimer: &Claimer, now: Stamp) -> Result<Task, StoreError> {
        let mut held = self.hold()?;
        held.look_at_open_of(&claimer.name)?;
        held.change(id, |graph| graph.start(id, claimer, now))
    }

    /// Completes a task and frees what waited for it.
    ///
    /// # Errors
    /// The graph's refusal, or why a file can not be written.
    pub fn complete(&self, id: TaskId, who: &Name, now: Stamp) -> Result<Task, StoreError> {
        self.hold()?
            .change(id, |graph| graph.complete(id, who, now))
    }

    /// Puts a claimed task back.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    pub fn release(&self, id: TaskId, who: &Name, now: Stamp) -> Result<Task, StoreError> {
        self.hold()?.change(id, |graph| graph.release(id, who, now))
    }

    /// Puts the task of `owner` back because the person takes it away.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    pub fn take(&self, id: TaskId, owner: &Name, now: Stamp) -> Result<Task, StoreError> {
        self.hold()?.change(id, |graph| graph.take(id, owner, now))
    }

    /// Notes in which worktree a task is worked on.
    ///
    /// # Errors
    /// When there is no such task, or its file can not be written.
    pub fn bind(&self, id: TaskId, tree: &WorktreeName, now: Stamp) -> Result<Task, StoreError> {
        self.hold()?.change(id, |graph| graph.bind(id, tree, now))
    }

    /// Changes a task's text, tags or edges.
    ///
    /// # Errors
    /// The graph's refusal, or why a file can not be written.
    pub fn edit(&self, id: TaskId, edit: &TaskEdit, now: Stamp) -> Result<Task, StoreError> {
        let mut held = self.hold()?;
        held.look_at_named(&edit.block_on)?;
        held.look(edit.unblock.iter().copied())?;
        held.change(id, |graph| graph.edit(id, edit, now))
    }

    /// Takes a task off the board; its number is not used again. The task as it was comes back.
    ///
    /// # Errors
    /// The graph's refusal, or why a file can not be written.
    pub fn remove(&self, id: TaskId, now: Stamp) -> Result<Task, StoreError> {
        let mut held = self.hold()?;
        held.look_around(id)?;
        let gone = held.task(id)?;
        let changed = held.graph().remove(id, now)?;
        held.save(&changed, First::Gone)?;
        Ok(gone)
    }

    /// Moves the files out of the way that were found damaged when they were read; says of each what became of it.
    ///
    /// # Errors
    /// When one can not be moved.
    pub fn set_aside(&self) -> Result<Vec<String>, StoreError> {
        self.sweep();
        let damaged = self.cache().damaged();
        if damaged.is_empty() {
            return Ok(Vec::new());
        }
        let mut held = self.hold()?;
        // Their numbers stay taken, also for those who never saw the files.
        let last = damaged
            .iter()
            .copied()
            .fold(TaskId(held.cache.last), TaskId::max);
        held.note_last(last)?;
        held.record_change(&damaged)?;
        let mut notices = Vec::new();
        for id in damaged {
            let path = files::path(&self.dir, id);
            // Somebody may have mended or moved it while the lock was waited for.
            if let Found::Damaged(why) = settle::read::<Task>(&path)? {
                let aside = atomic::set_aside(&path)?;
                notices.push(format!(
                    ".tasks/{} was damaged ({why}) and is now .tasks/{}",
                    files::name(id),
                    aside.file_name().unwrap_or_default().to_string_lossy()
                ));
            }
            held.look([id])?;
        }
        Ok(notices)
    }

    /// Deletes what killed writers left, unless somebody changes the board at this moment: who does, does it too.
    fn sweep(&self) {
        let temps = std::mem::take(&mut self.cache().temps);
        if temps.is_empty() {
            return;
        }
        // Where the lock cannot be taken, on a disk that only reads say, they are in nobody's way.
        if let Ok(Some(lock)) = Lock::take_within(&self.dir.join(LOCK), Duration::ZERO) {
            atomic::sweep_under(&lock, &temps);
        }
    }

    /// Takes the lock and learns what others changed.
    fn hold(&self) -> Result<Held<'_>, StoreError> {
        if !self.cache().is_loaded() {
            // Most of the reading without the lock: the others need not wait for it.
            self.glance(|since| since)?;
        }
        // The lock between processes first: who waits for it keeps no reader of this process waiting.
        let lock = Lock::take(&self.dir.join(LOCK))?;
        let mut cache = self.cache();
        let record = Record::read(lock.file()).unwrap_or_else(Record::begin);
        cache.catch_up(&self.dir, &record)?;
        Ok(Held {
            dir: &self.dir,
            record,
            cache,
            lock,
        })
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task whose file has that name; `None` for one that was set aside as well.
pub(super) fn is_task_file(name: &str) -> Option<TaskId> {
    let (id, form) = files::id_of(name)?;
    (form == files::Form::Whole).then_some(id)
}

/// The task of which a file of that name tells.
pub(super) fn id_of_file(name: &str) -> Option<TaskId> {
    files::id_of(name).map(|(id, _)| id)
}

/// The first of many lines, and how many more there are.
fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(NOTICES_MAX);
    if more > 0 {
        lines.truncate(NOTICES_MAX);
        lines.push(format!(
            "... and {more} more files of the board can not be read"
        ));
    }
    lines
}
