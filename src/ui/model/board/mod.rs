//! The board.

pub(in crate::ui) mod branches;
pub(in crate::ui) mod critical;
pub(in crate::ui) mod filter;
pub(in crate::ui) mod history;
pub(in crate::ui) mod index;
pub(in crate::ui) mod label;
pub(in crate::ui) mod list;
pub(in crate::ui) mod memo;
pub(in crate::ui) mod progress;
pub(in crate::ui) mod unlocks;
