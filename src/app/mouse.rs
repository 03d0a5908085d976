//! Sets up mouse capture when the screen opens.

use anyhow::Result;

use crate::config::Settings;
use crate::ui::UiState;
use crate::ui::terminal::Screen;

/// Turns mouse capture on or off. `chosen`, the user's choice in this window, overrides `settings`; without both,
/// capture is on.
///
/// # Errors
/// Fails if the terminal cannot be written to.
pub fn apply(
    settings: &Settings,
    chosen: Option<bool>,
    screen: &mut Screen,
    state: &mut UiState,
) -> Result<()> {
    let is_on = chosen.unwrap_or_else(|| settings.mouse());
    screen.set_mouse_capture(is_on)?;
    state.set_mouse_capture(is_on);
    Ok(())
}
