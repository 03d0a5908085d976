//! The dashboard's user interface. Depends on domain and protocol only, not on the crew.
//!
//! Data flows in one direction: a [`Msg`] goes into [`update()`], which changes [`UiState`] and returns effects ([`Do`]);
//! [`draw`] renders the state to cells. Only [`terminal`] does IO.
//!
//! `state/` has the state and `known/` the read models of the crew; [`keymap`] and `update/` handle input and events;
//! `view/` renders with `layout/` (positions), `textual/` (text layout) and [`theme`] (styles). Larger panes and popups
//! have folders of their own.

mod app;
pub mod attention;
mod diff;
#[cfg(test)]
pub(crate) mod fixture;
mod frame;
mod graph;
pub mod keymap;
pub mod keys;
mod model;
mod panes;
mod popups;
pub mod replay;
mod shell;
pub mod terminal;
#[cfg(test)]
mod tests;
mod text;
pub mod theme;
pub mod transcript;
mod widgets;

pub use app::MouseOwner;
pub use app::effect::Do;
pub use app::key_guard::SETTLE;
pub use app::onboarding::{FirstPage, Offer, Weight};
pub use app::role::Seat;
pub use frame::view_cache::ViewCache;
pub use keymap::pane::{Focus, Pane};
pub use shell::state::UiState;
pub use shell::tick::next_tick;
pub use shell::update::{Msg, begin_replay, recall, update};
pub use shell::view::draw;
pub use text::bytes;
pub use theme::motion::Motion;
pub use theme::{ColorDepth, Theme, ThemeChoice, ThemeName};
pub use widgets::composer::COMPOSER_MAX;
