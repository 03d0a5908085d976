//! The result of rendering a piece of Markdown, and the state that the next piece continues from.

use crate::ui::text::wrap::Row;
use crate::ui::transcript::markdown::blocks::ListState;
use crate::ui::transcript::markdown::code::OpenToken;
use crate::ui::transcript::markdown::table::TableMeasure;

/// State at the end of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Continuation {
    /// The token left open at the end of its code.
    pub code: OpenToken,
    /// The list at its end.
    pub list: Option<ListState>,
}

/// A rendered piece.
pub struct RenderedPiece {
    pub rows: Vec<Row>,
    /// Number of visible characters after its last row.
    pub ink: usize,
    /// State for the next piece.
    pub continuation: Continuation,
    /// Column measurements of its first table.
    pub measured: Option<TableMeasure>,
}
