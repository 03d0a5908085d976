//! Reads tasks from check lists, JSON and issues, and plans how they are added to the board. Nothing is planned unless
//! the whole set is valid.

mod dependencies;
mod fence;
mod format;
mod issue;
mod item;
mod json;
mod markdown;
mod plan;

pub use format::ImportFormat;
pub use issue::{parse_issues, text_beside_issue, title_of_issue};
pub use item::{ITEMS_MAX, ImportError, ImportItem, ItemOrigin, ItemRef};
pub use plan::{DependencyMode, ImportPlan, plan};
