//! Parts of the screen that do not depend on the crew: lists, inputs, scrollbars.

pub(in crate::ui) mod area;
pub(in crate::ui) mod composer;
pub(in crate::ui) mod cut;
pub(in crate::ui) mod line_input;
pub(in crate::ui) mod list;
pub(in crate::ui) mod placed;
pub(in crate::ui) mod scrollbar;
