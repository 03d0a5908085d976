//! The result of rendering a piece of Markdown, and the state from which the next piece continues.

use crate::ui::highlight::OpenToken;
use crate::ui::text::wrap::Row;
use crate::ui::transcript::markdown::blocks::ListState;
use crate::ui::transcript::markdown::table::TableMeasure;

/// The state at the end of a [`Piece`](super::Piece) of a Markdown text, such as a list that has not ended. The next
/// piece continues from it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Continuation {
    /// The token, such as a block comment, that has not ended at the end of the piece's code.
    pub code: OpenToken,
    /// The state of the piece's last top-level list; `None` if the piece contains no such list.
    pub list: Option<ListState>,
}

/// The result of rendering one [`Piece`](super::Piece) of a Markdown text.
pub struct RenderedPiece {
    pub rows: Vec<Row>,
    /// The `text_offset` with which the [`PageBuilder`](super::page::PageBuilder) began, plus the number of visible
    /// characters in the piece. After [`piece`](super::piece), which begins with 0, it is the number of visible
    /// characters in the piece alone.
    pub end_offset: usize,
    pub continuation: Continuation,
    /// The measurements of the first table in the piece; `None` if the piece contains no table.
    pub measured: Option<TableMeasure>,
}
