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
    /// Show one role: where it comes from, its tools, model, skills, prompt, and what its file gets wrong
    Show {
        /// Name of the role
        name: String,
    },
}
