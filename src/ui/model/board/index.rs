//! An index of the board with the status, the edges and the critical path of the tasks. Tasks are addressed by
//! position. Rebuilt after each board change.

use std::collections::{BTreeMap, HashMap};

use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::ui::graph;
use crate::ui::model::board::critical::critical;
use crate::ui::text::{display_name, width};

/// The status of a task as the board shows it, in the sort order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoardStatus {
    InProgress,
    /// Pending, without an owner and without open blockers, so that it can be claimed.
    Ready,
    /// Pending, with an owner and without open blockers.
    Assigned,
    /// Pending, with open blockers.
    Blocked,
    Done,
}

impl BoardStatus {
    /// Returns the label of the status on the screen.
    pub fn word(self) -> &'static str {
        match self {
            BoardStatus::InProgress => "in progress",
            BoardStatus::Ready => "ready",
            BoardStatus::Assigned => "assigned",
            BoardStatus::Blocked => "blocked",
            BoardStatus::Done => "done",
        }
    }
}

pub fn standing(board: &TaskGraph, task: &Task) -> BoardStatus {
    match task.status {
        TaskStatus::Completed => BoardStatus::Done,
        TaskStatus::InProgress => BoardStatus::InProgress,
        TaskStatus::Pending if !board.open_blockers(task).is_empty() => BoardStatus::Blocked,
        TaskStatus::Pending if task.owner.is_empty() => BoardStatus::Ready,
        TaskStatus::Pending => BoardStatus::Assigned,
    }
}

/// The index of the board's tasks. The position of a task is its index in the order of task numbers.
#[derive(Debug, Clone, Default)]
pub struct Index {
    ids: Vec<TaskId>,
    standing: Vec<BoardStatus>,
    waits: Vec<Vec<usize>>,
    frees: Vec<Vec<usize>>,
    steps: Vec<usize>,
    extent: (usize, usize),
    critical: Vec<usize>,
    counts: BTreeMap<BoardStatus, usize>,
    open_of: HashMap<String, TaskId>,
    longest_owner: usize,
}

impl Index {
    /// Builds the index of `board`. Edges to tasks that are not on the board are ignored.
    pub fn new(board: &TaskGraph) -> Index {
        let mut out = Index {
            ids: board.tasks().map(|t| t.id).collect(),
            standing: board.tasks().map(|t| standing(board, t)).collect(),
            ..Index::default()
        };
        out.waits = vec![Vec::new(); out.ids.len()];
        out.frees = vec![Vec::new(); out.ids.len()];
        // An edge may be recorded in only one of its two task files.
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
        let edges: Vec<(usize, usize)> = out.edges().collect();
        out.steps = graph::assign_layers(out.ids.len(), &edges).layer;
        let columns = out.steps.iter().max().map_or(0, |most| most + 1);
        let mut rows = vec![0_usize; columns];
        for step in &out.steps {
            rows[*step] += 1;
        }
        out.extent = (columns, rows.into_iter().max().unwrap_or(0));
        for here in &out.standing {
            *out.counts.entry(*here).or_default() += 1;
        }
        let owned = board.tasks().filter(|t| !t.owner.is_empty());
        for task in owned.filter(|t| t.status != TaskStatus::Completed) {
            let owner = task.owner.to_ascii_lowercase();
            out.open_of.entry(owner).or_insert(task.id);
        }
        let names = board.tasks().map(|t| width(&display_name(&t.owner)));
        out.longest_owner = names.max().unwrap_or(0);
        out.critical = critical(&out);
        out
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the position of the task `id`, or `None` if it is not on the board.
    pub fn place(&self, id: TaskId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    pub fn id(&self, place: usize) -> Option<TaskId> {
        self.ids.get(place).copied()
    }

    pub fn standing(&self, place: usize) -> BoardStatus {
        self.standing
            .get(place)
            .copied()
            .unwrap_or(BoardStatus::Done)
    }

    /// Returns the positions of the blockers of the task at `place`, open and completed.
    pub fn blockers(&self, place: usize) -> &[usize] {
        self.waits.get(place).map_or(&[], Vec::as_slice)
    }

    /// Returns the positions of the tasks that the task at `place` blocks or has blocked.
    pub fn blocked_tasks(&self, place: usize) -> &[usize] {
        self.frees.get(place).map_or(&[], Vec::as_slice)
    }

    /// Returns the layer of the task at a position: the number of edges on the longest chain of blockers before it.
    pub fn layer(&self, place: usize) -> usize {
        self.steps.get(place).copied().unwrap_or(0)
    }

    /// Returns the number of layers and the number of tasks in the largest layer: the minimum columns and rows of a
    /// drawing.
    pub fn extent(&self) -> (usize, usize) {
        self.extent
    }

    /// Returns the positions of the tasks on the critical path: see [`critical`].
    pub fn critical(&self) -> &[usize] {
        &self.critical
    }

    /// Returns the index on the critical path, from 0, of the task at `place`, or `None` if the task is not on the
    /// path.
    pub fn critical_step(&self, place: usize) -> Option<usize> {
        let key = self.layer(place);
        let at = self.critical.binary_search_by_key(&key, |p| self.layer(*p));
        at.ok().filter(|at| self.critical[*at] == place)
    }

    /// Returns whether the edge between two positions is on the critical path.
    pub fn is_critical(&self, from: usize, to: usize) -> bool {
        let step = self.critical_step(from);
        step.is_some_and(|step| self.critical.get(step + 1) == Some(&to))
    }

    /// Returns the task with the lowest number that `owner` holds and has not completed.
    pub fn open_of(&self, owner: &Name) -> Option<TaskId> {
        self.open_of
            .get(&owner.as_str().to_ascii_lowercase())
            .copied()
    }

    /// Returns the width of the longest owner name, in columns.
    pub fn longest_owner(&self) -> usize {
        self.longest_owner
    }

    /// Returns all edges as pairs of positions: (blocker, blocked task).
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let from = self.frees.iter().enumerate();
        from.flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
    }

    pub fn count(&self, standing: BoardStatus) -> usize {
        self.counts.get(&standing).copied().unwrap_or(0)
    }
}
