//! The inbox pane.

pub(in crate::ui) mod view;
