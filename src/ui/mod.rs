//! Floor 5: the screen. Sees what is said (domain and protocol) and nothing of the crew itself.
//!
//! One way round: a [`Msg`] goes into [`update()`], which changes [`UiState`] and says what is to be done ([`Do`]);
//! [`draw`] turns the state into cells. Only [`terminal`] touches the outside.
//!
//! What is kept: `state/` and, of the crew, `known/`; what keys and events make of it: [`keymap`], `update/`; how it is
//! shown: `view/`, placed by `layout/`, in the words of `textual/` and the colours of [`theme`]. The larger panes and
//! popups have folders of their own.

mod app;
pub mod attention;
pub mod compared;
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
