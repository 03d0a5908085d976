//! The tasks of a board by their places, each with where it stands and its edges: made once a change.

use std::collections::{BTreeMap, HashMap};

use crate::domain::graph::TaskGraph;
use crate::domain::ids::{Name, TaskId};
use crate::domain::task::{Task, TaskStatus};
use crate::ui::graph;
use crate::ui::model::board::critical::critical;
use crate::ui::text::{called, width};

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
    steps: Vec<usize>,
    extent: (usize, usize),
    critical: Vec<usize>,
    counts: BTreeMap<Standing, usize>,
    open_of: HashMap<String, TaskId>,
    longest_owner: usize,
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
        let edges: Vec<(usize, usize)> = out.edges().collect();
        out.steps = graph::rank(out.ids.len(), &edges).layer;
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
        let names = board.tasks().map(|t| width(&called(&t.owner)));
        out.longest_owner = names.max().unwrap_or(0);
        out.critical = critical(&out);
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

    /// The longest way to the task at a place, in edges.
    pub fn steps(&self, place: usize) -> usize {
        self.steps.get(place).copied().unwrap_or(0)
    }

    /// The columns that a drawing needs, in tasks, and the rows that it needs at least.
    pub fn extent(&self) -> (usize, usize) {
        self.extent
    }

    /// The places of the tasks on the critical path: see [`critical`].
    pub fn critical(&self) -> &[usize] {
        &self.critical
    }

    /// Which step of the critical path the task at a place is, from 0; `None`: it is not on it.
    pub fn critical_step(&self, place: usize) -> Option<usize> {
        let key = self.steps(place);
        let at = self.critical.binary_search_by_key(&key, |p| self.steps(*p));
        at.ok().filter(|at| self.critical[*at] == place)
    }

    /// Whether the line between two places is one of the critical path.
    pub fn is_critical(&self, from: usize, to: usize) -> bool {
        let step = self.critical_step(from);
        step.is_some_and(|step| self.critical.get(step + 1) == Some(&to))
    }

    /// The first task that `owner` has not completed.
    pub fn open_of(&self, owner: &Name) -> Option<TaskId> {
        self.open_of
            .get(&owner.as_str().to_ascii_lowercase())
            .copied()
    }

    /// The columns of the longest name of an owner.
    pub fn longest_owner(&self) -> usize {
        self.longest_owner
    }

    /// All edges, from what is waited for to what waits.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let from = self.frees.iter().enumerate();
        from.flat_map(|(from, to)| to.iter().map(move |to| (from, *to)))
    }

    /// How many tasks stand so.
    pub fn count(&self, standing: Standing) -> usize {
        self.counts.get(&standing).copied().unwrap_or(0)
    }
}
