//! Unified diffs: parsing, and rendering with headings and line numbers in a conversation or on a page of their own.

mod page;
mod path;
mod read;
mod rows;

pub use page::{Changes, PageRow, Spot, file_at, page};
pub use read::read;
pub use rows::{Look, Place, digits, rows};
