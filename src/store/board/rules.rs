//! The parts of a board's changes that depend only on a transaction, not on the store behind it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::StoreError;
use super::backend::{BoardTransaction, FirstWrite};
use crate::domain::graph::{Claimer, GraphError, NewTask, PlannedTask, TaskGraph};
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::Task;
use crate::domain::timestamp::Timestamp;

type Transaction<'a> = dyn BoardTransaction + 'a;

/// Refreshes the task `id`, its blockers and its dependants. Then applies `rule` to the graph, stores the tasks that `rule`
/// returns, and returns the task `id`. Fails if the task does not exist, `rule` rejects the change, or the store cannot be
/// read or written.
pub(super) fn change<E>(
    board: &mut Transaction<'_>,
    id: TaskId,
    rule: impl FnOnce(&mut TaskGraph) -> Result<Vec<TaskId>, E>,
) -> Result<Task, StoreError>
where
    StoreError: From<E>,
{
    refresh_with_neighbors(board, id)?;
    let changed = rule(board.graph_mut())?;
    board.save(&changed, FirstWrite::Update)?;
    task(board, id)
}

pub(super) fn task(board: &Transaction<'_>, id: TaskId) -> Result<Task, StoreError> {
    board.task(id).map(Arc::unwrap_or_clone)
}

/// Refreshes the task `id`, its blockers and its dependants. Fails if the task does not exist.
pub(super) fn refresh_with_neighbors(
    board: &mut Transaction<'_>,
    id: TaskId,
) -> Result<(), StoreError> {
    board.refresh(&BTreeSet::from([id]))?;
    board.task(id)?;
    let mut neighbors = board.graph().blockers(id);
    neighbors.extend(board.graph().dependants(id));
    board.refresh(&neighbors)
}

/// Refreshes the tasks `ids`. Fails if one of them does not exist.
pub(super) fn refresh_existing(
    board: &mut Transaction<'_>,
    ids: &[TaskId],
) -> Result<(), StoreError> {
    board.refresh(&ids.iter().copied().collect())?;
    ids.iter().try_for_each(|id| board.task(*id).map(|_| ()))
}

/// Refreshes the open task of `name`: the task that `name` has claimed and not completed. If the task is no longer open
/// according to the store, continues with the next open task of `name` in the graph. Stops when the store confirms an open
/// task, or when the graph contains none.
pub(super) fn refresh_open_task_of(
    board: &mut Transaction<'_>,
    name: &Name,
) -> Result<(), StoreError> {
    while let Some(id) = board.graph().open_task_of(name).map(|t| t.id) {
        board.refresh(&BTreeSet::from([id]))?;
        let task = board.graph().get(id);
        if task.is_some_and(|t| t.is_open_for(name.as_str())) {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns the first task that `claimer` may claim according to the store; `None` if there is none. Fails if the claimer
/// already has an open task.
pub(super) fn first_claimable(
    board: &mut Transaction<'_>,
    claimer: &Claimer,
) -> Result<Option<TaskId>, StoreError> {
    if let Some(open) = board.graph().open_task_of(&claimer.name) {
        let who = claimer.name.clone();
        return Err(GraphError::Busy { who, open: open.id }.into());
    }
    // A task that cannot be claimed according to the store is no longer a candidate, so the loop ends.
    while let Some(id) = board.graph().claimable(claimer).map(|t| t.id) {
        board.refresh(&BTreeSet::from([id]))?;
        if board.graph().get(id).is_some() {
            refresh_with_neighbors(board, id)?;
        }
        let is_claimable = board.graph().claimable(claimer).is_some_and(|t| t.id == id);
        if is_claimable {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Checks a new task, records the next free task number as used, and returns this number. Fails if a blocker does not
/// exist, the graph rejects the task, no number is left, or the store cannot be read or written.
pub(super) fn reserve(
    board: &mut Transaction<'_>,
    new: &NewTask,
    now: Timestamp,
) -> Result<TaskId, StoreError> {
    refresh_existing(board, &new.blocked_by)?;
    let id = board.next_id()?;
    // On a copy: the task is not created yet.
    board.graph().clone().create(id, new.clone(), now)?;
    board.reserve_id(id)?;
    Ok(id)
}

/// Adds the tasks `planned`, which must not be empty, and returns them. The caller has refreshed the whole graph. Fails if
/// the graph rejects a task, no number is left, or the store cannot be written. No task is added then.
pub(super) fn create_all(
    board: &mut Transaction<'_>,
    planned: &[PlannedTask],
    now: Timestamp,
) -> Result<Vec<Task>, StoreError> {
    let first = board.next_id()?;
    if first.0.saturating_add(planned.len() as u64) > TaskId::MAX.0 {
        let text = format!("no numbers are left for {} new tasks", planned.len());
        return Err(StoreError::TooLong(text));
    }
    let changed = board.graph_mut().create_all(first, planned, now)?;
    let (new, blockers) = changed.split_at(planned.len());
    board.save_import(new, blockers)?;
    new.iter().map(|id| task(board, *id)).collect()
}
