//! The picker.

mod feature;
pub(in crate::ui) mod place;
pub(in crate::ui) mod rows;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;

pub use feature::PickerPopup;
