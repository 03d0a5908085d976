//! Builds the keymap from the settings.

use anyhow::{Result, anyhow};

use crate::config::{self, Settings};
use crate::ui::keymap::KeyMap;

/// Returns the default keymap with the changes from the settings.
///
/// # Errors
/// Fails if a binding is invalid, and names the binding and the settings file.
pub fn keymap(settings: &Settings) -> Result<KeyMap> {
    KeyMap::with_overrides(&settings.keys).map_err(|error| {
        let file = config::user_file().unwrap_or_default();
        anyhow!("{}: {error}", file.display())
    })
}
