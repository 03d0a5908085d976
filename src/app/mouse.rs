//! Who has the mouse when the screen opens.

use anyhow::Result;

use crate::config::Settings;
use crate::ui::terminal::Screen;
use crate::ui::{MouseOwner, UiState};

/// Gives the mouse to whom the person wished in this window, else to whom the settings say.
///
/// # Errors
/// When the terminal is gone.
pub fn take(
    settings: &Settings,
    wished: Option<MouseOwner>,
    screen: &mut Screen,
    state: &mut UiState,
) -> Result<()> {
    let owner = wished.unwrap_or(if settings.mouse.unwrap_or(true) {
        MouseOwner::Crewdeck
    } else {
        MouseOwner::Terminal
    });
    screen.set_mouse(owner)?;
    state.set_mouse(owner);
    Ok(())
}
