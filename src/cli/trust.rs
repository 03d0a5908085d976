//! The options of `crewdeck trust`.

use clap::Args;

/// Examples for the help.
pub const EXAMPLES: &str = "Examples:
  crewdeck trust             show them and ask
  crewdeck trust --ignore    go on without them from now on
  crewdeck trust --forget    be asked again";

/// The options.
#[derive(Debug, Clone, Copy, Args)]
pub struct Trust {
    /// Remember to go on without them instead
    #[arg(long)]
    pub ignore: bool,
    /// Forget what was decided about them
    #[arg(long, conflicts_with = "ignore")]
    pub forget: bool,
    /// Decide without asking: read them first
    #[arg(long)]
    pub yes: bool,
}
