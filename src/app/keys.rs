//! The person's keys at the edge: the settings as a key map, or the file and what is wrong in it.

use anyhow::{Result, anyhow};

use crate::config::{self, Settings};
use crate::ui::keymap::KeyMap;

/// The key map that the settings ask for.
///
/// # Errors
/// Names the file and what does not fit in it.
pub fn keymap(settings: &Settings) -> Result<KeyMap> {
    KeyMap::changed(&settings.keys).map_err(|error| {
        let file = config::user_file().unwrap_or_default();
        anyhow!("{}: {error}", file.display())
    })
}
