//! Unified diffs: parsing, and rendering with headings and line numbers in a conversation or on a page of their own.

mod page;
mod path;
mod read;
mod rows;

pub use crate::ui::diff::page::{Changes, FileMark, PageRow, file_at, page};
pub use crate::ui::diff::read::read;
pub use crate::ui::diff::rows::{DiffParams, DiffPlacement, digits, rows};
