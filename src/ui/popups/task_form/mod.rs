//! The task form.

pub(in crate::ui) mod update;
pub(in crate::ui) mod view;
