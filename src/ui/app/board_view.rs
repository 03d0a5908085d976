//! How the board is looked at: the shape, the viewport, and what is worked out for it.

use std::sync::Arc;

use crate::ui::graph::Drawing;
use crate::ui::graph::viewport::{Camera, Zoom};
use crate::ui::model::board::list::Rows;
use crate::ui::model::board::memo::Slot;

/// The board view that the user selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Graph if it fits, otherwise list.
    #[default]
    Fitting,
    /// Always the graph; it scrolls if it does not fit.
    Graph,
    /// Listed.
    List,
}

/// The parameters that a drawing depends on besides the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    pub columns: u16,
    pub rows: u16,
    pub zoom: Zoom,
    /// The columns that each node reserves for its owner.
    pub owners: usize,
}

/// How the board is looked at.
#[derive(Debug, Default)]
pub struct BoardPaneState {
    /// Whether the tasks are drawn or listed.
    pub shape: Shape,
    /// The part of the drawing that is in view.
    pub camera: Camera,
    /// The rows of the list, by the board and the words of the filter.
    pub rows: Slot<(u64, String), Arc<Rows>>,
    /// The drawing, by the board and what it keeps to.
    pub drawing: Slot<(u64, Keeps), Option<Arc<Drawing>>>,
}
