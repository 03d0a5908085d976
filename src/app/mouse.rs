//! Who has the mouse when the screen opens.

use anyhow::Result;

use crate::config::Settings;
use crate::ui::terminal::Screen;
use crate::ui::{MouseOwner, UiState};

/// Gives the mouse to whom the settings say.
///
/// # Errors
/// When the terminal is gone.
pub fn take(settings: &Settings, screen: &mut Screen, state: &mut UiState) -> Result<()> {
    if settings.mouse.unwrap_or(true) {
        screen.set_mouse(MouseOwner::Crewdeck)?;
        state.set_mouse(MouseOwner::Crewdeck);
    }
    Ok(())
}
