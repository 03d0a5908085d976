//! The parameters of a drawing of the graph.

use crate::ui::graph::viewport::Zoom;

/// The parameters that, besides the tasks on the board, determine a drawing of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawingKey {
    pub columns: u16,
    pub rows: u16,
    pub zoom: Zoom,
    /// The number of columns that each node of the graph reserves for its owner.
    pub owners: usize,
}
