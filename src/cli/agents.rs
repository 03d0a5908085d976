//! The command line of `crewdeck agents`.

use clap::Subcommand;

/// Shown at the end of `crewdeck agents --help`.
pub const EXAMPLES: &str = "Examples:
  crewdeck agents list
  crewdeck agents show reviewer
  crewdeck agents show claude
  crewdeck agents list --json | jq '.[].name'";

#[derive(Debug, Subcommand)]
pub enum AgentsVerb {
    /// List the roles and the external agents; role files that cannot be used are reported on stderr
    List,
    /// Show a role (its file, tools, model, skills, prompt, and problems in its file) or an external agent
    Show {
        /// Name of the role or of the external agent
        name: String,
    },
}
