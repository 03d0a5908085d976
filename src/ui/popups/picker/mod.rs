//! The picker.

pub(in crate::ui) mod place;
