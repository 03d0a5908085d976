//! Pure: what of the text that is being written is in view, and where the cursor and a click are in it.

use ratatui::layout::Rect;

use super::Composer;
use super::rows::Rows;

/// The room that a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Columns of a row.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl From<Rect> for Room {
    fn from(area: Rect) -> Room {
        Room {
            width: area.width,
            height: area.height,
        }
    }
}

/// What of the text is in view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The rows, each at most as wide as asked for.
    pub rows: Vec<String>,
    /// Row and column of the cursor in them.
    pub cursor: (u16, u16),
    /// On which sides the text goes on. How far it does is not known: only what is near is laid out.
    pub beyond: Beyond,
}

/// On which sides of what is in view a text goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// On none: all of it is in view.
    Nowhere,
    /// Above.
    Above,
    /// Below.
    Below,
    /// On both.
    Both,
}

impl Beyond {
    /// The words that say so.
    pub fn words(self) -> &'static str {
        match self {
            Beyond::Nowhere => "",
            Beyond::Above => "↑ more",
            Beyond::Below => "↓ more",
            Beyond::Both => "↑↓ more",
        }
    }
}

/// The rows around the cursor.
struct Around<'a> {
    /// The lines that were laid out, each with its number.
    lines: Vec<(usize, Rows<'a>)>,
    /// The row of the cursor in them, and its column.
    cursor: (usize, usize),
    /// The first row in view.
    top: usize,
    /// How many rows were laid out.
    len: usize,
}

impl<'a> Around<'a> {
    /// The rows of all lines: the number of the line, its rows, and which of them.
    fn rows<'s>(&'s self) -> impl Iterator<Item = (usize, &'s Rows<'a>, usize)> {
        let rows = |(number, rows): &'s (usize, Rows<'a>)| {
            (0..rows.len()).map(move |row| (*number, rows, row))
        };
        self.lines.iter().flat_map(rows)
    }
}

impl Composer {
    /// Puts the cursor where a click is, in a row and a column of what is in view.
    pub fn click(&mut self, room: Room, row: u16, column: u16) {
        let around = self.around(room);
        let all = around.rows().skip(around.top).take(usize::from(row) + 1);
        let Some((line, rows, row)) = all.last() else {
            return;
        };
        let at = rows.at(row, usize::from(column));
        drop(around);
        self.go(line, at);
        self.goal = None;
    }

    /// Remembers which rows are in view, so that the text stays where it is while the cursor moves in it.
    pub fn reveal(&mut self, room: Room) {
        let around = self.around(room);
        let first = around.rows().nth(around.top);
        if let Some((line, rows, row)) = first {
            let top = (line, rows.at(row, 0));
            drop(around);
            self.top = top;
        }
    }

    /// The rows that are in view in such a room; the cursor is in one of them.
    pub fn window(&self, room: Room) -> Window {
        let around = self.around(room);
        let rows = around.rows().map(|(_, rows, row)| (rows, row));
        let rows = rows.skip(around.top).take(usize::from(room.height.max(1)));
        let rows: Vec<String> = rows.map(|(rows, row)| rows.text(row)).collect();
        let narrow = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let above = around.lines.first().map_or(0, |(number, _)| *number) + around.top;
        let ended = around.lines.last().map_or(0, |(number, _)| number + 1);
        let is_below = around.top + rows.len() < around.len || ended < self.area.lines().len();
        Window {
            beyond: match (above > 0, is_below) {
                (false, false) => Beyond::Nowhere,
                (true, false) => Beyond::Above,
                (false, true) => Beyond::Below,
                (true, true) => Beyond::Both,
            },
            rows,
            cursor: (
                narrow(around.cursor.0 - around.top),
                narrow(around.cursor.1),
            ),
        }
    }

    fn around(&self, room: Room) -> Around<'_> {
        let height = usize::from(room.height.max(1));
        let (line, at) = self.cursor();
        // Lines far above the cursor can not be in view: there is no need to lay them out.
        let first = line.saturating_sub(height);
        let mut lines = Vec::new();
        let mut len = 0;
        let mut cursor = (0, 0);
        // The lines above it may be gone.
        let mut top = None;
        for (number, text) in self.area.lines().iter().enumerate().skip(first) {
            if number > line && len > cursor.0 + height {
                break;
            }
            let rows = Rows::new(text, usize::from(room.width));
            if number == line {
                let (row, column) = rows.place(at);
                cursor = (len + row, column);
            }
            if number == self.top.0 {
                top = Some(len + rows.place(self.top.1).0);
            }
            len += rows.len();
            lines.push((number, rows));
        }
        let top = top.unwrap_or(if self.top.0 < first { 0 } else { cursor.0 });
        Around {
            lines,
            // The cursor is in view, and no row is left empty while there is text for it.
            top: top
                .clamp((cursor.0 + 1).saturating_sub(height), cursor.0)
                .min(len.saturating_sub(height)),
            cursor,
            len,
        }
    }

    /// How many lines are laid out to draw such a room.
    #[cfg(test)]
    pub fn laid_out(&self, room: Room) -> usize {
        self.around(room).lines.len()
    }
}
