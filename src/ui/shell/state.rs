//! The whole state of the dashboard: what panes and popups share, and what only the shell needs.

use std::ops::{Deref, DerefMut};

use jiff::tz::TimeZone;

use crate::domain::attention::Matter;
use crate::ui::app::App;
use crate::ui::attention::Attention;
use crate::ui::frame::hit::Pointer;
use crate::ui::shell::peek::Reading;
use crate::ui::shell::tour::Tour;
use crate::ui::theme::motion::Motion;

/// Everything that the screen shows.
#[derive(Debug)]
pub struct UiState {
    pub(in crate::ui) app: App,
    /// What the mouse holds, and where it clicked last.
    pub(in crate::ui) pointer: Pointer,
    /// How far the peeked item is scrolled.
    pub(in crate::ui) reading: Reading,
    pub(in crate::ui) tour: Tour,
    pub(in crate::ui) attention: Attention,
}

impl UiState {
    /// An empty screen of `width` columns and `height` rows; times of day are those of `zone`.
    pub fn new(width: u16, height: u16, zone: TimeZone, motion: Motion) -> UiState {
        UiState {
            app: App::new(width, height, zone, motion),
            pointer: Pointer::default(),
            reading: Reading::default(),
            tour: Tour::Shown,
            attention: Attention::wanting(&Matter::ALL),
        }
    }
}

impl Deref for UiState {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl DerefMut for UiState {
    fn deref_mut(&mut self) -> &mut App {
        &mut self.app
    }
}
