//! The team pane.

pub(in crate::ui) mod view;
