//! The scroll position of a transcript. The view either always shows the newest row, or keeps the same row at its top
//! while new content arrives.

use crate::ui::keymap::direction::Scroll;
use crate::ui::transcript::layout::Above;
use crate::ui::transcript::layout_cache::LayoutCache;
use crate::ui::transcript::log::CellLog;
use crate::ui::widgets::scrollbar::ScrollPosition;

/// Size of the visible part of a transcript, in terminal cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewport {
    pub width: u16,
    pub height: u16,
}

impl Viewport {
    /// Returns the width in columns, at least 1.
    pub fn columns(self) -> usize {
        usize::from(self.width.max(1))
    }

    /// Returns the height in rows, at least 1.
    pub fn rows(self) -> usize {
        usize::from(self.height.max(1))
    }
}

/// Number of scrollbar units per cell. The scrollbar counts in fractions of cells instead of rows, because the height
/// of a cell is known only after it was laid out.
const PARTS: usize = 1000;

/// The scroll position of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScrollAnchor {
    /// The newest row stays at the bottom of the view.
    #[default]
    Following,
    /// This row stays at the top of the view.
    Anchored(AnchoredRow),
}

/// The row at the top of the view, stored so that it can still be found after older cells were dropped or the width has
/// changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnchoredRow {
    /// Number of the cell to which the row at the top of the view belongs.
    cell: u64,
    /// Index of the row within its cell, counted from 0, if the cell is laid out in `columns` columns.
    line: usize,
    /// The width, in columns, for which `line` was computed.
    columns: usize,
    /// Number of visible characters of the cell before the row, by which the row is found at other widths.
    text_offset: usize,
    /// Number of the first cell below the view that was never visible.
    unseen: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPosition {
    /// Index in the log of the cell to which the row belongs.
    pub at: usize,
    /// Index of the row within its cell, counted from 0.
    pub line: usize,
}

impl ScrollAnchor {
    /// Returns the number of entries below the view that were never visible; 0 while the view follows the newest row.
    pub fn unread(&self, log: &CellLog) -> usize {
        match self {
            ScrollAnchor::Following => 0,
            ScrollAnchor::Anchored(anchor) => {
                let unread = log.entries_from(anchor.unseen);
                usize::try_from(unread).unwrap_or(usize::MAX)
            }
        }
    }

    /// Returns the position of the first visible row in a view of `rows` rows; `None` if the transcript is empty. Lays
    /// out only the cells near the view.
    pub fn top(
        &self,
        log: &CellLog,
        layouts: &mut LayoutCache,
        rows: usize,
    ) -> Option<RowPosition> {
        let end = bottom_position(log, layouts, rows)?;
        let ScrollAnchor::Anchored(anchor) = self else {
            return Some(end);
        };
        if anchor.cell >= log.next() {
            // The cell was the last one of the log and has been removed.
            return Some(end);
        }
        let at = log.visible_index(log.index(anchor.cell).unwrap_or(0));
        let columns = layouts.columns();
        let laid = layouts.get(log, at);
        let line = if log.number(at) != anchor.cell {
            0
        } else if columns == anchor.columns {
            anchor.line.min(laid.len().saturating_sub(1))
        } else {
            laid.line_of(anchor.text_offset)
        };
        // If fewer than `rows` rows follow, the view begins further above, so that it is full.
        Some(RowPosition { at, line }.min(end))
    }

    pub fn scroll(&mut self, by: Scroll, log: &CellLog, layouts: &mut LayoutCache, rows: usize) {
        let page = rows.saturating_sub(1).max(1);
        let half = rows.div_ceil(2);
        match by {
            Scroll::Bottom => *self = ScrollAnchor::Following,
            Scroll::Top => self.anchor_at(RowPosition { at: 0, line: 0 }, log, layouts, rows),
            Scroll::LineUp => self.up(1, log, layouts, rows),
            Scroll::HalfUp => self.up(half, log, layouts, rows),
            Scroll::PageUp => self.up(page, log, layouts, rows),
            Scroll::LineDown => self.down(1, log, layouts, rows),
            Scroll::HalfDown => self.down(half, log, layouts, rows),
            Scroll::PageDown => self.down(page, log, layouts, rows),
        }
    }

    /// Scrolls as little as possible to make the cell at the index `at` visible. If the cell is higher than the view,
    /// makes at least its first row visible.
    pub fn reveal(&mut self, at: usize, log: &CellLog, layouts: &mut LayoutCache, rows: usize) {
        let Some(top) = self.top(log, layouts, rows) else {
            return;
        };
        let at = log.visible_index(at);
        let first = RowPosition { at, line: 0 };
        let height = layouts.get(log, at).len();
        let last = RowPosition {
            at,
            line: height.saturating_sub(1),
        };
        let lowest = if height >= rows {
            first
        } else {
            rows_above(last, rows - 1, log, layouts)
        };
        let goal = if first < top { first } else { top.max(lowest) };
        self.anchor_at(goal, log, layouts, rows);
    }

    /// Scrolls so that `row` is visible, about a third of the view below its top. Does nothing if `row` is already
    /// visible.
    pub fn reveal_row(
        &mut self,
        row: RowPosition,
        log: &CellLog,
        layouts: &mut LayoutCache,
        rows: usize,
    ) {
        let Some(top) = self.top(log, layouts, rows) else {
            return;
        };
        let is_in_view = top <= row && rows_above(row, rows - 1, log, layouts) <= top;
        if !is_in_view {
            let goal = rows_above(row, rows / 3, log, layouts);
            self.anchor_at(goal, log, layouts, rows);
        }
    }

    /// Scrolls so that the cell at the index `at` is at the top of the view. If that would make the newest row visible,
    /// the view follows the newest row instead.
    pub fn anchor_cell(
        &mut self,
        at: usize,
        log: &CellLog,
        layouts: &mut LayoutCache,
        rows: usize,
    ) {
        // The blank row above the cell stays above the view.
        let line = usize::from(log.above(at) == Above::Apart);
        self.anchor_at(RowPosition { at, line }, log, layouts, rows);
    }

    /// Returns the indices of the first and the last visible cell; `None` if the transcript is empty.
    pub fn visible_cells(
        &self,
        log: &CellLog,
        layouts: &mut LayoutCache,
        rows: usize,
    ) -> Option<(usize, usize)> {
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

    /// Returns the position of the scrollbar; `None` if the transcript is empty. Its unit is 1/1000 cell instead of a
    /// row, because the height of a cell is known only after it was laid out.
    pub fn scroll_position(
        &self,
        log: &CellLog,
        layouts: &mut LayoutCache,
        rows: usize,
    ) -> Option<ScrollPosition> {
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
        Some(ScrollPosition {
            len: log.len() * PARTS,
            first,
            visible: end - first,
        })
    }

    /// Scrolls so that `parts` scrollbar units of the conversation are above the view. A unit is 1/1000 cell, as in
    /// [`ScrollAnchor::scroll_position`]. If that makes the newest row visible, the view follows the newest row.
    pub fn jump(&mut self, parts: usize, log: &CellLog, layouts: &mut LayoutCache, rows: usize) {
        let at = parts / PARTS;
        if at >= log.len() {
            *self = ScrollAnchor::Following;
            return;
        }
        let line = layouts.get(log, at).len() * (parts % PARTS) / PARTS;
        self.anchor_at(RowPosition { at, line }, log, layouts, rows);
    }

    fn up(&mut self, by: usize, log: &CellLog, layouts: &mut LayoutCache, rows: usize) {
        if let Some(top) = self.top(log, layouts, rows) {
            let position = rows_above(top, by, log, layouts);
            self.anchor_at(position, log, layouts, rows);
        }
    }

    fn down(&mut self, mut by: usize, log: &CellLog, layouts: &mut LayoutCache, rows: usize) {
        let Some(RowPosition { mut at, mut line }) = self.top(log, layouts, rows) else {
            return;
        };
        if *self == ScrollAnchor::Following {
            return;
        }
        // A cell without rows does not count as a step.
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
        self.anchor_at(RowPosition { at, line }, log, layouts, rows);
    }

    /// Makes `position` the top row of the view. If the newest row is then visible, the view follows the newest row
    /// instead.
    fn anchor_at(
        &mut self,
        position: RowPosition,
        log: &CellLog,
        layouts: &mut LayoutCache,
        rows: usize,
    ) {
        let Some(end) = bottom_position(log, layouts, rows) else {
            *self = ScrollAnchor::Following;
            return;
        };
        let mut position = position;
        // A cell without rows cannot be at the top of the view; the next cell with rows is.
        while layouts.get(log, position.at).len() == 0
            && let Some(at) = log.next_shown(position.at)
        {
            position = RowPosition { at, line: 0 };
        }
        if position >= end {
            *self = ScrollAnchor::Following;
            return;
        }
        let mut first_unseen = log.number(position.at);
        let mut room = rows + position.line;
        let mut next = Some(position.at);
        while let Some(at) = next {
            let height = layouts.get(log, at).len();
            if height > room {
                break;
            }
            room -= height;
            next = log.next_shown(at);
            first_unseen = next.map_or(log.next(), |next| log.number(next));
        }
        let unseen = match self {
            ScrollAnchor::Following => log.next(),
            ScrollAnchor::Anchored(anchor) => anchor.unseen.max(first_unseen),
        };
        *self = ScrollAnchor::Anchored(AnchoredRow {
            cell: log.number(position.at),
            line: position.line,
            columns: layouts.columns(),
            text_offset: layouts.get(log, position.at).text_offset_of(position.line),
            unseen,
        });
    }
}

/// Returns the position of the first visible row if the newest row is at the bottom of the view; `None` if the
/// transcript is empty.
fn bottom_position(log: &CellLog, layouts: &mut LayoutCache, rows: usize) -> Option<RowPosition> {
    let mut left = rows;
    let mut next = log.prev_shown(log.len());
    while let Some(at) = next {
        let height = layouts.get(log, at).len();
        if height >= left {
            let line = height - left;
            return Some(RowPosition { at, line });
        }
        left -= height;
        next = log.prev_shown(at);
    }
    (log.len() > 0).then_some(RowPosition { at: 0, line: 0 })
}

/// Returns the position `by` rows above `from`, or the position of the first row of the transcript if there are fewer
/// rows.
fn rows_above(
    from: RowPosition,
    mut by: usize,
    log: &CellLog,
    layouts: &mut LayoutCache,
) -> RowPosition {
    let RowPosition { mut at, mut line } = from;
    loop {
        if line >= by {
            line -= by;
            return RowPosition { at, line };
        }
        let Some(above) = log.prev_shown(at) else {
            return RowPosition { at: 0, line: 0 };
        };
        by -= line;
        at = above;
        // The index after the last row of the cell above.
        line = layouts.get(log, at).len();
    }
}
