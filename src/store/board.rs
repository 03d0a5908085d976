//! The Board door: `.tasks/task_N.json`, one file a task.

use std::fs;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::atomic::{self, Lock};
use super::settle::{self, Found};
use crate::domain::graph::{Claimer, GraphError, NewTask, TaskEdit, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::stamp::Stamp;
use crate::domain::task::Task;

/// The highest number that was ever given; numbers are not used again.
const LAST_ID: &str = ".last_id";
const LOCK: &str = ".lock";

/// The board of a root. Cheap to clone; holds no state of its own.
#[derive(Debug, Clone)]
pub struct Board {
    dir: PathBuf,
}

/// The board as it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    /// The tasks that could be read.
    pub graph: TaskGraph,
    /// What could not be read or was set aside, a line each.
    pub notices: Vec<String>,
}

impl Board {
    /// The board below `root`.
    pub fn open(root: &Path) -> Board {
        Board {
            dir: root.join(".tasks"),
        }
    }

    /// Reads the whole board. Takes no lock: each file is whole by itself.
    ///
    /// # Errors
    /// When the folder can not be read.
    pub fn read(&self) -> Result<Reading, StoreError> {
        let mut reading = Reading::default();
        let mut tasks = Vec::new();
        for path in self.files()? {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            match settle::read::<Task>(&path)? {
                Found::Whole(task) if Some(task.id) == id_of(&name) => tasks.push(task),
                Found::Whole(task) => reading.notices.push(format!(
                    ".tasks/{name} holds task {}: give the file the name of its task",
                    task.id
                )),
                Found::Gone => {}
                Found::Foreign(why) => {
                    reading
                        .notices
                        .push(format!(".tasks/{name} is left out: {why}"));
                }
                Found::Damaged(why) => {
                    let _lock = self.lock()?;
                    // Somebody may have mended or moved it while the lock was waited for.
                    if let Found::Damaged(_) = settle::read::<Task>(&path)? {
                        let aside = atomic::set_aside(&path)?;
                        let aside = aside.file_name().unwrap_or_default().to_string_lossy();
                        reading.notices.push(format!(
                            ".tasks/{name} was damaged ({why}) and is now .tasks/{aside}"
                        ));
                    }
                }
            }
        }
        reading.graph = TaskGraph::new(tasks);
        Ok(reading)
    }

    /// Writes a new task down; its number was never used before.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    pub fn create(&self, new: NewTask, now: Stamp) -> Result<Task, StoreError> {
        let _lock = self.lock()?;
        let mut graph = self.read_locked()?;
        let id = self.next_id()?;
        let changed = graph.create(id, new, now)?;
        // The number first: after a crash in between it is lost, but never given twice.
        atomic::write(&self.dir.join(LAST_ID), id.0.to_string().as_bytes())?;
        self.save(&graph, &changed)?;
        Ok(graph.known(id)?.clone())
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
        let _lock = self.lock()?;
        let mut graph = self.read_locked()?;
        let id = match id {
            Some(id) => id,
            None => match graph.open_task_of(&claimer.name) {
                Some(open) => {
                    let who = claimer.name.clone();
                    return Err(GraphError::Busy { who, open: open.id }.into());
                }
                None => match graph.claimable(claimer) {
                    Some(task) => task.id,
                    None => return Ok(None),
                },
            },
        };
        let changed = graph.claim(id, claimer, now)?;
        self.save(&graph, &changed)?;
        Ok(Some(graph.known(id)?.clone()))
    }

    /// Starts a task that the claimer owns or that nobody owns.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    pub fn start(&self, id: TaskId, claimer: &Claimer, now: Stamp) -> Result<Task, StoreError> {
        self.change(id, |graph| graph.start(id, claimer, now))
    }

    /// Completes a task and frees what waited for it.
    ///
    /// # Errors
    /// The graph's refusal, or why a file can not be written.
    pub fn complete(&self, id: TaskId, who: &Name, now: Stamp) -> Result<Task, StoreError> {
        self.change(id, |graph| graph.complete(id, who, now))
    }

    /// Puts a claimed task back.
    ///
    /// # Errors
    /// The graph's refusal, or why the file can not be written.
    pub fn release(&self, id: TaskId, who: &Name, now: Stamp) -> Result<Task, StoreError> {
        self.change(id, |graph| graph.release(id, who, now))
    }

    /// Changes a task's text, tags or edges.
    ///
    /// # Errors
    /// The graph's refusal, or why a file can not be written.
    pub fn edit(&self, id: TaskId, edit: &TaskEdit, now: Stamp) -> Result<Task, StoreError> {
        self.change(id, |graph| graph.edit(id, edit, now))
    }

    /// Takes a task off the board; its number is not used again.
    ///
    /// # Errors
    /// The graph's refusal, or why a file can not be written.
    pub fn remove(&self, id: TaskId, now: Stamp) -> Result<Task, StoreError> {
        let _lock = self.lock()?;
        let mut graph = self.read_locked()?;
        let gone = graph.known(id)?.clone();
        let changed = graph.remove(id, now)?;
        let last = self.next_id()?.0.saturating_sub(1);
        atomic::write(&self.dir.join(LAST_ID), last.to_string().as_bytes())?;
        self.save(&graph, &changed)?;
        Ok(gone)
    }

    fn change(
        &self,
        id: TaskId,
        rule: impl FnOnce(&mut TaskGraph) -> Result<Vec<TaskId>, GraphError>,
    ) -> Result<Task, StoreError> {
        let _lock = self.lock()?;
        let mut graph = self.read_locked()?;
        let changed = rule(&mut graph)?;
        self.save(&graph, &changed)?;
        Ok(graph.known(id)?.clone())
    }

    fn lock(&self) -> Result<Lock, StoreError> {
        Lock::take(&self.dir.join(LOCK))
    }

    /// The board for a change. What is damaged stays where it is; the next reading sets it aside.
    fn read_locked(&self) -> Result<TaskGraph, StoreError> {
        let mut tasks = Vec::new();
        for path in self.files()? {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if let Found::Whole(task) = settle::read::<Task>(&path)?
                && Some(task.id) == id_of(&name)
            {
                tasks.push(task);
            }
        }
        Ok(TaskGraph::new(tasks))
    }

    /// Writes the changed tasks, the first (the one that was changed itself) first: the others follow from
    /// it, so after a crash in between nothing is stuck, because a blocker counts by its own status.
    fn save(&self, graph: &TaskGraph, changed: &[TaskId]) -> Result<(), StoreError> {
        for id in changed {
            let path = self.dir.join(format!("task_{}.json", id.0));
            match graph.get(*id) {
                Some(task) => {
                    let mut text = serde_json::to_string_pretty(task)?;
                    text.push('\n');
                    atomic::write(&path, text.as_bytes())?;
                }
                None => fs::remove_file(&path).map_err(StoreError::at(path))?,
            }
        }
        Ok(())
    }

    fn next_id(&self) -> Result<TaskId, StoreError> {
        let path = self.dir.join(LAST_ID);
        let noted = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse().unwrap_or(0),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => 0,
            Err(e) => return Err(StoreError::at(path)(e)),
        };
        let mut last: u64 = noted;
        for entry in fs::read_dir(&self.dir).map_err(StoreError::at(&self.dir))? {
            let entry = entry.map_err(StoreError::at(&self.dir))?;
            // Also the number of a damaged file is taken.
            if let Some(id) = id_of(&entry.file_name().to_string_lossy()) {
                last = last.max(id.0);
            }
        }
        Ok(TaskId(last + 1))
    }

    fn files(&self) -> Result<Vec<PathBuf>, StoreError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(StoreError::at(&self.dir)(e)),
        };
        let mut files: Vec<(TaskId, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_whole = entry.path().extension().is_some_and(|e| e == "json");
                let id = id_of(&name).filter(|_| is_whole)?;
                Some((id, entry.path()))
            })
            .collect();
        files.sort_unstable_by_key(|(id, _)| *id);
        Ok(files.into_iter().map(|(_, path)| path).collect())
    }
}

/// The number in `task_N.json` or `task_N.json.damaged-M`.
fn id_of(name: &str) -> Option<TaskId> {
    let rest = name.strip_prefix("task_")?;
    let (number, end) = rest.split_once('.')?;
    let is_ours = end == "json" || end.starts_with("json.damaged-");
    let is_plain = number == "0" || !number.starts_with('0');
    if !is_ours || !is_plain || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    number.parse().ok().map(TaskId)
}
