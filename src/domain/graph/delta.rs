//! The difference between two versions of a board. Applying the difference to a copy of the old version produces the
//! new version.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::ids::TaskId;
use super::super::task::Task;
use super::TaskGraph;

/// Maximum number of changed tasks in each delta that [`BoardDelta::pieces`] returns.
const PIECE_TASKS: usize = 500;
/// Approximate maximum size of each delta that [`BoardDelta::pieces`] returns, in bytes. A larger task becomes a delta
/// that contains only this task.
const PIECE_BYTES: usize = 256 * 1024;
/// Estimated number of bytes that a task takes as JSON, not counting its texts.
const TASK_BYTES: usize = 300;

/// The tasks that differ between two versions of a board. [`TaskGraph::apply`] turns the old version into the new one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoardDelta {
    /// New and changed tasks, each with all fields.
    pub changed: Vec<Arc<Task>>,
    pub removed: Vec<TaskId>,
}

impl TaskGraph {
    /// Returns the changes from `self` to `new`. Tasks that both graphs share (the same [`Arc`]) are not compared field
    /// by field.
    pub fn delta(&self, new: &TaskGraph) -> BoardDelta {
        let is_news = |t: &&Arc<Task>| !self.has_same(t);
        BoardDelta {
            changed: new.tasks.values().filter(is_news).cloned().collect(),
            removed: self
                .tasks
                .keys()
                .filter(|id| !new.tasks.contains_key(id))
                .copied()
                .collect(),
        }
    }

    /// Like [`TaskGraph::delta`], but compares only the tasks `ids`.
    pub fn delta_of(&self, new: &TaskGraph, ids: &BTreeSet<TaskId>) -> BoardDelta {
        let mut delta = BoardDelta::default();
        for id in ids {
            match new.tasks.get(id) {
                Some(task) if self.has_same(task) => {}
                Some(task) => delta.changed.push(Arc::clone(task)),
                None if self.tasks.contains_key(id) => delta.removed.push(*id),
                None => {}
            }
        }
        delta
    }

    fn has_same(&self, task: &Arc<Task>) -> bool {
        self.tasks
            .get(&task.id)
            .is_some_and(|known| Arc::ptr_eq(known, task) || known == task)
    }

    /// Inserts or replaces the tasks `changed` and deletes the tasks `removed`.
    pub fn apply(&mut self, changed: &[Arc<Task>], removed: &[TaskId]) {
        for task in changed {
            self.put(Arc::clone(task));
        }
        for id in removed {
            self.forget(*id);
        }
    }
}

impl BoardDelta {
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// Splits the delta into smaller deltas: first deltas of changed tasks, with at most 500 tasks and about 256 KiB
    /// each, then deltas of removed tasks, with at most 5000 ids each. Applying all of them in this order has the same
    /// effect as applying this delta. Returns no deltas if this delta is empty.
    pub fn pieces(self) -> Vec<BoardDelta> {
        let mut pieces: Vec<BoardDelta> = Vec::new();
        let mut room = 0;
        for task in self.changed {
            let size = size_of_task(&task);
            match pieces.last_mut() {
                Some(piece) if piece.changed.len() < PIECE_TASKS && size <= room => {
                    room -= size;
                    piece.changed.push(task);
                }
                _ => {
                    room = PIECE_BYTES.saturating_sub(size);
                    pieces.push(BoardDelta {
                        changed: vec![task],
                        removed: vec![],
                    });
                }
            }
        }
        // An id is much smaller than a task, so a piece can contain more ids.
        for ids in self.removed.chunks(PIECE_TASKS * 10) {
            pieces.push(BoardDelta {
                changed: vec![],
                removed: ids.to_vec(),
            });
        }
        pieces
    }
}

/// Estimates the size of a task as JSON, in bytes.
fn size_of_task(task: &Task) -> usize {
    let extra: usize = task
        .extra
        .values()
        .map(|value| value.to_string().len())
        .sum();
    let checks = match task.checks.as_slice() {
        [] => 0,
        checks => serde_json::to_string(checks).map_or(0, |text| text.len()),
    };
    let texts = task.subject.len() + task.description.len() + task.acceptance.len();
    TASK_BYTES + texts + checks + extra
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn task(id: u64, subject: &str) -> Task {
        serde_json::from_value(serde_json::json!({"id": id, "subject": subject})).unwrap()
    }

    #[test]
    fn applying_a_delta_reproduces_the_new_graph() {
        let old = TaskGraph::new([task(1, "a"), task(2, "b"), task(3, "c")]);
        let new = TaskGraph::new([task(2, "b"), task(3, "other"), task(4, "d")]);
        let delta = old.delta(&new);
        assert_eq!(
            delta,
            BoardDelta {
                changed: vec![Arc::new(task(3, "other")), Arc::new(task(4, "d"))],
                removed: vec![TaskId(1)],
            }
        );
        let all = (0..9).map(TaskId).collect();
        assert_eq!(old.delta_of(&new, &all), delta);
        let one = old.delta_of(&new, &BTreeSet::from([TaskId(1), TaskId(2)]));
        assert_eq!(one.removed, [TaskId(1)]);
        let mut copy = old.clone();
        copy.apply(&delta.changed, &delta.removed);
        assert_eq!(copy, new);
        assert!(copy.delta(&new).is_empty());
    }

    #[test]
    fn pieces_are_bounded_by_count_and_size() {
        let sizes = |tasks: Vec<Task>, removed: u64| -> Vec<(usize, usize)> {
            let delta = BoardDelta {
                changed: tasks.into_iter().map(Arc::new).collect(),
                removed: (1..=removed).map(TaskId).collect(),
            };
            let count = |d: BoardDelta| (d.changed.len(), d.removed.len());
            delta.pieces().into_iter().map(count).collect()
        };
        assert_eq!(sizes(vec![], 0), []);
        let small = (1..=1200).map(|id| task(id, "s")).collect();
        assert_eq!(sizes(small, 3), [(500, 0), (500, 0), (200, 0), (0, 3)]);
        let long = "x".repeat(100_000);
        let large = (1..=3).map(|id| task(id, &long)).collect();
        assert_eq!(sizes(large, 0), [(2, 0), (1, 0)]);
        let huge = "x".repeat(1_000_000);
        assert_eq!(
            sizes(vec![task(1, &huge), task(2, "s")], 0),
            [(1, 0), (1, 0)]
        );
    }
}
