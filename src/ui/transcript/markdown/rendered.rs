//! The result of rendering a piece of Markdown, and the state that the next piece continues from.

use crate::ui::highlight::OpenToken;
use crate::ui::text::wrap::Row;
use crate::ui::transcript::markdown::blocks::ListState;
use crate::ui::transcript::markdown::table::TableMeasure;

/// The state at the end of a [`Piece`](super::Piece) of a Markdown text from which the next piece continues, such as an
/// open list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Continuation {
    /// The token that is open at the end of the piece's code.
    pub code: OpenToken,
    /// The last top-level list of the piece.
    pub list: Option<ListState>,
}

/// The result of rendering one [`Piece`](super::Piece) of a Markdown text.
pub struct RenderedPiece {
    pub rows: Vec<Row>,
    /// Number of visible characters before the end of the piece, including those before the piece.
    pub end_offset: usize,
    pub continuation: Continuation,
    /// Column measurements of the first table in the piece.
    pub measured: Option<TableMeasure>,
}
