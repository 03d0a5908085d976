//! The dashboard's user interface. Depends on domain and protocol only, not on the crew.
//!
//! Data flows in one direction: a [`Msg`] goes into [`update()`], which changes [`UiState`] and returns effects ([`Effect`]);
//! [`draw`] renders the state to cells. Only [`terminal`] does IO.
//!
//! The folders are layers; each imports only those before it, which a test checks: `text`, [`theme`] and [`keymap`];
//! `widgets`, `graph`, `diff`, [`transcript`] and [`replay`], which do not know the crew; `model`, what the crew has
//! reported; `app`, the state that panes and popups share; `frame`, their common frames and areas; `panes` and `popups`,
//! one folder per feature; `shell`, which dispatches keys, mouse and events to them and draws the whole screen.

mod app;
mod diff;
#[cfg(test)]
pub(crate) mod fixture;
mod frame;
mod graph;
pub mod keymap;
pub mod keys;
mod model;
pub mod notifier;
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

pub use app::effect::Effect;
pub use app::key_guard::SETTLE;
pub use app::onboarding::{FirstPage, Offer, Weight};
pub use app::role::SessionRole;
pub use frame::view_cache::ViewCache;
pub use keymap::pane::{Focus, Pane};
pub use shell::state::UiState;
pub use shell::tick::next_tick;
pub use shell::update::{Msg, begin_replay, recall, update};
pub use shell::view::draw;
pub use text::bytes;
pub use theme::{ColorDepth, Theme, ThemeChoice, ThemeName};
pub use widgets::composer::COMPOSER_MAX;
