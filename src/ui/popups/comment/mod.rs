//! A comment to a request.

mod feature;
pub(in crate::ui) mod view;

pub use feature::CommentPopup;
