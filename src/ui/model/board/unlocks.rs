//! The tasks that are no longer blocked when a task is completed. Pure.

use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;

/// Returns the pending tasks, with or without an owner, that are no longer blocked when the task `id` is completed:
/// those whose only open blocker is `id`. They are in the order of their numbers. Empty if `id` is completed already or
/// not on the board.
pub fn unlocks(board: &TaskGraph, id: TaskId) -> Vec<TaskId> {
    let is_done = |t: &crate::domain::task::Task| t.status == TaskStatus::Completed;
    if board.get(id).is_none_or(is_done) {
        return Vec::new();
    }
    let waits_for_it_alone = |other: &TaskId| {
        board.get(*other).is_some_and(|task| {
            task.status == TaskStatus::Pending && board.open_blockers(task) == [id]
        })
    };
    let dependants = board.dependants(id).into_iter();
    dependants.filter(waits_for_it_alone).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::ui::panes::board::tests::board;

    #[test]
    fn only_tasks_without_other_open_blockers_become_ready() {
        let edges = [(1, 3), (2, 3), (1, 4), (4, 5), (2, 6)];
        let cases: [(u64, u64, &[u64]); 6] = [
            (0, 1, &[4]),
            (0, 2, &[6]),
            (0, 4, &[5]),
            (0, 5, &[]),
            (1, 2, &[3, 6]),
            // A completed task unlocks nothing.
            (1, 1, &[]),
        ];
        for (done, id, expected) in cases {
            let found = unlocks(&board(6, &edges, done), TaskId(id));
            let found: Vec<u64> = found.into_iter().map(|id| id.0).collect();
            assert_eq!(found, expected, "{done} done, {id}");
        }
        assert_eq!(unlocks(&board(1, &[], 0), TaskId(9)), []);
    }
}
