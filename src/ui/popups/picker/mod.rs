//! The picker.

pub(in crate::ui) mod place;
pub(in crate::ui) mod rows;
