//! The todo pane.

pub(in crate::ui) mod view;
