//! `crewdeck root`: prints the project root.

use anyhow::Result;

use crate::cli::GlobalOptions;

/// # Errors
/// Fails if there is no such directory, or if standard output cannot be written to.
pub fn main(global: &GlobalOptions) -> Result<u8> {
    let root = super::root(global)?;
    super::print(&format!("{}\n", root.display()))
}
