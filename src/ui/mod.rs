//! Floor 5: the screen. Sees what is said (domain and protocol) and nothing of the crew itself.
//!
//! One way round: a [`Msg`] goes into [`update()`], which changes [`UiState`] and says what is to be done ([`Do`]);
//! [`draw`] turns the state into cells. Only [`terminal`] touches the outside.
//!
//! What is kept: `state/` and, of the crew, `known/`; what keys and events make of it: [`keymap`], `update/`; how it is
//! shown: `view/`, placed by `layout/`, in the words of `textual/` and the colours of [`theme`]. The larger panes and
//! popups have folders of their own.

pub mod attention;
mod board;
pub mod compared;
mod costs;
mod diff;
mod event_log;
#[cfg(test)]
pub(crate) mod fixture;
mod graph;
pub mod guide;
mod hit;
pub mod keymap;
pub mod keys;
mod known;
mod layout;
mod look;
mod popup;
mod problems;
pub mod replay;
mod state;
pub mod terminal;
#[cfg(test)]
mod tests;
mod textual;
pub mod theme;
pub mod transcript;
mod update;
mod view;
mod writing;

pub use state::key_guard::SETTLE;
pub use state::pane::{Focus, Pane};
pub use state::seat::Seat;
pub use state::tick::next_tick;
pub use state::{Motion, MouseOwner, UiState};
pub use textual::bytes;
pub use theme::{ColorDepth, Theme, ThemeChoice, ThemeName};
pub use update::{Do, Msg, begin_replay, recall, update};
pub use view::{ViewCache, draw};
pub use writing::composer::COMPOSER_MAX;
