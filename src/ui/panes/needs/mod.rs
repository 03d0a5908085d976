//! The needs pane.

pub(in crate::ui) mod answers;
pub(in crate::ui) mod buttons;
pub(in crate::ui) mod card;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;
