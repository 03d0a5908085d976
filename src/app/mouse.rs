//! Sets up mouse capture when the screen opens.

use anyhow::Result;

use crate::config::Settings;
use crate::ui::UiState;
use crate::ui::terminal::Screen;

/// Turns mouse capture on or off: as `chosen` by the user in this window, else as configured in `settings`, else on.
///
/// # Errors
/// Fails if the terminal is gone.
pub fn apply(
    settings: &Settings,
    chosen: Option<bool>,
    screen: &mut Screen,
    state: &mut UiState,
) -> Result<()> {
    let is_on = chosen.or(settings.mouse).unwrap_or(true);
    screen.set_mouse_capture(is_on)?;
    state.set_mouse_capture(is_on);
    Ok(())
}
