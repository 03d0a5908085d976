//! What changed between two versions of a board, and how a copy follows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::ids::TaskId;
use super::super::task::Task;
use super::TaskGraph;

/// Most tasks of one piece.
const PIECE_TASKS: usize = 500;
/// About the most bytes of one piece; a single larger task is a piece of its own.
const PIECE_BYTES: usize = 256 * 1024;
/// What a task takes beside its texts, in bytes.
const TASK_BYTES: usize = 300;

/// What changed on a board.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delta {
    /// Tasks that are new or other than before, whole.
    pub changed: Vec<Arc<Task>>,
    /// Tasks that are there no more.
    pub removed: Vec<TaskId>,
}

impl TaskGraph {
    /// What leads from `self` to `new`. Tasks that both share are not looked into.
    pub fn delta(&self, new: &TaskGraph) -> Delta {
        let is_news = |t: &&Arc<Task>| !self.has(t);
        Delta {
            changed: new.tasks.values().filter(is_news).cloned().collect(),
            removed: self
                .tasks
                .keys()
                .filter(|id| !new.tasks.contains_key(id))
                .copied()
                .collect(),
        }
    }

    /// The same, of some tasks only.
    pub fn delta_of(&self, new: &TaskGraph, ids: &BTreeSet<TaskId>) -> Delta {
        let mut delta = Delta::default();
        for id in ids {
            match new.tasks.get(id) {
                Some(task) if self.has(task) => {}
                Some(task) => delta.changed.push(Arc::clone(task)),
                None if self.tasks.contains_key(id) => delta.removed.push(*id),
                None => {}
            }
        }
        delta
    }

    fn has(&self, task: &Arc<Task>) -> bool {
        self.tasks
            .get(&task.id)
            .is_some_and(|known| Arc::ptr_eq(known, task) || known == task)
    }

    /// Follows a change that was made elsewhere.
    pub fn apply(&mut self, changed: &[Arc<Task>], removed: &[TaskId]) {
        for task in changed {
            self.put(Arc::clone(task));
        }
        for id in removed {
            self.forget(*id);
        }
    }
}

impl Delta {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    /// The same change in pieces of a bounded size, in order; none when nothing changed.
    pub fn pieces(self) -> Vec<Delta> {
        let mut pieces: Vec<Delta> = Vec::new();
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
                    pieces.push(Delta {
                        changed: vec![task],
                        removed: vec![],
                    });
                }
            }
        }
        // A number is small: some thousands of them make no large piece.
        for ids in self.removed.chunks(PIECE_TASKS * 10) {
            pieces.push(Delta {
                changed: vec![],
                removed: ids.to_vec(),
            });
        }
        pieces
    }
}

/// About how many bytes a task takes as text.
fn size_of_task(task: &Task) -> usize {
    let extra: usize = task
        .extra
        .values()
        .map(|value| value.to_string().len())
        .sum();
    TASK_BYTES + task.subject.len() + task.description.len() + extra
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn task(id: u64, subject: &str) -> Task {
        serde_json::from_value(serde_json::json!({"id": id, "subject": subject})).unwrap()
    }

    #[test]
    fn a_copy_that_follows_is_equal() {
        let old = TaskGraph::new([task(1, "a"), task(2, "b"), task(3, "c")]);
        let new = TaskGraph::new([task(2, "b"), task(3, "other"), task(4, "d")]);
        let delta = old.delta(&new);
        assert_eq!(
            delta,
            Delta {
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
    fn pieces_are_bounded_by_tasks_and_by_bytes_and_lose_nothing() {
        let sizes = |tasks: Vec<Task>, removed: u64| -> Vec<(usize, usize)> {
            let delta = Delta {
                changed: tasks.into_iter().map(Arc::new).collect(),
                removed: (1..=removed).map(TaskId).collect(),
            };
            let count = |d: Delta| (d.changed.len(), d.removed.len());
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
