//! The command line of `crewdeck team`.

use clap::Subcommand;

/// The examples below the help page.
pub const EXAMPLES: &str = "Examples:
  crewdeck team list
  crewdeck team list --json";

/// The subcommands of `crewdeck team`.
#[derive(Debug, Subcommand)]
pub enum TeamVerb {
    /// List the teammates
    List,
}
