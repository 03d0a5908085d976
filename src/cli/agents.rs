//! The command line of `crewdeck agents`.

use clap::Subcommand;

/// The examples below the help page.
pub const EXAMPLES: &str = "Examples:
  crewdeck agents list
  crewdeck agents show reviewer
  crewdeck agents list --json | jq '.[].name'";

/// The subcommands of `crewdeck agents`.
#[derive(Debug, Subcommand)]
pub enum AgentsVerb {
    /// List the roles; files that cannot be used are named on stderr
    List,
    /// Show one role: its file, tools, model, skills, prompt, and problems in its file
    Show {
        /// Name of the role
        name: String,
    },
}
