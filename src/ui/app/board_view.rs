//! How the board is looked at: the shape, the viewport, and what is worked out for it.
use crate::ui::graph::viewport::Zoom;

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
    columns: u16,
    rows: u16,
    zoom: Zoom,
    /// The columns of a node that are for its owner.
    owners: usize,
}
