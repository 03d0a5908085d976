//! The dashboard's user interface. Depends on the folders `domain` and `protocol` only, not on the crew.
//!
//! Data flows in one direction: a [`Msg`] goes into [`update()`], which changes [`UiState`] and returns effects
//! ([`Effect`]); [`draw`] renders the state to terminal cells. Only [`terminal`] does I/O.
//!
//! The folders have no import cycles, which `tests/it/architecture/imports.rs` checks. From the lowest to the highest:
//!
//! - `text`, [`theme`], `highlight` and [`keymap`]
//! - `pictures`, which depends on `theme` only
//! - `widgets`, `graph`, `diff`, [`transcript`] and [`replay`], which do not depend on the crew
//! - `model`, the state of the crew as its events report it
//! - `app`, the state that panes and popups share, and `frame`, the frames and areas that they share
//! - `popups`, and `panes`, which open popups; one folder per feature
//! - `shell`, which dispatches keys, mouse and events to panes and popups, and draws the whole screen

mod app;
mod diff;
#[cfg(test)]
pub(crate) mod fixture;
mod frame;
mod graph;
mod highlight;
pub mod keymap;
pub mod keys;
mod model;
pub mod notifier;
mod panes;
mod pictures;
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
pub use app::mentions::{FileListState, FileMatch, FoundFiles};
pub use app::onboarding::{OfferedAction, OnboardingPage, PageSeverity};
pub use app::role::{HubOutage, SessionRole};
pub use frame::view_cache::ViewCache;
pub use keymap::pane::{Focus, Pane};
pub use pictures::{
    ImageDrawing, PICTURES_MAX, Picture, PictureKey, PictureSize, PictureUpdate, PixelGrid,
    TerminalNames,
};
pub use popups::confirm::approve_server::ServerReview;
pub use popups::doctor::DoctorResult;
pub use popups::sessions::SessionSummary;
pub use shell::state::UiState;
pub use shell::tick::next_tick;
pub use shell::update::{INIT_PROMPT, Msg, begin_replay, recall, update};
pub use shell::view::draw;
pub use text::bytes;
pub use text::command_text::{RenderedCommand, render_command};
pub use text::fuzzy::FuzzyPattern;
pub use theme::{ColorDepth, Theme, ThemeChoice, ThemeName};
pub use widgets::composer::COMPOSER_MAX;
