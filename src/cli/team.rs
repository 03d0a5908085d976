//! The command line of `crewdeck team`.

use clap::Subcommand;

/// Shown at the end of `crewdeck team --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck team list
  crewdeck team list --json";

#[derive(Debug, Subcommand)]
pub enum TeamVerb {
    /// List the teammates with role and status
    List,
}
