//! The lead pane.

pub(in crate::ui) mod answering;
pub(in crate::ui) mod complete;
pub(in crate::ui) mod complete_update;
pub(in crate::ui) mod complete_view;
pub(in crate::ui) mod composer_title;
mod feature;
pub(in crate::ui) mod follow;
pub(in crate::ui) mod onboarding;
pub(in crate::ui) mod view;

pub use feature::LeadPane;
