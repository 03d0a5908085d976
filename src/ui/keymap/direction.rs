//! Directions that keys move in: scroll commands, compass directions, forward and back.

/// A scroll command.
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
    /// To the first row.
    Top,
    /// To the newest row; follows it and clears the selection.
    Bottom,
}

/// A direction in which to scroll the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// Toward the first column.
    Left,
    /// Down.
    Down,
    /// Up.
    Up,
    /// Toward the last column.
    Right,
}

impl Toward {
    /// Returns the offset for a move of `columns` or `rows` in this direction.
    pub fn by(self, columns: usize, rows: usize) -> (isize, isize) {
        let (x, y) = (columns.cast_signed(), rows.cast_signed());
        match self {
            Toward::Left => (-x, 0),
            Toward::Right => (x, 0),
            Toward::Up => (0, -y),
            Toward::Down => (0, y),
        }
    }
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Forward,
    Back,
}
