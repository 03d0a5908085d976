//! The form in which the board is shown, and what a drawing depends on.

use crate::ui::graph::viewport::Zoom;

/// The board view that the user selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Graph if it fits, otherwise list.
    #[default]
    Fitting,
    /// Always the graph; it scrolls if it does not fit.
    Graph,
    /// Always the list.
    List,
}

/// The parameters that a drawing depends on besides the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawingKey {
    pub columns: u16,
    pub rows: u16,
    pub zoom: Zoom,
    /// The columns that each node reserves for its owner.
    pub owners: usize,
}
