//! The visible part of the composer's text, and the mapping between its cells and the cursor. No I/O.

use ratatui::layout::{Position, Rect};

use crate::ui::widgets::composer::Composer;
use crate::ui::widgets::composer::rows::WrappedLine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextAreaSize {
    pub width: u16,
    pub height: u16,
}

impl From<Rect> for TextAreaSize {
    fn from(area: Rect) -> TextAreaSize {
        TextAreaSize {
            width: area.width,
            height: area.height,
        }
    }
}

/// The part of the composer's text that fits into the text area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleText {
    /// The visible rows, each at most as wide as the text area.
    pub rows: Vec<String>,
    /// Row and column of the cursor, both from 0. The row is counted from the first visible row.
    pub cursor: (u16, u16),
    /// The sides on which more text follows. The amount is unknown, because only lines near the cursor are laid out.
    pub overflow: Overflow,
}

/// The sides of the visible part on which more text follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    Nowhere,
    Above,
    Below,
    Both,
}

impl Overflow {
    /// Returns the label that is shown on the frame; empty for [`Overflow::Nowhere`].
    pub fn words(self) -> &'static str {
        match self {
            Overflow::Nowhere => "",
            Overflow::Above => "↑ more",
            Overflow::Below => "↓ more",
            Overflow::Both => "↑↓ more",
        }
    }
}

/// The lines around the cursor that can be visible, wrapped into rows.
struct LaidOutRows<'a> {
    /// The laid-out lines with their line numbers.
    lines: Vec<(usize, WrappedLine<'a>)>,
    /// Row of the cursor among the laid-out rows, and its column.
    cursor: (usize, usize),
    /// Index of the first visible row.
    top: usize,
    len: usize,
}

impl<'a> LaidOutRows<'a> {
    /// Iterates over all rows as line number, wrapped line, and row within that line.
    fn rows<'s>(&'s self) -> impl Iterator<Item = (usize, &'s WrappedLine<'a>, usize)> {
        let rows = |(number, rows): &'s (usize, WrappedLine<'a>)| {
            (0..rows.len()).map(move |row| (*number, rows, row))
        };
        self.lines.iter().flat_map(rows)
    }
}

impl Composer {
    /// Places the cursor at the text position nearest to `at`, a cell of the screen, in a text drawn in `area`.
    pub fn click_at(&mut self, area: Rect, at: Position) {
        let row = at.y.saturating_sub(area.y);
        let column = at.x.saturating_sub(area.x);
        let last = area.height.saturating_sub(1);
        self.click(TextAreaSize::from(area), row.min(last), column);
    }

    /// Moves the cursor to a clicked cell, given as row and column of the text area, both from 0.
    pub fn click(&mut self, room: TextAreaSize, row: u16, column: u16) {
        let around = self.around(room);
        let all = around.rows().skip(around.top).take(usize::from(row) + 1);
        let Some((line, rows, row)) = all.last() else {
            return;
        };
        let at = rows.position_at(row, usize::from(column));
        drop(around);
        self.move_cursor_to(line, at);
        self.goal = None;
    }

    /// Stores the first visible row, so that the view does not scroll while the cursor moves within it.
    pub fn reveal(&mut self, room: TextAreaSize) {
        let around = self.around(room);
        let first = around.rows().nth(around.top);
        if let Some((line, rows, row)) = first {
            let top = (line, rows.position_at(row, 0));
            drop(around);
            self.top = top;
        }
    }

    /// Returns the visible rows for a text area of this size. The cursor is always visible.
    pub fn window(&self, room: TextAreaSize) -> VisibleText {
        let around = self.around(room);
        let rows = around.rows().map(|(_, rows, row)| (rows, row));
        let rows = rows.skip(around.top).take(usize::from(room.height.max(1)));
        let rows: Vec<String> = rows.map(|(rows, row)| rows.text(row)).collect();
        let narrow = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let above = around.lines.first().map_or(0, |(number, _)| *number) + around.top;
        let ended = around.lines.last().map_or(0, |(number, _)| number + 1);
        let is_below = around.top + rows.len() < around.len || ended < self.area.lines().len();
        VisibleText {
            overflow: match (above > 0, is_below) {
                (false, false) => Overflow::Nowhere,
                (true, false) => Overflow::Above,
                (false, true) => Overflow::Below,
                (true, true) => Overflow::Both,
            },
            rows,
            cursor: (
                narrow(around.cursor.0 - around.top),
                narrow(around.cursor.1),
            ),
        }
    }

    fn around(&self, room: TextAreaSize) -> LaidOutRows<'_> {
        let height = usize::from(room.height.max(1));
        let (line, at) = self.cursor();
        // Lines further above cannot be visible.
        let first = line.saturating_sub(height);
        let mut lines = Vec::new();
        let mut len = 0;
        let mut cursor = (0, 0);
        // `None` if the stored first line is above the laid-out lines or no longer exists.
        let mut top = None;
        for (number, text) in self.area.lines().iter().enumerate().skip(first) {
            if number > line && len > cursor.0 + height {
                break;
            }
            let rows = WrappedLine::new(text, usize::from(room.width));
            if number == line {
                let (row, column) = rows.cell_of(at);
                cursor = (len + row, column);
            }
            if number == self.top.0 {
                top = Some(len + rows.cell_of(self.top.1).0);
            }
            len += rows.len();
            lines.push((number, rows));
        }
        let top = top.unwrap_or(if self.top.0 < first { 0 } else { cursor.0 });
        LaidOutRows {
            lines,
            // The cursor must be visible, and no row may stay empty while there is text for it.
            top: top
                .clamp((cursor.0 + 1).saturating_sub(height), cursor.0)
                .min(len.saturating_sub(height)),
            cursor,
            len,
        }
    }

    /// Returns how many lines are laid out, so that tests can check that the number does not grow with the text.
    #[cfg(test)]
    pub fn laid_out(&self, room: TextAreaSize) -> usize {
        self.around(room).lines.len()
    }
}
