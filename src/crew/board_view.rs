//! Holds the board as it was last published. Reads the board again after changes, and informs an observer of what has
//! changed.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::context::CrewContext;
use super::file_errors::FileErrors;
use super::signals::CrewSignals;
use crate::agent::driver::run_blocking;
use crate::domain::graph::{ATTEMPTS_MAX, BoardDelta, TaskGraph};
use crate::domain::ids::Name;
use crate::domain::task::Task;
use crate::protocol::event::{BoardEvent, EventKind, NoticeLevel};
use crate::store::{Board, StoreError, TaskSet};

pub trait BoardObserver: Send + Sync {
    /// Called before changes are published. `changed` contains the new and changed tasks in their new state; removed
    /// tasks are not reported. `known` is the board as it was last published.
    fn board_changed(self: Arc<Self>, known: &TaskGraph, changed: &[Arc<Task>]);
}

pub struct BoardView {
    context: Arc<CrewContext>,
    errors: Arc<FileErrors>,
    signals: Arc<CrewSignals>,
    board: Board,
    published: RwLock<Arc<TaskGraph>>,
    /// Locked while the board is read and published, so that no two reads overlap.
    reading: tokio::sync::Mutex<()>,
    observer: Weak<dyn BoardObserver>,
}

impl BoardView {
    /// Creates a view of `board`. `published` contains the tasks as they were last published.
    pub fn new(
        context: Arc<CrewContext>,
        errors: Arc<FileErrors>,
        signals: Arc<CrewSignals>,
        board: Board,
        published: TaskGraph,
        observer: Weak<dyn BoardObserver>,
    ) -> BoardView {
        BoardView {
            context,
            errors,
            signals,
            board,
            published: RwLock::new(Arc::new(published)),
            reading: tokio::sync::Mutex::default(),
            observer,
        }
    }

    pub fn store(&self) -> &Board {
        &self.board
    }

    /// Returns the board as it was last published.
    pub fn graph(&self) -> Arc<TaskGraph> {
        Arc::clone(
            &self
                .published
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Reads the tasks in `which` from disk, informs the observer, and publishes the tasks that have changed. Returns
    /// the whole board as it is now published. If the board cannot be read, reports the error to the user and returns
    /// `None`.
    pub async fn read(&self, which: TaskSet) -> Option<Arc<TaskGraph>> {
        // One read at a time, so that changes are published in the order in which they were read.
        let _reading = self.reading.lock().await;
        let (board, known) = (self.board.clone(), self.graph());
        let news = run_blocking(move || board.update_since(&which, &known)).await;
        let news = self.errors.check("The board", news).await?;
        for notice in news.notices {
            self.context.warn_here(notice).await;
        }
        if news.delta.is_empty() {
            return Some(self.graph());
        }
        if let Some(observer) = self.observer.upgrade() {
            observer.board_changed(&self.graph(), &news.delta.changed);
        }
        {
            let mut graph = self
                .published
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut graph).apply(&news.delta.changed, &news.delta.removed);
        }
        for BoardDelta { changed, removed } in news.delta.pieces() {
            self.context
                .publish(EventKind::Board(BoardEvent::BoardChanged {
                    changed,
                    removed,
                }))
                .await;
        }
        self.signals.files_changed();
        Some(self.graph())
    }

    /// Runs `change`, which changes the board on disk. Then publishes an event that `event` creates from the result. No
    /// other call reads the board during that time, so this event is published before the changed tasks. To publish the
    /// changed tasks, the caller must call [`BoardView::read`] afterwards. `change` itself must not call
    /// [`BoardView::read`], because that call would wait forever.
    ///
    /// # Errors
    /// Returns the error of `change`. No event is published then.
    pub async fn change<T>(
        &self,
        change: impl Future<Output = Result<T, String>>,
        event: impl FnOnce(&T) -> EventKind,
    ) -> Result<T, String> {
        let _reading = self.reading.lock().await;
        let changed = change.await?;
        self.context.publish(event(&changed)).await;
        Ok(changed)
    }

    pub async fn release_task_of(&self, owner: &Name) -> Result<(), StoreError> {
        let (board, name, now) = (self.board.clone(), owner.clone(), self.context.now());
        let released = run_blocking(move || {
            let reading = board.read()?;
            match reading.graph.open_task_of(&name) {
                Some(task) => board.release(task.id, &name, now).map(Some),
                None => Ok(None),
            }
        })
        .await?;
        if let Some(task) = released {
            self.report_released(&task, owner).await;
        }
        Ok(())
    }

    /// Informs the user that `owner` no longer works on a task.
    pub async fn report_released(&self, task: &Task, owner: &Name) {
        let (id, subject) = (task.id, &task.subject);
        let text = if task.attempts < ATTEMPTS_MAX {
            format!(
                "Task {id} ({subject}) is back on the board: {owner} stopped without completing it."
            )
        } else {
            format!(
                "Task {id} ({subject}) was claimed {} times without being completed, so teammates no longer claim it automatically. Edit the task, or assign it: crewdeck task claim {} --as NAME.",
                task.attempts, id.0
            )
        };
        self.context.notice(NoticeLevel::Warn, text).await;
    }
}
