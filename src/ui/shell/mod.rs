//! The shell: sends each key, mouse event and crew event to the pane or popup that handles it, and draws the whole
//! screen.

pub(in crate::ui) mod ages;
pub(in crate::ui) mod contexts;
pub(in crate::ui) mod demo_step;
pub(in crate::ui) mod hints;
pub(in crate::ui) mod hit_test;
pub(in crate::ui) mod layout;
mod message;
pub(in crate::ui) mod peek;
pub(in crate::ui) mod state;
pub(in crate::ui) mod tick;
pub(in crate::ui) mod tour;
pub(in crate::ui) mod update;
pub(in crate::ui) mod view;
