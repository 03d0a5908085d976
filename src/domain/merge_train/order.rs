//! The order in which branches are combined.

use std::collections::BTreeSet;

use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::TaskStatus;

/// A task whose branch is to land.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainMember {
    pub task: TaskId,
    /// The other members whose work the branch contains, because the task has waited for them.
    pub needs: BTreeSet<TaskId>,
}

/// Orders tasks so that each comes after the tasks that it has waited for, directly or through other tasks. Tasks that
/// did not wait for each other are ordered by number. Each task is returned once, also if it is not on the board.
pub fn train_members(graph: &TaskGraph, tasks: &[TaskId]) -> Vec<TrainMember> {
    let wanted: BTreeSet<TaskId> = tasks.iter().copied().collect();
    let mut seen = BTreeSet::new();
    let mut order = Vec::new();
    for first in &wanted {
        // A task is put on the stack again, with `true`, below its blockers.
        let mut stack = vec![(*first, false)];
        while let Some((task, has_blockers_before)) = stack.pop() {
            if has_blockers_before {
                if wanted.contains(&task) {
                    let needs = needs_of(graph, task, &wanted);
                    order.push(TrainMember { task, needs });
                }
                continue;
            }
            // Also ends a cycle, which a file that another program has written can contain.
            if !seen.insert(task) {
                continue;
            }
            stack.push((task, true));
            let blockers = graph.blockers(task).into_iter().rev();
            stack.extend(blockers.map(|blocker| (blocker, false)));
        }
    }
    order
}

/// Returns whether `task` has waited, directly or through other tasks, for a task in whose worktree another one is not
/// completed, for example one that repairs its branch.
pub fn builds_on_open_branch(graph: &TaskGraph, task: TaskId) -> bool {
    let open = graph
        .tasks()
        .filter(|other| other.status != TaskStatus::Completed && !other.worktree.is_empty());
    let open: BTreeSet<&str> = open.map(|other| other.worktree.as_str()).collect();
    let below = all_blockers(graph, task);
    let mut below = below.iter().filter_map(|id| graph.get(*id));
    below.any(|other| open.contains(other.worktree.as_str()))
}

/// Returns the tasks in `wanted` that `task` has waited for, directly or through other tasks.
fn needs_of(graph: &TaskGraph, task: TaskId, wanted: &BTreeSet<TaskId>) -> BTreeSet<TaskId> {
    let mut found = all_blockers(graph, task);
    found.retain(|other| wanted.contains(other));
    found
}

/// Returns the tasks that `task` has waited for, directly or through other tasks.
fn all_blockers(graph: &TaskGraph, task: TaskId) -> BTreeSet<TaskId> {
    let mut found = BTreeSet::new();
    let mut open = vec![task];
    while let Some(next) = open.pop() {
        let blockers = graph.blockers(next).into_iter();
        open.extend(blockers.filter(|blocker| found.insert(*blocker)));
    }
    found.remove(&task);
    found
}
