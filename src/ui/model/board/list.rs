//! The rows of the list: what is worked on, what is ready, below each what waits for it; what is done last.

use crate::domain::graph::TaskGraph;
use crate::ui::model::board::filter::Query;
use crate::ui::model::board::index::{Index, Standing};

/// Deepest row that is still moved to the right.
const DEPTH_MAX: usize = 8;

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The place of its task.
    pub task: usize,
    /// How many tasks above it wait for one another; at most [`DEPTH_MAX`].
    pub depth: usize,
    /// For each step of the depth, whether a line goes on below it: bit 0 for the first.
    pub rails: u16,
}

impl Row {
    /// The lines before the row, two columns for each step.
    pub fn guide(self) -> String {
        let goes_on = |step: usize| self.rails & (1 << step) != 0;
        (0..self.depth)
            .map(|step| match (step + 1 == self.depth, goes_on(step)) {
                (true, true) => "├ ",
                (true, false) => "╰ ",
                (false, true) => "│ ",
                (false, false) => "  ",
            })
            .collect()
    }
}

/// The rows of a list.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    rows: Vec<Row>,
    of_task: Vec<Option<usize>>,
}

impl Rows {
    fn new(rows: Vec<Row>, tasks: usize) -> Rows {
        let mut of_task = vec![None; tasks];
        for (at, row) in rows.iter().enumerate() {
            of_task[row.task] = Some(at);
        }
        Rows { rows, of_task }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row at a place of the list.
    pub fn get(&self, at: usize) -> Option<Row> {
        self.rows.get(at).copied()
    }

    /// The rows from one on.
    pub fn from(&self, first: usize) -> &[Row] {
        self.rows.get(first..).unwrap_or(&[])
    }

    /// Where the task at a place stands in the list.
    pub fn row_of(&self, task: usize) -> Option<usize> {
        self.of_task.get(task).copied().flatten()
    }
}

/// All tasks: each one that waits stands below the one that will free it, as far as can be told.
pub fn tree(index: &Index) -> Rows {
    let count = index.len();
    let mut below = vec![Vec::new(); count];
    let mut top = Vec::new();
    for task in 0..count {
        let is_open = |w: &&usize| index.standing(**w) != Standing::Done;
        // Never below a task of a later column, so that no circle can arise.
        let is_before = |w: &&usize| index.steps(**w) < index.steps(task);
        let waits = index.waits(task).iter().filter(is_open).filter(is_before);
        match waits.max_by_key(|w| (index.steps(**w), **w)) {
            Some(last) if index.standing(task) == Standing::Blocked => below[*last].push(task),
            Some(_) | None => top.push(task),
        }
    }
    top.sort_by_key(|task| (index.standing(*task), *task));
    let mut rows = Vec::with_capacity(count);
    let row = |task| Row {
        task,
        depth: 0,
        rails: 0,
    };
    let mut todo: Vec<Row> = top.into_iter().rev().map(row).collect();
    while let Some(row) = todo.pop() {
        rows.push(row);
        let depth = (row.depth + 1).min(DEPTH_MAX);
        let step = 1_u16 << (depth - 1);
        for (i, task) in below[row.task].iter().rev().enumerate() {
            let rails = if i == 0 {
                row.rails & !step
            } else {
                row.rails | step
            };
            todo.push(Row {
                task: *task,
                depth,
                rails,
            });
        }
    }
    Rows::new(rows, count)
}

/// The tasks that are looked for, without lines: what they wait for may not be among them.
pub fn flat(index: &Index, board: &TaskGraph, query: &Query) -> Rows {
    let mut found: Vec<usize> = board
        .tasks()
        .enumerate()
        .filter(|(at, task)| query.matches(task, index.standing(*at)))
        .map(|(at, _)| at)
        .collect();
    found.sort_by_key(|task| (index.standing(*task), *task));
    let row = |task| Row {
        task,
        depth: 0,
        rails: 0,
    };
    Rows::new(found.into_iter().map(row).collect(), index.len())
}
