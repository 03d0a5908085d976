//! Whether the board is shown as graph or list, and what a drawing of the graph depends on.

use crate::ui::graph::viewport::Zoom;

/// The user's choice between graph and list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Graph if it fits, otherwise list.
    #[default]
    Fitting,
    /// Always the graph; it scrolls if it does not fit.
    Graph,
    List,
}

/// The parameters that a drawing depends on besides the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawingKey {
    pub columns: u16,
    pub rows: u16,
    pub zoom: Zoom,
    /// The number of columns that each node reserves for its owner.
    pub owners: usize,
}
