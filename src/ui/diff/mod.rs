//! Unified diffs: read into files and lines, drawn with headings and numbers, in a conversation and on a page of their own.

mod page;
mod path;
mod read;
mod rows;

pub use page::{Changes, PageRow, Spot, file_at, page};
pub use read::read;
pub use rows::{Look, Place, digits, rows};
