//! Sets up mouse capture when the screen opens.

use anyhow::Result;

use crate::config::Settings;
use crate::ui::terminal::Screen;
use crate::ui::{MouseOwner, UiState};

/// Sets mouse capture to the user's choice in this window, or else to the configured value.
///
/// # Errors
/// Fails if the terminal is gone.
pub fn apply(
    settings: &Settings,
    chosen: Option<MouseOwner>,
    screen: &mut Screen,
    state: &mut UiState,
) -> Result<()> {
    let owner = chosen.unwrap_or(if settings.mouse.unwrap_or(true) {
        MouseOwner::Crewdeck
    } else {
        MouseOwner::Terminal
    });
    screen.set_mouse(owner)?;
    state.set_mouse(owner);
    Ok(())
}
