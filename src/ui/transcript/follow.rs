//! Where the reader stands: at the newest, or at a row that stays where it is while more comes in.

use super::layout::Above;
use super::layouts::Layouts;
use super::log::Log;
use crate::ui::layout::scrollbar::Scrolled;

/// How a transcript is scrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    /// One row up.
    LineUp,
    /// One row down.
    LineDown,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// Half a page up.
    HalfUp,
    /// Half a page down.
    HalfDown,
    /// To the beginning.
    Top,
    /// To the end, and follow; nothing is selected any more.
    Bottom,
}

/// The size of the view, in cells of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewport {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Viewport {
    /// Its columns, at least one.
    pub fn columns(self) -> usize {
        usize::from(self.width.max(1))
    }

    /// Its rows, at least one.
    pub fn rows(self) -> usize {
        usize::from(self.height.max(1))
    }
}

/// The parts of a cell that a scrollbar counts.
const PARTS: usize = 1000;

/// What the reader looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Place {
    /// The newest row is in view and stays so.
    #[default]
    Following,
    /// A row is held at the top of the view.
    Held(Anchor),
}

/// A row that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// The number of its cell.
    cell: u64,
    /// Which row of the cell it is, at the width that it was held at.
    line: usize,
    /// That width.
    columns: usize,
    /// The visible characters of the cell before it: where it is at another width.
    ink: usize,
    /// The number of the first cell that has not been in view.
    unseen: u64,
}

/// A row: the index of its cell, and which of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The index of the cell.
    pub at: usize,
    /// The row of the cell.
    pub line: usize,
}

impl Place {
    /// How many cells came in that have not been in view.
    pub fn unread(&self, log: &Log) -> usize {
        match self {
            Place::Following => 0,
            Place::Held(anchor) => {
                let unread = log.entries_from(anchor.unseen);
                usize::try_from(unread).unwrap_or(usize::MAX)
            }
        }
    }

    /// The first row in view, if there is any. Only what is in view is laid out.
    pub fn top(&self, log: &Log, layouts: &mut Layouts, rows: usize) -> Option<Spot> {
        let end = end_of(log, layouts, rows)?;
        let Place::Held(anchor) = self else {
            return Some(end);
        };
        if anchor.cell >= log.next() {
            // The cell was the last one and was taken back.
            return Some(end);
        }
        let at = log.shown(log.index(anchor.cell).unwrap_or(0));
        let columns = layouts.columns();
        let laid = layouts.get(log, at);
        let line = if log.number(at) != anchor.cell {
            0
        } else if columns == anchor.columns {
            anchor.line.min(laid.len().saturating_sub(1))
        } else {
            laid.line_of(anchor.ink)
        };
        // Where too little is left below it, the view is filled from above.
        Some(Spot { at, line }.min(end))
    }

    /// Scrolls.
    pub fn scroll(&mut self, by: Scroll, log: &Log, layouts: &mut Layouts, rows: usize) {
        let page = rows.saturating_sub(1).max(1);
        let half = rows.div_ceil(2);
        match by {
            Scroll::Bottom => *self = Place::Following,
            Scroll::Top => self.hold(Spot { at: 0, line: 0 }, log, layouts, rows),
            Scroll::LineUp => self.up(1, log, layouts, rows),
            Scroll::HalfUp => self.up(half, log, layouts, rows),
            Scroll::PageUp => self.up(page, log, layouts, rows),
            Scroll::LineDown => self.down(1, log, layouts, rows),
            Scroll::HalfDown => self.down(half, log, layouts, rows),
            Scroll::PageDown => self.down(page, log, layouts, rows),
        }
    }

    /// Moves only as far as needed to have the cell at an index in view: its first row at least.
    pub fn reveal(&mut self, at: usize, log: &Log, layouts: &mut Layouts, rows: usize) {
        let Some(top) = self.top(log, layouts, rows) else {
            return;
        };
        let at = log.shown(at);
        let first = Spot { at, line: 0 };
        let height = layouts.get(log, at).len();
        let last = Spot {
            at,
            line: height.saturating_sub(1),
        };
        let lowest = if height >= rows {
            first
        } else {
            back(last, rows - 1, log, layouts)
        };
        let goal = if first < top { first } else { top.max(lowest) };
        self.hold(goal, log, layouts, rows);
    }

    /// Brings a row into view, with some of what stands before it; a view that has it does not move.
    pub fn reveal_row(&mut self, row: Spot, log: &Log, layouts: &mut Layouts, rows: usize) {
        let Some(top) = self.top(log, layouts, rows) else {
            return;
        };
        let is_in_view = top <= row && back(row, rows - 1, log, layouts) <= top;
        if !is_in_view {
            let goal = back(row, rows / 3, log, layouts);
            self.hold(goal, log, layouts, rows);
        }
    }

    /// Moves the cell at an index to the top of the view, as far as there is enough below it.
    pub fn hold_cell(&mut self, at: usize, log: &Log, layouts: &mut Layouts, rows: usize) {
        // Not the blank row above it.
        let line = usize::from(log.above(at) == Above::Apart);
        self.hold(Spot { at, line }, log, layouts, rows);
    }

    /// The indices of the first and the last cell in view.
    pub fn seen(&self, log: &Log, layouts: &mut Layouts, rows: usize) -> Option<(usize, usize)> {
        let top = self.top(log, layouts, rows)?;
        let mut room = rows + top.line;
        let mut last = top.at;
        let mut next = Some(top.at);
        while let Some(at) = next {
            let height = layouts.get(log, at).len();
            last = at;
            if height >= room {
                break;
            }
            room -= height;
            next = log.next_shown(at);
        }
        Some((top.at, last))
    }

    /// How much of it is in view. Counted in parts of cells: the rows of cells that were never in view are not known.
    pub fn scrolled(&self, log: &Log, layouts: &mut Layouts, rows: usize) -> Option<Scrolled> {
        let top = self.top(log, layouts, rows)?;
        let part = |line: usize, height: usize| PARTS * line.min(height) / height.max(1);
        let first = top.at * PARTS + part(top.line, layouts.get(log, top.at).len());
        let mut room = rows + top.line;
        let mut end = top.at * PARTS;
        for at in top.at..log.len() {
            let height = layouts.get(log, at).len();
            end = at * PARTS + part(room, height.max(1));
            if height >= room {
                break;
            }
            room -= height;
        }
        Some(Scrolled {
            len: log.len() * PARTS,
            first,
            seen: end - first,
        })
    }

    /// Goes to where so many parts of cells lie above, as [`Place::scrolled`] counts them.
    pub fn jump(&mut self, parts: usize, log: &Log, layouts: &mut Layouts, rows: usize) {
        let at = parts / PARTS;
        if at >= log.len() {
            *self = Place::Following;
            return;
        }
        let line = layouts.get(log, at).len() * (parts % PARTS) / PARTS;
        self.hold(Spot { at, line }, log, layouts, rows);
    }

    fn up(&mut self, by: usize, log: &Log, layouts: &mut Layouts, rows: usize) {
        if let Some(top) = self.top(log, layouts, rows) {
            let spot = back(top, by, log, layouts);
            self.hold(spot, log, layouts, rows);
        }
    }

    fn down(&mut self, mut by: usize, log: &Log, layouts: &mut Layouts, rows: usize) {
        let Some(Spot { mut at, mut line }) = self.top(log, layouts, rows) else {
            return;
        };
        if *self == Place::Following {
            return;
        }
        // An empty cell has no row to stand on.
        by += usize::from(layouts.get(log, at).len() == 0);
        while by > 0 {
            let left = layouts.get(log, at).len().saturating_sub(line + 1);
            if left >= by {
                line += by;
                by = 0;
            } else if let Some(next) = log.next_shown(at) {
                by -= left + 1;
                at = next;
                line = 0;
                by += usize::from(layouts.get(log, at).len() == 0);
            } else {
                break;
            }
        }
        self.hold(Spot { at, line }, log, layouts, rows);
    }

    /// Holds a row at the top, or follows where the newest row is in view then.
    fn hold(&mut self, spot: Spot, log: &Log, layouts: &mut Layouts, rows: usize) {
        let Some(end) = end_of(log, layouts, rows) else {
            *self = Place::Following;
            return;
        };
        let mut spot = spot;
        // An empty cell has no row that could be held.
        while layouts.get(log, spot.at).len() == 0
            && let Some(at) = log.next_shown(spot.at)
        {
            spot = Spot { at, line: 0 };
        }
        if spot >= end {
            *self = Place::Following;
            return;
        }
        let mut seen = log.number(spot.at);
        let mut room = rows + spot.line;
        let mut next = Some(spot.at);
        while let Some(at) = next {
            let height = layouts.get(log, at).len();
            if height > room {
                break;
            }
            room -= height;
            next = log.next_shown(at);
            seen = next.map_or(log.next(), |next| log.number(next));
        }
        let unseen = match self {
            Place::Following => log.next(),
            Place::Held(anchor) => anchor.unseen.max(seen),
        };
        *self = Place::Held(Anchor {
            cell: log.number(spot.at),
            line: spot.line,
            columns: layouts.columns(),
            ink: layouts.get(log, spot.at).ink_of(spot.line),
            unseen,
        });
    }
}

/// The first row in view when the newest one is the last.
fn end_of(log: &Log, layouts: &mut Layouts, rows: usize) -> Option<Spot> {
    let mut left = rows;
    let mut next = log.prev_shown(log.len());
    while let Some(at) = next {
        let height = layouts.get(log, at).len();
        if height >= left {
            let line = height - left;
            return Some(Spot { at, line });
        }
        left -= height;
        next = log.prev_shown(at);
    }
    (log.len() > 0).then_some(Spot { at: 0, line: 0 })
}

/// The row that is `by` rows above another, or the first one.
fn back(from: Spot, mut by: usize, log: &Log, layouts: &mut Layouts) -> Spot {
    let Spot { mut at, mut line } = from;
    loop {
        if line >= by {
            line -= by;
            return Spot { at, line };
        }
        let Some(above) = log.prev_shown(at) else {
            return Spot { at: 0, line: 0 };
        };
        by -= line;
        at = above;
        // The row behind the last one of the cell above.
        line = layouts.get(log, at).len();
    }
}
