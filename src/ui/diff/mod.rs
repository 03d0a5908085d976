//! Unified diffs: read into files and lines, drawn with headings and numbers, in a conversation and on a page of their own.

mod page;
mod path;
mod read;
mod rows;

pub use crate::ui::diff::page::{Changes, PageRow, Spot, file_at, page};
pub use crate::ui::diff::read::read;
pub use crate::ui::diff::rows::{Look, Place, digits, rows};
