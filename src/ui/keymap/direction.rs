//! Directions for key bindings: scroll commands, the directions of panning and of vertical moves, and forward or back.

/// A command that scrolls a text or moves the selection in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scroll {
    LineUp,
    LineDown,
    PageUp,
    PageDown,
    HalfUp,
    HalfDown,
    Top,
    /// To the last row. If the list can grow, this also clears the selection, and from then on the view scrolls with
    /// new rows.
    Bottom,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PanDirection {
    Left,
    Down,
    Up,
    Right,
}

impl PanDirection {
    /// Returns the offset (x to the right, y down) of a move in this direction: by `columns` if it is horizontal, by `rows`
    /// if it is vertical.
    pub fn by(self, columns: usize, rows: usize) -> (isize, isize) {
        let (x, y) = (columns.cast_signed(), rows.cast_signed());
        match self {
            PanDirection::Left => (-x, 0),
            PanDirection::Right => (x, 0),
            PanDirection::Up => (0, -y),
            PanDirection::Down => (0, y),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerticalDirection {
    Up,
    Down,
}

/// A direction in a sequence, such as search matches or prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Forward,
    Back,
}
