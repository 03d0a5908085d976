//! The rows of the board's list: tasks sorted by status, blocked tasks indented below a blocker, completed tasks last.

use crate::domain::graph::TaskGraph;
use crate::ui::model::board::index::{BoardStatus, Index};
use crate::ui::panes::board::filter::BoardQuery;

/// Maximum indentation depth. Deeper tasks are shown at this depth.
const DEPTH_MAX: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListRow {
    /// The index of the row's task in the [`Index`].
    pub task: usize,
    /// The indentation depth, at most [`DEPTH_MAX`].
    pub depth: usize,
    /// One bit for each indentation depth, set if the vertical guide line of that depth continues below this row. Bit 0
    /// belongs to the first depth.
    pub rails: u16,
}

impl ListRow {
    /// Returns the characters of the guide lines before the row, two columns for each depth.
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

/// The rows of the list, with the row index of each task for fast lookup.
#[derive(Debug, Clone, Default)]
pub struct ListRows {
    rows: Vec<ListRow>,
    of_task: Vec<Option<usize>>,
}

impl ListRows {
    fn new(rows: Vec<ListRow>, tasks: usize) -> ListRows {
        let mut of_task = vec![None; tasks];
        for (at, row) in rows.iter().enumerate() {
            of_task[row.task] = Some(at);
        }
        ListRows { rows, of_task }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn get(&self, at: usize) -> Option<ListRow> {
        self.rows.get(at).copied()
    }

    /// Returns the rows from index `first` on; none if `first` is too large.
    pub fn from(&self, first: usize) -> &[ListRow] {
        self.rows.get(first..).unwrap_or(&[])
    }

    /// Returns the index of the row that shows a task, or `None` if the list does not contain the task. `task` is the
    /// index of the task in the [`Index`].
    pub fn row_of(&self, task: usize) -> Option<usize> {
        self.of_task.get(task).copied().flatten()
    }
}

/// Returns the rows of the unfiltered list, one for each task. A blocked task is indented below one of its open
/// blockers. If it has several, this is the blocker in the last layer of the graph; if several are in that layer, the
/// one with the highest number. Tasks that are not indented are sorted by status, then by number.
pub fn tree(index: &Index) -> ListRows {
    let count = index.len();
    let mut below = vec![Vec::new(); count];
    let mut top = Vec::new();
    for task in 0..count {
        let is_open = |w: &&usize| index.board_status(**w) != BoardStatus::Done;
        // Only blockers in an earlier layer are considered, so that the indentation never follows a cycle.
        let is_before = |w: &&usize| index.layer(**w) < index.layer(task);
        let waits = index
            .blockers(task)
            .iter()
            .filter(is_open)
            .filter(is_before);
        match waits.max_by_key(|w| (index.layer(**w), **w)) {
            Some(last) if index.board_status(task) == BoardStatus::Blocked => {
                below[*last].push(task);
            }
            Some(_) | None => top.push(task),
        }
    }
    top.sort_by_key(|task| (index.board_status(*task), *task));
    let mut rows = Vec::with_capacity(count);
    let row = |task| ListRow {
        task,
        depth: 0,
        rails: 0,
    };
    let mut todo: Vec<ListRow> = top.into_iter().rev().map(row).collect();
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
            todo.push(ListRow {
                task: *task,
                depth,
                rails,
            });
        }
    }
    ListRows::new(rows, count)
}

/// Returns the rows of the filtered list, one for each task that matches `query`, sorted by status, then by number. The
/// rows are not indented, because the blockers of a task may be filtered out.
pub fn flat(index: &Index, board: &TaskGraph, query: &BoardQuery) -> ListRows {
    let mut found: Vec<usize> = board
        .tasks()
        .enumerate()
        .filter(|(at, task)| query.matches(task, index.board_status(*at)))
        .map(|(at, _)| at)
        .collect();
    found.sort_by_key(|task| (index.board_status(*task), *task));
    let row = |task| ListRow {
        task,
        depth: 0,
        rails: 0,
    };
    ListRows::new(found.into_iter().map(row).collect(), index.len())
}
