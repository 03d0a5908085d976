//! What a process knows of the board: the tasks as they were read, and what tells that they are still so.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::StoreError;
use super::super::print::Print;
use super::super::settle::{self, Found};
use super::record::{Mark, Record};
use super::{Which, files};
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// How long the tasks may go without a whole look before a change looks at all of them first: the bound for
/// changes of writers without a lock that nobody told of.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// It grows by a second for so many tasks: looks at all of them cost no more than so many files a second.
const TASKS_A_SECOND: usize = 200;

/// What is known.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The tasks. Shared with readings that are still held; copied on a change then.
    pub graph: Arc<TaskGraph>,
    files: HashMap<TaskId, Seen>,
    /// Those of them that are not on the board.
    troubled: BTreeSet<TaskId>,
    /// The highest number that was ever seen.
    pub last: u64,
    /// The change of the record that this agrees with.
    mark: Option<Mark>,
    looked: Option<Instant>,
    /// Temporary files that the last whole look saw.
    pub temps: Vec<PathBuf>,
    /// What the last whole look saw beside the tasks: other files, a circle.
    beside: Beside,
    /// The same as it was last told.
    beside_told: Beside,
    /// Whether tasks were read since circles were last looked for.
    is_news: bool,
}

/// What concerns no single task.
#[derive(Debug, Default, Clone, PartialEq)]
struct Beside {
    strange: Option<(String, usize)>,
    circle: Option<String>,
}

/// One file as it was read.
#[derive(Debug, Default)]
struct Seen {
    /// `None`: to be read again at the next look.
    print: Option<Print>,
    /// Why it is not on the board.
    trouble: Option<String>,
    /// Whether that is because it is damaged.
    is_damaged: bool,
    /// Whether that was told.
    is_told: bool,
}

impl Cache {
    /// Whether the whole board was ever read.
    pub(super) fn is_loaded(&self) -> bool {
        self.looked.is_some()
    }

    /// Looks at files again and reads those that are not what they were.
    pub(super) fn look(&mut self, dir: &Path, which: &Which) -> Result<(), StoreError> {
        match which {
            Which::These(ids) if self.is_loaded() => {
                for id in ids {
                    self.look_at(dir, *id);
                }
                Ok(())
            }
            Which::These(_) | Which::All => self.look_at_all(dir),
        }
    }

    fn look_at_all(&mut self, dir: &Path) -> Result<(), StoreError> {
        let names = files::list(dir)?;
        let there: BTreeSet<TaskId> = names.tasks.iter().copied().collect();
        let gone: Vec<TaskId> = self
            .files
            .keys()
            .filter(|id| !there.contains(id))
            .copied()
            .collect();
        for id in names.tasks.into_iter().chain(gone) {
            self.look_at(dir, id);
        }
        self.last = self.last.max(names.last);
        self.temps = names.temps;
        self.beside.strange = names.strange;
        if std::mem::take(&mut self.is_news) {
            self.beside.circle = self.graph.circle();
        }
        self.looked = Some(Instant::now());
        Ok(())
    }

    fn look_at(&mut self, dir: &Path, id: TaskId) {
        let path = files::path(dir, id);
        if let Some(seen) = self.files.get(&id)
            && let Some(print) = seen.print
            && fs::metadata(&path).is_ok_and(|meta| print.fits(&meta))
        {
            return;
        }
        self.last = self.last.max(id.0);
        let name = files::name(id);
        let (found, print) = match settle::read_with_print::<Task>(&path) {
            Ok(read) => read,
            // One file that can not be read is no reason to know nothing of the others.
            Err(e) => (Found::Foreign(e.to_string()), None),
        };
        let is_damaged = matches!(found, Found::Damaged(_));
        let trouble = match found {
            Found::Whole(task) if task.id == id || task.id == TaskId::default() => {
                self.learn(Task { id, ..task });
                None
            }
            Found::Whole(task) => Some(format!(
                ".tasks/{name} holds task {}: give the file the name of its task",
                task.id
            )),
            Found::Gone => {
                self.files.remove(&id);
                self.troubled.remove(&id);
                self.forget(id);
                return;
            }
            Found::Foreign(why) => Some(format!(
                ".tasks/{name} is left out: {why}: mend it or move it away"
            )),
            Found::Damaged(why) => Some(format!(
                ".tasks/{name} is damaged ({why}): mend it, or list the tasks to set it aside"
            )),
        };
        if trouble.is_some() {
            self.forget(id);
            self.troubled.insert(id);
        } else {
            self.troubled.remove(&id);
        }
        let before = self.files.get(&id);
        let seen = Seen {
            print,
            is_told: before.is_some_and(|b| b.is_told && b.trouble == trouble),
            trouble,
            is_damaged,
        };
        self.files.insert(id, seen);
    }

    fn learn(&mut self, task: Task) {
        if self.graph.get(task.id) != Some(&task) {
            self.is_news = true;
            Arc::make_mut(&mut self.graph).put(Arc::new(task));
        }
    }

    fn forget(&mut self, id: TaskId) {
        if self.graph.get(id).is_some() {
            Arc::make_mut(&mut self.graph).forget(id);
        }
    }

    /// What crewdeck processes have changed since the last time, as their record says.
    pub(super) fn missed(&self, record: Option<&Record>) -> Which {
        match record {
            _ if self.looked.is_none() => Which::All,
            Some(record) => record.since(self.mark.as_ref()),
            // Nobody has changed anything, or what was written down is lost.
            None if self.mark.is_none() => Which::These(BTreeSet::new()),
            None => Which::All,
        }
    }

    /// Notes that every change up to `mark` is known.
    pub(super) fn agrees_with(&mut self, mark: Mark) {
        if self
            .mark
            .as_ref()
            .is_none_or(|known| !known.includes(&mark))
        {
            self.mark = Some(mark);
        }
    }

    /// Learns, under the lock, what others changed since the last time.
    pub(super) fn catch_up(&mut self, dir: &Path, record: &Record) -> Result<(), StoreError> {
        let is_old = self
            .looked
            .is_none_or(|at| at.elapsed() > look_every(self.files.len()));
        let which = if is_old {
            Which::All
        } else {
            record.since(self.mark.as_ref())
        };
        self.look(dir, &which)?;
        self.agrees_with(record.mark().clone());
        Ok(())
    }

    /// The task of that number, or why there is none.
    pub(super) fn task(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        let trouble = self.files.get(&id).and_then(|seen| seen.trouble.as_ref());
        if let Some(trouble) = trouble {
            return Err(StoreError::Unreadable(id, trouble.clone()));
        }
        Ok(Arc::clone(self.graph.known(id)?))
    }

    /// Has a file that this process writes read at the next look, whatever its fingerprint.
    pub(super) fn doubt(&mut self, id: TaskId) {
        self.last = self.last.max(id.0);
        self.is_news = true;
        self.files.entry(id).or_default().print = None;
    }

    /// The damaged files, in the order of their numbers.
    pub(super) fn damaged(&self) -> Vec<TaskId> {
        let is_damaged = |id: &&TaskId| self.files.get(id).is_some_and(|seen| seen.is_damaged);
        self.troubled.iter().filter(is_damaged).copied().collect()
    }

    /// Everything that is wrong, a line each: files in the order of their numbers, then the rest.
    pub(super) fn troubles(&self) -> Vec<String> {
        let trouble = |id: &TaskId| self.files.get(id)?.trouble.clone();
        let troubles = self.troubled.iter().filter_map(trouble);
        troubles.chain(self.beside.lines()).collect()
    }

    /// What of it was not told yet; counts as told from now on.
    pub(super) fn untold(&mut self) -> Vec<String> {
        let mut untold = Vec::new();
        for id in &self.troubled {
            let seen = self.files.get_mut(id).filter(|seen| !seen.is_told);
            if let Some((seen, trouble)) = seen.and_then(|s| s.trouble.clone().map(|t| (s, t))) {
                untold.push(trouble);
                seen.is_told = true;
            }
        }
        let mut beside = self.beside.lines();
        let told = self.beside_told.lines();
        beside.retain(|line| !told.contains(line));
        self.beside_told = self.beside.clone();
        untold.append(&mut beside);
        untold
    }
}

/// How long a board of so many tasks may go without a whole look.
fn look_every(tasks: usize) -> Duration {
    LOOK_EVERY + Duration::from_secs((tasks / TASKS_A_SECOND) as u64)
}

impl Beside {
    fn lines(&self) -> Vec<String> {
        let strange = self.strange.as_ref().map(|(first, count)| match count {
            1 => format!(".tasks/{first} is left out: the name of a task file is task_NUMBER.json"),
            more => format!(
                ".tasks/{first} and {} more are left out: the name of a task file is task_NUMBER.json",
                more - 1
            ),
        });
        strange.into_iter().chain(self.circle.clone()).collect()
    }
}
