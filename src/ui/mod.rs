//! The dashboard's user interface. Depends on domain and protocol only, not on the crew.
//!
//! Data flows in one direction: a [`Msg`] goes into [`update()`], which changes [`UiState`] and returns effects ([`Do`]);
//! [`draw`] renders the state to cells. Only [`terminal`] does IO.
//!
//! `state/` has the state and `known/` the read models of the crew; [`keymap`] and `update/` handle input and events;
//! `view/` renders with `layout/` (positions), `textual/` (text layout) and [`theme`] (styles). Larger panes and popups
//! have folders of their own.

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
