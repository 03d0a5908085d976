//! The view model of the tasks, and values derived from it.

pub(in crate::ui) mod branches;
pub(in crate::ui) mod checks;
pub(in crate::ui) mod critical;
pub(in crate::ui) mod history;
pub(in crate::ui) mod index;
pub(in crate::ui) mod memo;
pub(in crate::ui) mod train;
pub(in crate::ui) mod unlocks;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::domain::text::one_line;
use crate::domain::timestamp::Timestamp;
use crate::ui::model::CrewModel;
use crate::ui::model::board::index::Index;
use crate::ui::model::board::memo::Memo;

/// Cached values that are derived from the board. Dropping them does not change the screen.
#[derive(Debug, Default)]
pub struct BoardMemos {
    /// Incremented with each change of the board. The keys of all cached values contain it, so that outdated values are
    /// not used.
    version: u64,
    index: Memo<u64, Arc<Index>>,
    /// The result of [`unlocks()`], for one board version and task.
    unlocks: Memo<(u64, TaskId), Arc<Vec<TaskId>>>,
    /// The result of [`start_times`], for one board version.
    start_times: Memo<u64, Arc<[Timestamp]>>,
    /// The result of [`branches::to_merge`], for one version of the board and of the branches.
    to_merge: Memo<(u64, u64), Arc<Vec<TaskId>>>,
    /// The result of [`branches::unmerged_tasks`], for one version of the board and of the branches.
    unmerged: Memo<(u64, u64), Arc<UnmergedTasks>>,
}

impl BoardMemos {
    /// Marks all cached values as outdated. Must be called after each change of the board.
    pub fn invalidate(&mut self) {
        self.version += 1;
    }

    pub fn version(&self) -> u64 {
        self.version
    }
}

/// The completed tasks with an unmerged branch. The value of a task is the open task in the same worktree that must be
/// completed before the merge; `None` if there is no such task.
pub type UnmergedTasks = BTreeMap<TaskId, Option<TaskId>>;

/// Returns the index of the board's tasks and dependencies. It is computed again only after a change of the board.
pub fn index(model: &CrewModel) -> Arc<Index> {
    let kept = &model.memo;
    kept.index
        .get(kept.version, || Arc::new(Index::new(&model.board)))
}

/// Returns the tasks that are no longer blocked when the task `id` is completed, as [`unlocks::unlocks`] computes them.
/// They are computed again only after a change of the board or for another `id`.
pub fn unlocks(model: &CrewModel, id: TaskId) -> Arc<Vec<TaskId>> {
    let kept = &model.memo;
    let make = || Arc::new(unlocks::unlocks(&model.board, id));
    kept.unlocks.get((kept.version, id), make)
}

/// Returns the start times of the tasks in progress, as [`compute_start_times`] computes them. They are computed again
/// only after a change of the board.
pub fn start_times(model: &CrewModel) -> Arc<[Timestamp]> {
    let kept = &model.memo;
    kept.start_times
        .get(kept.version, || compute_start_times(model).into())
}

/// Returns the open task that `owner` owns. If there are several, returns the one with the lowest number; `None` if
/// there is none.
pub fn open_task<'a>(model: &'a CrewModel, owner: &Name) -> Option<&'a Task> {
    model.board.get(index(model).open_of(owner)?)
}

/// Returns the tags of a task as text, such as `#rust #docs`.
pub fn tags(task: &Task) -> String {
    let tags: Vec<String> = task.tags.iter().map(|t| format!("#{t}")).collect();
    one_line(&tags.join(" "))
}

/// Maximum number of start times that [`compute_start_times`] returns. It is higher than the number of rows of a
/// screen.
pub const AGES_MAX: usize = 256;

/// Returns for each task in progress the time at which its progress began, in the order of the task numbers, for at
/// most [`AGES_MAX`] tasks. Tasks for which the time is unknown are left out.
pub fn compute_start_times(model: &CrewModel) -> Vec<Timestamp> {
    let tasks = model.board.tasks();
    let in_progress = tasks.filter(|task| task.status == TaskStatus::InProgress);
    let since = in_progress.filter_map(|task| model.history.since(task));
    since.take(AGES_MAX).collect()
}
