//! The tasks of a board by their places, each with where it stands and its edges: made once a change.

use crate::domain::graph::TaskGraph;
use crate::domain::ids::TaskId;
use crate::domain::task::{Task, TaskStatus};

/// Where a task stands, as the board shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Somebody works on it.
    InProgress,
    /// It may be claimed.
    Ready,
    /// It has an owner who has not begun.
    Assigned,
    /// It waits for others.
    Blocked,
    /// It is finished.
    Done,
}

impl Standing {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Standing::InProgress => "in progress",
            Standing::Ready => "ready",
            Standing::Assigned => "assigned",
            Standing::Blocked => "blocked",
            Standing::Done => "done",
        }
    }
}

/// Where `task` stands on `board`.
pub fn standing(board: &TaskGraph, task: &Task) -> Standing {
    match task.status {
        TaskStatus::Completed => Standing::Done,
        TaskStatus::InProgress => Standing::InProgress,
        TaskStatus::Pending if !board.open_blockers(task).is_empty() => Standing::Blocked,
        TaskStatus::Pending if task.owner.is_empty() => Standing::Ready,
        TaskStatus::Pending => Standing::Assigned,
    }
}

/// The tasks in the order of their numbers; a task is called by its place among them.
#[derive(Debug, Clone, Default)]
pub struct Index {
    ids: Vec<TaskId>,
    standing: Vec<Standing>,
    waits: Vec<Vec<usize>>,
    frees: Vec<Vec<usize>>,
}

impl Index {
    /// The index of `board`. Edges that lead off the board are left out.
    pub fn new(board: &TaskGraph) -> Index {
        let mut out = Index {
            ids: board.tasks().map(|t| t.id).collect(),
            standing: board.tasks().map(|t| standing(board, t)).collect(),
            ..Index::default()
        };
        out.waits = vec![Vec::new(); out.ids.len()];
        out.frees = vec![Vec::new(); out.ids.len()];
        // Either end of an edge may be the only one that knows of it.
        for (at, task) in board.tasks().enumerate() {
            let before: Vec<usize> = task
                .blocked_by
                .iter()
                .filter_map(|id| out.place(*id))
                .collect();
            out.waits[at].extend(before);
            for id in &task.blocks {
                if let Some(after) = out.place(*id) {
                    out.waits[after].push(at);
                }
            }
        }
        for (at, waits) in out.waits.iter_mut().enumerate() {
            waits.sort_unstable();
            waits.dedup();
            waits.retain(|w| *w != at);
            for before in waits {
                out.frees[*before].push(at);
            }
        }
        out
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The place of a task.
    pub fn place(&self, id: TaskId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    /// The task at a place.
    pub fn id(&self, place: usize) -> Option<TaskId> {
        self.ids.get(place).copied()
    }

    /// Where the task at a place stands.
    pub fn standing(&self, place: usize) -> Standing {
        self.standing.get(place).copied().unwrap_or(Standing::Done)
    }

    /// What the task at a place waits for, or waited for.
    pub fn waits(&self, place: usize) -> &[usize] {
        self.waits.get(place).map_or(&[], Vec::as_slice)
    }

    /// What waits for the task at a place, or waited for it.
    pub fn frees(&self, place: usize) -> &[usize] {
        self.frees.get(place).map_or(&[], Vec::as_slice)
    }

    /// All edges, from what is waited for to what waits.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let from = self.frees.iter().enumerate();
        from.flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
    }

    /// How many tasks stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.standing.iter().filter(|s| **s == standing).count()
    }
}
