//! The task form.

mod feature;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

pub use feature::TaskFormPopup;
