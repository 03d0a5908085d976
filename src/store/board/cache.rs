//! The board as this process has read it, with a fingerprint of each task file to detect changes.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::StoreError;
use super::super::file_fingerprint::FileFingerprint;
use super::super::read_stable::{self, StableRead};
use super::change_log::{ChangeLog, Revision};
use super::files;
use super::task_set::TaskSet;
use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::Task;

/// Maximum age of the last full refresh when this process changes the board. If it is older, a full refresh comes
/// first. A full refresh compares all task files with the cache, and so finds changes by programs that ignore the lock,
/// even if no file event reports them.
const REFRESH_INTERVAL: Duration = Duration::from_secs(15);
/// Maximum number of task files that full refreshes check per second, on average. [`refresh_interval`] therefore adds
/// one second to [`REFRESH_INTERVAL`] for every `TASKS_PER_SECOND` tasks on the board.
const TASKS_PER_SECOND: usize = 200;

/// The tasks of a board and the state of their files.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The tasks on the board. While a snapshot shares this graph, a change first copies it.
    pub graph: Arc<TaskGraph>,
    files: HashMap<TaskId, CachedFile>,
    /// The tasks that are not on the board because their files cannot be used.
    unusable: BTreeSet<TaskId>,
    /// The highest task number that this process has found or used so far, including the numbers of damaged files.
    pub last: u64,
    /// The cache contains all changes of the change log up to this revision; `None` if no log has been read yet.
    revision: Option<Revision>,
    refreshed_at: Option<Instant>,
    /// Temporary files found by the last full refresh.
    pub temps: Vec<PathBuf>,
    /// Whether the last full refresh found an import that is being written or was interrupted.
    pub has_import: bool,
    /// What became of the last interrupted import, until it is reported.
    pub import_notice: Option<String>,
    /// Problems of the whole folder, as found by the last full refresh.
    folder_problems: FolderProblems,
    /// The folder problems that [`Cache::take_unreported`] has already returned.
    reported_folder_problems: FolderProblems,
    /// Whether a task has changed since the last check for dependency cycles.
    has_changes: bool,
}

/// Problems of the folder `.tasks` that do not concern a single task.
#[derive(Debug, Default, Clone, PartialEq)]
struct FolderProblems {
    /// Files named `task_*.json` without a valid number: the name of the first one, and how many there are.
    unrecognized: Option<(String, usize)>,
    cycle: Option<String>,
}

/// What the cache stores about a task file, apart from the task itself.
#[derive(Debug, Default)]
struct CachedFile {
    /// The fingerprint of the file when it was read; with `None`, the next refresh reads the file again.
    fingerprint: Option<FileFingerprint>,
    /// Why the task is not on the board; `None` if it is on the board.
    problem: Option<String>,
    /// Whether the file is [`StableRead::Damaged`] and may therefore be renamed.
    is_damaged: bool,
    /// Whether [`Cache::take_unreported`] has already returned the problem.
    is_reported: bool,
}

impl Cache {
    pub(super) fn is_loaded(&self) -> bool {
        self.refreshed_at.is_some()
    }

    /// Compares the files of the tasks in `which` with the cache, and reads the changed ones. The first call reads all
    /// files. Fails only if the folder cannot be listed: an unreadable file becomes a problem of its task
    /// ([`Cache::problems`]).
    pub(super) fn refresh(&mut self, dir: &Path, which: &TaskSet) -> Result<(), StoreError> {
        match which {
            TaskSet::These(ids) if self.is_loaded() => {
                for id in ids {
                    self.refresh_task(dir, *id);
                }
                Ok(())
            }
            TaskSet::These(_) | TaskSet::All => self.refresh_all(dir),
        }
    }

    fn refresh_all(&mut self, dir: &Path) -> Result<(), StoreError> {
        let names = files::list(dir)?;
        let there: BTreeSet<TaskId> = names.tasks.iter().copied().collect();
        let gone: Vec<TaskId> = self
            .files
            .keys()
            .filter(|id| !there.contains(id))
            .copied()
            .collect();
        for id in names.tasks.into_iter().chain(gone) {
            self.refresh_task(dir, id);
        }
        self.last = self.last.max(names.last);
        self.temps = names.temps;
        self.has_import = names.has_import;
        self.folder_problems.unrecognized = names.unrecognized;
        if std::mem::take(&mut self.has_changes) {
            self.folder_problems.cycle = self.graph.find_cycle();
        }
        self.refreshed_at = Some(Instant::now());
        Ok(())
    }

    fn refresh_task(&mut self, dir: &Path, id: TaskId) {
        let path = files::path(dir, id);
        if let Some(seen) = self.files.get(&id)
            && let Some(fingerprint) = seen.fingerprint
            && fs::metadata(&path).is_ok_and(|meta| fingerprint.matches(&meta))
        {
            return;
        }
        self.last = self.last.max(id.0);
        let name = files::name(id);
        let (found, fingerprint) = match read_stable::read_with_fingerprint::<Task>(&path) {
            Ok(read) => read,
            // One unreadable file must not keep the other tasks from being read.
            Err(e) => (StableRead::Unsupported(e.to_string()), None),
        };
        let is_damaged = matches!(found, StableRead::Damaged(_));
        let problem = match found {
            StableRead::Valid(task) if task.id == id || task.id == TaskId::default() => {
                self.insert(Task { id, ..task });
                None
            }
            StableRead::Valid(task) => Some(format!(
                ".tasks/{name} contains task {}: rename the file to task_{}.json",
                task.id, task.id.0
            )),
            StableRead::Missing => {
                self.files.remove(&id);
                self.unusable.remove(&id);
                self.forget(id);
                return;
            }
            StableRead::Unsupported(why) => Some(format!(
                ".tasks/{name} is ignored: {why}: fix it or move it away"
            )),
            StableRead::Damaged(why) => Some(format!(
                ".tasks/{name} is damaged ({why}): fix the file, or run crewdeck task list, which renames it to {name}.damaged-N"
            )),
        };
        if problem.is_some() {
            self.forget(id);
            self.unusable.insert(id);
        } else {
            self.unusable.remove(&id);
        }
        let before = self.files.get(&id);
        let seen = CachedFile {
            fingerprint,
            is_reported: before.is_some_and(|b| b.is_reported && b.problem == problem),
            problem,
            is_damaged,
        };
        self.files.insert(id, seen);
    }

    fn insert(&mut self, task: Task) {
        if self.graph.get(task.id) != Some(&task) {
            self.has_changes = true;
            Arc::make_mut(&mut self.graph).put(Arc::new(task));
        }
    }

    fn forget(&mut self, id: TaskId) {
        if self.graph.get(id).is_some() {
            self.has_changes = true;
            Arc::make_mut(&mut self.graph).forget(id);
        }
    }

    /// Returns the tasks that, according to the change log, crewdeck processes have changed since the last refresh.
    /// Returns all tasks if the log is lost or begins after the last refresh, or if the board has not been read yet.
    pub(super) fn changed_since_refresh(&self, log: Option<&ChangeLog>) -> TaskSet {
        match log {
            _ if self.refreshed_at.is_none() => TaskSet::All,
            Some(log) => log.changed_since(self.revision.as_ref()),
            // No process has changed the board yet.
            None if self.revision.is_none() => TaskSet::These(BTreeSet::new()),
            // There was a change log, but it is lost.
            None => TaskSet::All,
        }
    }

    /// Records that the cache contains every change up to `revision`.
    pub(super) fn advance_to(&mut self, revision: Revision) {
        if self
            .revision
            .as_ref()
            .is_none_or(|known| !known.includes(&revision))
        {
            self.revision = Some(revision);
        }
    }

    /// Reads the task files that other processes have changed since the last refresh, according to `log`. If the last
    /// full refresh is too old, checks all files instead. The caller holds the lock.
    pub(super) fn apply_log(&mut self, dir: &Path, log: &ChangeLog) -> Result<(), StoreError> {
        let is_old = self
            .refreshed_at
            .is_none_or(|at| at.elapsed() > refresh_interval(self.files.len()));
        let which = if is_old {
            TaskSet::All
        } else {
            log.changed_since(self.revision.as_ref())
        };
        self.refresh(dir, &which)?;
        self.advance_to(log.revision().clone());
        Ok(())
    }

    /// Returns the task, or an error that says why it is not on the board.
    pub(super) fn task(&self, id: TaskId) -> Result<Arc<Task>, StoreError> {
        let problem = self.files.get(&id).and_then(|seen| seen.problem.as_ref());
        if let Some(problem) = problem {
            return Err(StoreError::Unreadable(id, problem.clone()));
        }
        Ok(Arc::clone(self.graph.require(id)?))
    }

    /// Makes the next refresh read the file of the task again. Called when this process is about to write the file.
    pub(super) fn invalidate(&mut self, id: TaskId) {
        self.last = self.last.max(id.0);
        self.has_changes = true;
        self.files.entry(id).or_default().fingerprint = None;
    }

    /// Returns the tasks with damaged files, in ascending order of their numbers.
    pub(super) fn damaged_tasks(&self) -> Vec<TaskId> {
        let is_damaged = |id: &&TaskId| self.files.get(id).is_some_and(|seen| seen.is_damaged);
        self.unusable.iter().filter(is_damaged).copied().collect()
    }

    /// Returns all problems, one line each: first the task files in ascending order, then the folder problems.
    pub(super) fn problems(&self) -> Vec<String> {
        let problem = |id: &TaskId| self.files.get(id)?.problem.clone();
        let problems = self.unusable.iter().filter_map(problem);
        problems.chain(self.folder_problems.lines()).collect()
    }

    /// Returns the problems that this function has not returned before, in the order of [`Cache::problems`].
    pub(super) fn take_unreported(&mut self) -> Vec<String> {
        let mut unreported = Vec::new();
        for id in &self.unusable {
            let seen = self.files.get_mut(id).filter(|seen| !seen.is_reported);
            if let Some((seen, problem)) = seen.and_then(|s| s.problem.clone().map(|t| (s, t))) {
                unreported.push(problem);
                seen.is_reported = true;
            }
        }
        let mut folder_problems = self.folder_problems.lines();
        let reported = self.reported_folder_problems.lines();
        folder_problems.retain(|line| !reported.contains(line));
        self.reported_folder_problems = self.folder_problems.clone();
        unreported.append(&mut folder_problems);
        unreported
    }
}

/// Returns how old the last full refresh of a board with `tasks` tasks may be: see [`REFRESH_INTERVAL`].
fn refresh_interval(tasks: usize) -> Duration {
    REFRESH_INTERVAL + Duration::from_secs((tasks / TASKS_PER_SECOND) as u64)
}

impl FolderProblems {
    fn lines(&self) -> Vec<String> {
        let unrecognized = self.unrecognized.as_ref().map(|(first, count)| match count {
            1 => format!(".tasks/{first} is ignored: rename it to task_NUMBER.json or move it away"),
            count => format!(
                ".tasks/{first} and {} more are ignored: rename them to task_NUMBER.json or move them away",
                count - 1
            ),
        });
        unrecognized.into_iter().chain(self.cycle.clone()).collect()
    }
}
