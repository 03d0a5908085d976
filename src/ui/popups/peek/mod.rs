//! A look at what is selected in a pane. The shell lays it out and draws it, since it shows every pane.

mod feature;

pub use feature::PeekPopup;
