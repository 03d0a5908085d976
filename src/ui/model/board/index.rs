//! An index of the board with the status, the edges and the critical path of the tasks. Tasks are identified by their
//! position in the index. The index is rebuilt after each change of the board.

use std::collections::{BTreeMap, HashMap};

use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::ui::graph;
use crate::ui::model::board::critical::critical;
use crate::ui::text::{display_name, width};

/// The status of a task as the board shows it. The variants are in the order in which the list is sorted.
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
    /// Returns the text for the status on the screen.
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

pub fn board_status(board: &TaskGraph, task: &Task) -> BoardStatus {
    match task.status {
        TaskStatus::Completed => BoardStatus::Done,
        TaskStatus::InProgress => BoardStatus::InProgress,
        TaskStatus::Pending if !board.open_blockers(task).is_empty() => BoardStatus::Blocked,
        TaskStatus::Pending if task.owner.is_empty() => BoardStatus::Ready,
        TaskStatus::Pending => BoardStatus::Assigned,
    }
}

/// The tasks of the board in the order of their numbers, with their statuses and dependencies. The methods identify a
/// task by its position in this order, counted from 0.
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
            standing: board.tasks().map(|t| board_status(board, t)).collect(),
            ..Index::default()
        };
        out.waits = vec![Vec::new(); out.ids.len()];
        out.frees = vec![Vec::new(); out.ids.len()];
        // The task file of only one of the two tasks may record the edge.
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

    /// Returns the position of the task `id` in the order of the task numbers, counted from 0; `None` if the task is
    /// not on the board.
    pub fn place(&self, id: TaskId) -> Option<usize> {
        self.ids.binary_search(&id).ok()
    }

    pub fn id(&self, place: usize) -> Option<TaskId> {
        self.ids.get(place).copied()
    }

    pub fn board_status(&self, place: usize) -> BoardStatus {
        self.standing
            .get(place)
            .copied()
            .unwrap_or(BoardStatus::Done)
    }

    /// Returns the positions of all blockers of the task at the position `place`, whether open or completed.
    pub fn blockers(&self, place: usize) -> &[usize] {
        self.waits.get(place).map_or(&[], Vec::as_slice)
    }

    /// Returns the positions of all tasks that the task at the position `place` blocks, or has blocked until it was
    /// completed.
    pub fn blocked_tasks(&self, place: usize) -> &[usize] {
        self.frees.get(place).map_or(&[], Vec::as_slice)
    }

    /// Returns the layer of the task at the position `place`: the number of edges in the longest chain of blockers
    /// before it.
    pub fn layer(&self, place: usize) -> usize {
        self.steps.get(place).copied().unwrap_or(0)
    }

    /// Returns the number of layers, and the number of tasks in the largest layer. A drawing of the graph needs at
    /// least this many columns and rows.
    pub fn extent(&self) -> (usize, usize) {
        self.extent
    }

    /// Returns the positions of the tasks on the critical path, as [`critical`] computes it.
    pub fn critical(&self) -> &[usize] {
        &self.critical
    }

    /// Returns which step of the critical path the task at the position `place` is, counted from 0; `None` if the task
    /// is not on the path.
    pub fn critical_step(&self, place: usize) -> Option<usize> {
        let key = self.layer(place);
        let at = self.critical.binary_search_by_key(&key, |p| self.layer(*p));
        at.ok().filter(|at| self.critical[*at] == place)
    }

    /// Returns whether the edge from the task at the position `from` to the task at the position `to` is on the
    /// critical path.
    pub fn is_critical(&self, from: usize, to: usize) -> bool {
        let step = self.critical_step(from);
        step.is_some_and(|step| self.critical.get(step + 1) == Some(&to))
    }

    /// Returns the number of the open task that `owner` owns; upper and lower case in the name are the same. If there
    /// are several tasks, returns the lowest number; `None` if there is none.
    pub fn open_of(&self, owner: &Name) -> Option<TaskId> {
        self.open_of
            .get(&owner.as_str().to_ascii_lowercase())
            .copied()
    }

    /// Returns the width of the longest owner name, in columns.
    pub fn longest_owner(&self) -> usize {
        self.longest_owner
    }

    /// Returns all edges, each as the positions of the blocker and of the task that it blocks.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let from = self.frees.iter().enumerate();
        from.flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
    }

    pub fn count(&self, standing: BoardStatus) -> usize {
        self.counts.get(&standing).copied().unwrap_or(0)
    }
}
