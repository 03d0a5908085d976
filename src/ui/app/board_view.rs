//! How the board is looked at: the shape, the viewport, and what is worked out for it.

use std::sync::Arc;

use crate::ui::graph::Drawing;
use crate::ui::graph::viewport::{Camera, Zoom};
use crate::ui::model::board::list::Rows;
use crate::ui::model::board::memo::Slot;

/// How the person wants the tasks shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Drawn where the drawing fits.
    #[default]
    Fitting,
    /// Drawn, in parts that scroll.
    Graph,
    /// Listed.
    List,
}

/// What a drawing keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    pub columns: u16,
    pub rows: u16,
    pub zoom: Zoom,
    /// The columns of a node that are for its owner.
    pub owners: usize,
}

/// How the board is looked at.
#[derive(Debug, Default)]
pub struct BoardView {
    /// Whether the tasks are drawn or listed.
    pub shape: Shape,
    /// The part of the drawing that is in view.
    pub camera: Camera,
    /// The rows of the list, by the board and the words of the filter.
    pub rows: Slot<(u64, String), Arc<Rows>>,
    /// The drawing, by the board and what it keeps to.
    pub drawing: Slot<(u64, Keeps), Option<Arc<Drawing>>>,
}
