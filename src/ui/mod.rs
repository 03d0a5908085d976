//! Floor 5: the screen. Sees what is said (domain and protocol) and nothing of the crew itself.
//!
//! One way round: a [`Msg`] goes into [`update()`], which changes [`UiState`] and says what is to be done ([`Do`]);
//! [`draw`] turns the state into cells. Only [`terminal`] touches the outside.

mod agents;
mod ages;
pub mod attention;
mod bars;
mod board;
mod boxes;
mod chosen;
pub mod compared;
mod complete;
mod composer;
mod contexts;
mod costs;
mod cut;
mod diff;
mod event_log;
mod filters;
pub mod first;
#[cfg(test)]
pub(crate) mod fixture;
mod fuzzy;
mod graph;
mod help;
mod hint_words;
mod hints;
mod hit;
mod jobs;
pub mod keymap;
pub mod keys;
mod layout;
mod letters;
mod line_input;
mod look;
mod needs_card;
mod pane;
mod peek;
mod pickers;
mod popup;
mod problems;
mod pulse;
mod readers;
pub mod replay;
mod requests;
mod rows;
mod scrollbar;
mod seat;
mod sentence;
mod skills;
mod state;
mod task_form;
mod task_page;
pub mod terminal;
mod terms;
#[cfg(test)]
mod tests;
mod text_search;
mod textual;
pub mod theme;
mod themes;
mod thread;
mod tick;
mod tour;
pub mod transcript;
mod update;
mod view;
mod wrap;
mod writing;

pub use pane::{Focus, Pane};
pub use seat::Seat;
pub use state::{Motion, MouseOwner, UiState};
pub use theme::{ColorDepth, Theme, ThemeChoice, ThemeName};
pub use tick::next_tick;
pub use update::{Do, Msg, begin_replay, recall, update};
pub use view::{ViewCache, draw};
