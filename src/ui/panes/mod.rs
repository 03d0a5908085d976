//! The panes, one folder for each.

pub(in crate::ui) mod board;
pub(in crate::ui) mod feature;
pub(in crate::ui) mod inbox;
pub(in crate::ui) mod lead;
pub(in crate::ui) mod needs;
pub(in crate::ui) mod rows;
pub(in crate::ui) mod team;
pub(in crate::ui) mod todo;
