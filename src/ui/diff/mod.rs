//! Parses unified diffs, and renders them with line numbers in a conversation or on the diff page.

mod page;
mod painter;
#[cfg(test)]
mod painter_tests;
mod path;
mod read;
mod side_by_side;
mod words;

pub use crate::ui::diff::page::{Changes, FileMark, PageRow, file_at, page};
pub use crate::ui::diff::painter::{DiffPainter, DiffParams, DiffPlacement, counts, digits};
pub use crate::ui::diff::read::read;
